"""What is read inside machines, and in what two readings are unlike."""

from dataclasses import replace

import pytest

from tare.core.completed import Completed
from tare.core.errors import CommandFailed
from tare.experiment.host import preconditions
from tare.experiment.host.preconditions import (
    Ping,
    Skew,
    bound,
    clock_mismatches,
    mismatches,
    understand,
    watch,
)
from tare.experiment.host.preconditions.reading import count
from tare.machines.machine import Host

# In the form in which SCRIPT prints, with the flags cut short: an emulated guest and its host.
GUEST = r"""
/proc/sys/kernel/osrelease:6.1.0-41-amd64
/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet
/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never
/sys/devices/system/cpu/vulnerabilities/meltdown:Mitigation: PTI
/sys/devices/system/cpu/vulnerabilities/spectre_v1:Mitigation: usercopy/swapgs barriers
/proc/cpuinfo:processor	: 0
/proc/cpuinfo:model name	: QEMU TCG CPU version 2.5+
/proc/cpuinfo:flags		: sse2 fpu avx2 3dnow
/proc/meminfo:MemTotal:         986000 kB
/proc/meminfo:SwapTotal:             0 kB
/proc/meminfo:SwapFree:             0 kB
/proc/meminfo:HugePages_Total:       0
affinity:	0
filesystem:254:0 ext4 /dev/vda rw
direct:yes
sha256:11aa  /usr/bin/sysbench
sha256:22bb  /lib/x86_64-linux-gnu/libc.so.6
clock:5200 30100
clock:4000 26000
"""
HOST = r"""
/proc/sys/kernel/osrelease:6.18.44-fc-v669
/sys/devices/system/clocksource/clocksource0/current_clocksource:tsc
/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
/sys/devices/system/cpu/vulnerabilities/meltdown:Not affected
/sys/devices/system/cpu/vulnerabilities/spectre_v1:Mitigation: usercopy/swapgs barriers
/proc/cpuinfo:processor	: 0
/proc/cpuinfo:model name	: AMD EPYC
/proc/cpuinfo:flags		: fpu sse2 avx2 avx512f aes
/proc/meminfo:MemTotal:       24684084 kB
/proc/meminfo:SwapTotal:             0 kB
/proc/meminfo:SwapFree:             0 kB
/proc/meminfo:HugePages_Total:       0
affinity:	1
quota:-1 100000
filesystem:254:0 ext4 /dev/vda rw
direct:yes
sha256:11aa  /usr/bin/sysbench
sha256:22bb  /lib/x86_64-linux-gnu/libc.so.6
clock:316 360
clock:308 345
"""


class Telling:
    """A machine on which every command prints the next of some texts."""

    name, ephemeral = "fake", True

    def __init__(self, *texts, returncode=0):
        self.texts, self.returncode, self.argvs = list(texts), returncode, []

    def host_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.argvs.append(list(argv))
        text = self.texts.pop(0) if self.texts else ""
        return Completed(tuple(argv), self.returncode, text.encode(), b"", 0.01)


def said(base, mine):
    return {one.about: one.said for one in mismatches(base, mine)}


def reading(**changes):
    known = understand(HOST)
    return replace(known, values={**known.values, **changes})


def test_a_reading_of_a_guest_is_understood():
    found = understand(GUEST)

    assert found.values["kernel"] == "6.1.0-41-amd64"
    assert found.cpu_flags == {"3dnow", "avx2", "fpu", "sse2"}
    assert found.values["cpus_allowed"] == 1
    assert found.values["thp"] == "always"
    assert found.values["filesystem"] == "ext4"
    assert found.values["o_direct"] is True
    assert found.files["sysbench"] == "11aa"
    assert found.values["loop_s"] == pytest.approx(20e-6)
    assert found.values["clock_read_s"] == pytest.approx(110e-6)
    assert found.mitigations["meltdown"] == "Mitigation: PTI"
    assert "cpu_quota" not in found.values


def test_a_machine_that_tells_nothing_has_an_empty_reading():
    nothing = understand("")

    assert not nothing
    assert mismatches(nothing, reading()) == []
    assert mismatches(reading(), nothing) == []


def test_a_cpu_that_is_not_told_is_not_compared():
    assert "cpu_model" not in understand("/proc/cpuinfo:model name : unknown").values


def test_this_host_tells_of_itself(tmp_path):
    found = preconditions.read(Host(), str(tmp_path), ["sh", "no-such-tool"])

    assert found.values["cpus_allowed"] >= 1
    assert found.values["kernel"]
    assert found.files["sh"]
    assert "no-such-tool" not in found.files
    assert found.values["filesystem"]
    assert list(tmp_path.iterdir()) == []


def test_a_machine_in_which_nothing_can_be_run_is_an_error():
    with pytest.raises(CommandFailed):
        preconditions.read(Telling(returncode=127), "/data", [])


def test_a_reading_is_like_itself():
    assert mismatches(reading(), reading()) == []


def test_an_emulated_guest_is_unlike_its_host_in_many_ways():
    found = said(understand(HOST), understand(GUEST))

    assert found["clock source"] == "clock source hpet (tsc there)"
    assert "110 µs (0.18 µs on the baseline)" in found["cost of reading the clock"]
    assert found["CPU model"] == "CPU model QEMU TCG CPU version 2.5+ (AMD EPYC there)"
    flags = [
        one.said for one in mismatches(understand(HOST), understand(GUEST)) if "flag" in one.about
    ]
    assert flags == ["2 CPU flags missing (aes, avx512f)", "1 CPU flags more (3dnow)"]
    assert found["mitigations"] == "1 other mitigations (meltdown)"
    assert found["transparent huge pages"].endswith("always (madvise there)")
    assert {"CPUs", "memory", "swap", "O_DIRECT", "filesystem", "CPU quota"}.isdisjoint(found)


