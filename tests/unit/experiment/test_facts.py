import os

import pytest

from tare.core.errors import CommandFailed
from tare.experiment.host.facts import CPU, SCRIPT, host_facts, noise, read_facts
from tare.machines.machine import Host
from tare.present.view.facts import _lines
from tare.results.store import facts_of
from unit.fakes import Printing

# Printed by SCRIPT in a Firecracker guest; lines that say nothing new are left out.
RECORDED = r"""
/proc/1/comm:process_api
/proc/2/comm:kthreadd
/sys/devices/system/clocksource/clocksource0/available_clocksource:tsc kvm-clock
/proc/cpuinfo:hypervisor flag: yes
/.dockerenv:there
/sys/class:there
/sys/bus/virtio/devices/virtio0:there
/proc/self/ns:pid:[4026531836]
/proc/self/ns:user:[4026531837]
/dev/cpu/0/cpuid:KVMKVMKVM
/sys/firmware/acpi/tables/FACP:FIRECKFCVMFADT
/proc/sys/kernel/osrelease:6.18.44-fc-v669
/proc/sys/kernel/arch:x86_64
/proc/stat:cpu  120151 0 22660 628028 3149 0 739 29 0 0
/proc/loadavg:0.23 0.63 0.50 2/86 5531
/proc/pressure/cpu:some avg10=0.04 avg60=2.52 avg300=11.88 total=119476086
/sys/devices/system/clocksource/clocksource0/current_clocksource:tsc
/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
/sys/kernel/mm/ksm/run:0
/sys/devices/system/cpu/online:0-1
/sys/devices/system/cpu/smt/active:0
/sys/devices/system/cpu/vulnerabilities/meltdown:Not affected
/sys/devices/system/cpu/vulnerabilities/spec_rstack_overflow:Vulnerable: Safe RET, no microcode
/sys/devices/system/cpu/vulnerabilities/spec_store_bypass:Vulnerable
/sys/devices/system/cpu/vulnerabilities/spectre_v1:Mitigation: usercopy/swapgs barriers and __user pointer sanitization
/sys/devices/system/cpu/vulnerabilities/spectre_v2:Mitigation: Retpolines; STIBP: disabled; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected
/etc/os-release:PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
/etc/os-release:NAME="Debian GNU/Linux"
/etc/os-release:VERSION_CODENAME=bookworm
/proc/cpuinfo:processor	: 0
/proc/cpuinfo:model		: 17
/proc/cpuinfo:model name	: AMD EPYC
/proc/cpuinfo:flags		: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx mmxext fxsr_opt pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc cpuid extd_apicid tsc_known_freq pni pclmulqdq ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand hypervisor lahf_lm cmp_legacy cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw topoext vmmcall fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid avx512f avx512dq rdseed adx smap avx512ifma clflushopt clwb avx512cd sha_ni avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves avx512_bf16 clzero xsaveerptr arat avx512vbmi umip avx512_vbmi2 gfni vaes vpclmulqdq avx512_vnni avx512_bitalg avx512_vpopcntdq rdpid fsrm
/proc/meminfo:MemTotal:       24684084 kB
/proc/meminfo:MemFree:        24157212 kB
/proc/meminfo:SwapTotal:             0 kB
/proc/meminfo:SwapFree:              0 kB
/proc/mounts:proc /proc proc rw,relatime 0 0
/proc/mounts:/dev/vda / ext4 rw,relatime,discard,resv_strict,resuid=65534,resgid=65534 0 0
/proc/mounts:tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
/proc/mounts:cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
/proc/mounts:cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0
/proc/mounts:cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
/proc/mounts:cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
/proc/mounts:cgroup /sys/fs/cgroup/devices cgroup rw,relatime,devices 0 0
/proc/mounts:cgroup /sys/fs/cgroup/freezer cgroup rw,relatime,freezer 0 0
/proc/mounts:cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0
/proc/mounts:cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0
/proc/mounts:cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
/proc/mounts:cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""  # noqa: E501


QUIET = {
    "cpus": 4,
    "load": 0.5,
    "steal": 0.001,
    "swap_used_bytes": 0,
    "governor": "performance",
    "turbo": False,
    "smt": False,
    "ksm": False,
    "clocksource": "tsc",
    "cgroup": "v2",
}


def test_the_recorded_host_is_read_whole():
    assert host_facts(Printing(RECORDED.encode())) == {
        "kernel": "6.18.44-fc-v669",
        "architecture": "x86_64",
        "os": "Debian GNU/Linux 12 (bookworm)",
        "cpu_model": "AMD EPYC",
        "cpus": 2,
        "memory_bytes": 24684084 * 1024,
        "swap_bytes": 0,
        "swap_used_bytes": 0,
        "hypervisor": "KVM (Firecracker micro-VM)",
        "cgroup": "v1",
        "clocksource": "tsc",
        "smt": False,
        "thp": "madvise",
        "ksm": False,
        "steal": 3.7e-05,
        "load": 0.23,
        "psi": True,
        "root_filesystem": "ext4",
        "mitigation.spec_rstack_overflow": "Vulnerable: Safe RET, no microcode",
        "mitigation.spec_store_bypass": "Vulnerable",
        "mitigation.spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer "
        "sanitization",
        "mitigation.spectre_v2": "Mitigation: Retpolines; STIBP: disabled; RSB filling; "
        "PBRSB-eIBRS: Not affected; BHI: Not affected",
    }


def test_what_a_machine_does_not_tell_has_no_key():
    assert read_facts("") == {"psi": False}


def test_a_machine_on_which_the_shell_fails_is_an_error():
    with pytest.raises(CommandFailed, match="host/fake"):
        host_facts(Printing(b"", returncode=127))


def test_this_host_is_read_with_nothing_but_a_shell():
    bare = Host().run(["/usr/bin/env", "-i", "PATH=/nowhere", "/bin/sh", "-c", SCRIPT])
    assert (bare.returncode, bare.stderr) == (0, b"")
    assert read_facts(bare.stdout.decode())["kernel"] == os.uname().release
    assert host_facts(Host())["kernel"] == os.uname().release


@pytest.mark.parametrize(
    ("printed", "name", "expected"),
    [
        (f"{CPU}/online:0-3,8,10-11", "cpus", 7),
        (f"{CPU}/online:0", "cpus", 1),
        (f"{CPU}/intel_pstate/no_turbo:0", "turbo", True),
        (f"{CPU}/intel_pstate/no_turbo:1\n{CPU}/cpufreq/boost:1", "turbo", False),
        (f"{CPU}/cpufreq/boost:1", "turbo", True),
        (f"{CPU}/smt/active:1", "smt", True),
        (
            f"{CPU}/cpu0/cpufreq/scaling_governor:schedutil\n"
            f"{CPU}/cpu1/cpufreq/scaling_governor:performance\n"
            f"{CPU}/cpu2/cpufreq/scaling_governor:schedutil",
            "governor",
            "performance, schedutil",
        ),
        ("/sys/kernel/mm/ksm/run:1", "ksm", True),
        ("/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never", "thp", "always"),
        ("/proc/stat:cpu  50 0 30 10 0 0 0 10 40 0", "steal", 0.1),
        ("/proc/mounts:cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "cgroup", "v2"),
        ("/proc/mounts:rootfs / rootfs rw 0 0\n/proc/mounts:/dev/sda1 / xfs rw 0 0",
         "root_filesystem", "xfs"),
        ("/proc/meminfo:SwapTotal: 2048 kB\n/proc/meminfo:SwapFree: 1024 kB",
         "swap_used_bytes", 2**20),
        ("/proc/pressure/cpu:some avg10=0.00", "psi", True),
        ("/etc/os-release:PRETTY_NAME='Alpine Linux v3.20'", "os", "Alpine Linux v3.20"),
    ],
)  # fmt: skip
def test_one_fact(printed, name, expected):
    assert read_facts(printed)[name] == expected


@pytest.mark.parametrize(
    ("printed", "below", "around"),
    [
        ("/proc/cpuinfo:hypervisor flag: no\n", None, None),
        ("/proc/cpuinfo:hypervisor flag: yes\n/dev/cpu/0/cpuid:VMwareVMware\n", "VMware", None),
        (
            "/sys/hypervisor/type:xen\n/proc/self/ns:pid:[4026532181]\n/proc/1/comm:docker-init",
            "Xen",
            "Docker",
        ),
    ],
)
def test_what_is_below_and_around_is_what_detection_says(printed, below, around):
    facts = read_facts(printed)
    assert (facts.get("hypervisor"), facts.get("container")) == (below, around)


def test_a_quiet_host_gets_no_advice_and_neither_does_one_that_tells_nothing():
    assert noise(QUIET) == []
    assert noise({}) == []


@pytest.mark.parametrize(
    ("fact", "value", "what"),
    [
        ("hypervisor", "KVM", "this host is itself a guest of KVM"),
        ("container", "Docker", "this host is itself a container (Docker)"),
        ("cpus", 1, "there is only one CPU"),
        ("load", 1.01, "the load is 1.01 on 4 CPUs"),
        ("steal", 0.011, "1.1 % of the CPU time since boot was stolen"),
        ("swap_used_bytes", 3 * 2**20, "3 MiB of swap are in use"),
        ("governor", "powersave", "the CPU frequency governor is powersave"),
        ("turbo", True, "turbo is on"),
        ("smt", True, "SMT (hyper-threading) is on"),
        ("ksm", True, "KSM merges equal pages of guests"),
        ("clocksource", "hpet", "the clock source is hpet"),
        ("cgroup", "v1", "cgroups are version 1"),
    ],
)
def test_what_makes_noise_is_told_with_a_reason_and_a_remedy(fact, value, what):
    quiet = QUIET | ({"load": 0.2} if fact == "cpus" else {})
    (advice,) = noise(quiet | {fact: value})
    assert advice.what == what
    assert advice.why
    assert advice.fix


@pytest.mark.parametrize("fact", [{"load": 1.0}, {"steal": 0.01}, {"clocksource": "kvm-clock"}])
def test_what_lies_on_the_limit_is_not_noise(fact):
    assert noise(QUIET | fact) == []


def test_the_report_tells_the_detected_stack_and_what_each_step_rests_on():
    stack = [
        {"layer": "unknown", "title": "unknown", "evidence": ["it does not show"]},
        {"layer": "kvm", "title": "KVM (micro-VM)", "evidence": ["cpuid", "clocks"]},
    ]
    (section,) = facts_of({"host": {"kernel": "6.1", "detected": stack}}).sections

    assert [line for value in section.values for line in _lines(value)] == [
        ("kernel", "6.1"),
        ("detected", "unknown > KVM (micro-VM)"),
        ("detected: unknown", "it does not show"),
        ("detected: KVM (micro-VM)", "cpuid; clocks"),
    ]