def test_a_slow_cpu_alone_makes_no_dear_clock():
    slow = reading(loop_s=30e-6, clock_read_s=4e-6)

    assert "cost of reading the clock" not in said(reading(), slow)


@pytest.mark.parametrize(
    ("change", "about", "clause"),
    [
        ({"cpus_allowed": 2}, "CPUs", "CPUs 2 (1 there)"),
        ({"cpu_quota": 0.5}, "CPU quota", "CPU quota 0.5 CPUs (none there)"),
        ({"swap_bytes": 2**30}, "swap", "swap (none there)"),
        ({"governor": "powersave"}, None, None),  # the baseline does not tell its own
        ({"ksm": True}, None, None),
        ({"huge_pages": 8}, "reserved huge pages", "reserved huge pages 8 (0 there)"),
        ({"kernel": "5.4"}, "kernel", "kernel 5.4 (6.18.44-fc-v669 there)"),
        ({"memory_given_bytes": 2**29}, "memory", "512 MiB of memory (1024 there)"),
        ({"memory_given_bytes": int(0.9 * 2**30)}, None, None),  # a guest's kernel keeps some
    ],
)
def test_each_difference_is_said(change, about, clause):
    found = said(
        reading(memory_given_bytes=2**30), reading(**{"memory_given_bytes": 2**30} | change)
    )

    assert found == ({about: clause} if about else {})


def test_another_file_is_a_mismatch():
    other = replace(reading(), files={**reading().files, "sysbench": "99"})

    clause = "sysbench differs from the baseline's file"
    assert said(reading(), other) == {"version of sysbench": clause}


@pytest.mark.parametrize(
    "change", [{"filesystem": "tmpfs"}, {"o_direct": False}], ids=["filesystem", "O_DIRECT"]
)
def test_what_concerns_files_touches_only_work_on_files(change):
    (found,) = mismatches(reading(), reading(**change))

    assert found.only_files


def test_mitigations_are_not_compared_with_those_of_a_machine_that_tells_none():
    values = {k: v for k, v in reading().values.items() if k != "weaknesses_known"}
    silent = replace(reading(), values=values, mitigations={})

    assert mismatches(reading(), silent) == []


def pings(rate=1.0, reply_s=0.01, step_s=1.0, count=30):
    """Answers of a clock that goes ``rate`` times as fast, each told in the middle of the wait."""
    starts = [step_s * number for number in range(count)]
    return [Ping(at, 7000.0 + rate * (at + reply_s / 2), at + reply_s) for at in starts]


@pytest.mark.parametrize("rate", [1.0, 1.0005, 0.34, 2.0])
def test_the_truth_lies_between_the_bounds(rate):
    found = bound(pings(rate))

    assert found.low <= rate - 1 <= found.high
    assert found.high - found.low < 0.0011  # 20 ms of waiting over at least 19 s
    assert found.over_s == pytest.approx(29.01)


def test_slow_answers_only_widen_the_bounds():
    quick, slow = bound(pings()), bound(pings(reply_s=0.5))

    assert slow.low < quick.low < 0 < quick.high < slow.high


def test_one_quick_answer_at_each_end_is_enough():
    slow = pings(reply_s=0.5)
    for number in (3, 28):
        slow[number] = pings(reply_s=0.001)[number]

    assert bound(slow).high < 0.0001


def test_too_few_answers_or_a_clock_that_was_set_bound_nothing():
    early, late = pings(count=15), pings(count=30)[15:]
    set_back = [Ping(one.sent_s, one.machine_s + 100 * (n % 2), one.received_s)
                for n, one in enumerate(late)]  # fmt: skip

    assert bound([]) is bound(pings(count=2)) is None
    assert bound(pings(step_s=0.0, reply_s=0.0)) is None
    assert bound(early + set_back) is None


def test_the_clock_of_this_host_goes_as_itself():
    found = bound(watch(Host(), 0.2))

    assert found.low < 0.01
    assert found.high > -0.01


@pytest.mark.parametrize("argv", [["true"], ["echo", "no number"], ["/no/such/program"]])
def test_what_does_not_tell_the_time_gives_no_answers(argv):
    class Elsewhere(Telling):
        def host_argv(self, _):
            return argv

    assert watch(Elsewhere(), 0.2) == []


@pytest.mark.parametrize(("text", "offset"), [("1000.5\n5.25", 995.25), ("", None), ("a\nb", None)])
def test_the_time_of_day_is_held_against_the_time_since_boot(text, offset):
    assert preconditions.day_offset(Telling(text)) == offset


@pytest.mark.parametrize(
    ("skew", "set_s", "expected"),
    [
        (None, None, []),
        (Skew(-0.01, 0.01, 3.0), 0.1, []),  # too coarse to tell
        (Skew(0.0001, 0.0004, 3.0), None, []),  # within the limit
        (Skew(0.01, 0.02, 3.0), None, ["its clock runs at least 1 % fast"]),
        (Skew(-0.02, -0.001, 3.0), 0.0, ["its clock runs at least 0.1 % slow"]),
        (None, -3.0, ["its time of day was set by -3.0 s"]),
    ],
)
def test_only_a_skew_that_is_certain_is_said(skew, set_s, expected):
    found = [one.said for one in clock_mismatches(skew, set_s)]

    assert len(found) == len(expected)
    assert all(one.startswith(start) for one, start in zip(found, expected, strict=True))


def test_cpus_of_a_list_are_counted():
    assert [count(text) for text in ("0", "0-3,8", "1,3", "")] == [1, 5, 2, 0]
