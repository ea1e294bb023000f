"""What the host did around a trial, read from a made-up /proc and /sys, and what is said of it."""

from dataclasses import replace

import pytest

from tare.core.complaints import texts
from tare.core.model import Complaint, ComplaintKind, HostCost
from tare.experiment.probes import noise

QUIET = {"steal": 0.0, "swapped_pages": 0.0, "major_faults": 0.0, "load": 0.1}


class Machine:
    """The files that a host tells of itself in, all counters at nought."""

    def __init__(self, root):
        self.proc, self.devices, self.registers = root / "proc", root / "cpu", root / "registers"
        self.stat()
        self.vmstat()
        self.write(self.proc / "loadavg", "1.50 0.80 0.40 2/100 4711\n")

    @staticmethod
    def write(path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def stat(self, busy=0, stolen=0, switches=9):
        """Let the second CPU have so many ticks; the first is somebody else's."""
        cpus = f"cpu0 9999 0 0 0 0 0 0 9999 0 0\ncpu1 {busy} 0 0 50 0 0 0 {stolen} 0 0\n"
        self.write(
            self.proc / "stat", f"cpu  1 2 3 4 5 6 7 8 0 0\n{cpus}intr 1 2 3\nctxt {switches}\n"
        )

    def vmstat(self, pages_in=0, pages_out=0, faults=0):
        self.write(
            self.proc / "vmstat",
            f"nr_free_pages 77\npswpin {pages_in}\npswpout {pages_out}\npgmajfault {faults}\n",
        )

    def pressure(self, what, some_us, full_us):
        average = "avg10=0.00 avg60=0.00 avg300=0.00"
        self.write(
            self.proc / "pressure" / what,
            f"some {average} total={some_us}\nfull {average} total={full_us}\n",
        )

    def read(self):
        return noise.read([1], self.proc, self.devices, self.registers)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def used(cpu_s):
    return HostCost(cpu_s=cpu_s, run_delay_s=0, all_cpu_s=cpu_s, coverage=1, threads=1)


def test_only_the_cpus_of_the_trial_count(machine):
    before = machine.read()
    machine.stat(busy=130, stolen=20)

    seen = noise.between(before, machine.read(), 2.0, 1, used(1.0))

    assert seen["steal"] == pytest.approx(0.10)
    assert seen["foreign"] == pytest.approx(0.15)
    assert seen["load"] == 1.5


def test_what_the_platform_used_itself_is_not_foreign_even_if_ticks_say_less(machine):
    before = machine.read()
    machine.stat(busy=99)

    assert noise.between(before, machine.read(), 1.0, 1, used(1.0))["foreign"] == 0


def test_foreign_time_is_not_known_where_the_platform_was_not_read(machine):
    before = machine.read()
    machine.stat(busy=99)

    assert "foreign" not in noise.between(before, machine.read(), 1.0, 1, None)


def test_a_steal_counter_that_goes_back_is_no_steal(machine):
    machine.stat(stolen=5)
    before = machine.read()
    machine.stat(stolen=4)

    assert noise.between(before, machine.read(), 1.0, 1, None)["steal"] == 0


def test_pressure_is_a_share_of_the_duration(machine):
    machine.pressure("memory", 100, 50)
    machine.pressure("io", 0, 0)
    before = machine.read()
    machine.pressure("memory", 500_100, 250_050)
    machine.pressure("io", 1_000_000, 0)

    seen = noise.between(before, machine.read(), 2.0, 1, None)

    assert seen["psi_memory_some"] == pytest.approx(0.25)
    assert seen["psi_memory_full"] == pytest.approx(0.125)
    assert seen["psi_io_some"] == pytest.approx(0.5)


def test_what_a_kernel_does_not_tell_is_left_out(machine):
    seen = noise.between(machine.read(), machine.read(), 1.0, 1, None)

    counts = {"swapped_pages": 0, "major_faults": 0, "context_switches": 0}
    assert seen == {"steal": 0, "load": 1.5, **counts}
    assert noise.disturbances(seen, 1.0, 1) == []


def test_pressure_that_is_compiled_in_but_switched_off_is_left_out(machine):
    machine.pressure("memory", 0, 0)
    (machine.proc / "pressure/memory").unlink()
    (machine.proc / "pressure/memory").mkdir()  # reading it fails, as EOPNOTSUPP does

    assert machine.read().stalled_s == {}


def test_swapping_major_faults_and_context_switches_are_counted(machine):
    before = machine.read()
    machine.vmstat(pages_in=3, pages_out=4, faults=5)
    machine.stat(switches=209)

    seen = noise.between(before, machine.read(), 1.0, 1, None)

    assert (seen["swapped_pages"], seen["major_faults"]) == (7, 5)
    assert seen["context_switches"] == 200


def test_the_frequency_ratio_is_that_of_the_cycles_in_between(machine):
    before = replace(machine.read(), cycles=(500, 1000))
    after = replace(machine.read(), cycles=(500 + 1600, 1000 + 2000))

    seen = noise.between(before, after, 1.0, 1, None)

    assert seen["frequency_ratio"] == pytest.approx(0.8)


def test_a_cpu_that_never_woke_has_no_frequency(machine):
    reading = replace(machine.read(), cycles=(500, 1000))

    assert "frequency_ratio" not in noise.between(reading, reading, 1.0, 1, None)


def test_the_current_frequency_is_in_hertz_and_heat_events_are_counted(machine):
    machine.write(machine.devices / "cpu1/cpufreq/scaling_cur_freq", "2400000\n")
    throttle = machine.devices / "cpu1/thermal_throttle"
    machine.write(throttle / "core_throttle_count", "7\n")
    before = machine.read()
    machine.write(throttle / "core_throttle_count", "9\n")

    seen = noise.between(before, machine.read(), 1.0, 1, None)

    assert seen["frequency_hz"] == 2.4e9
    assert seen["heat_throttles"] == 2
    assert noise.disturbances(seen, 1.0, 1) == [Complaint(ComplaintKind.HEAT, {"times": 2})]


@pytest.mark.parametrize(
    ("what", "at_limit", "above", "kind", "value", "sentence"),
    [
        (
            *("steal", 0.05, 0.06, ComplaintKind.STOLEN, "share"),
            "the hypervisor below stole 6 % of the CPU time",
        ),
        (
            *("foreign", 0.10, 0.11, ComplaintKind.FOREIGN, "share"),
            "other work took 11 % of the trial's CPU time",
        ),
        (
            *("psi_memory_some", 0.1, 0.12, ComplaintKind.MEMORY, "share"),
            "the host was short of memory in 12 % of the time",
        ),
        ("swapped_pages", 0, 8, ComplaintKind.SWAPPED, "pages", "the host swapped 8 pages"),
        ("heat_throttles", 0, 1, ComplaintKind.HEAT, "times", "heat throttled its CPUs 1 times"),
        (
            *("frequency_ratio", 0.9, 0.89, ComplaintKind.SLOW_CLOCK, "ratio"),
            "its CPUs ran at 89 % of their base frequency",
        ),
    ],
)
def test_a_trial_above_a_limit_is_complained_of(what, at_limit, above, kind, value, sentence):
    long_s = 100.0  # the slack of ticks does not matter
    assert noise.disturbances(QUIET | {what: at_limit}, long_s, 1) == []
    (found,) = noise.disturbances(QUIET | {what: above}, long_s, 1)
    assert found == Complaint(kind, {value: above})
    assert list(texts(noise.disturbances(QUIET | {what: above}, long_s, 1))) == [sentence]


@pytest.mark.parametrize("what", ["steal", "foreign", "psi_memory_some"])
def test_short_trials_get_three_ticks_of_slack(what):
    seen = QUIET | {what: 0.13 + 0.03}  # of 0.2 s that is 32 ms, of which 30 may be rounding

    assert noise.disturbances(seen, 0.2, 1) == []
    assert noise.disturbances(seen, 2.0, 1)


def test_foreign_time_does_not_matter_to_a_variant_that_leaves_it_out():
    seen = QUIET | {"foreign": 0.9, "steal": 0.9}

    (complaint,) = noise.disturbances(seen, 10.0, 1, foreign_counts=False)
    assert complaint.kind is ComplaintKind.STOLEN


def test_io_and_cpu_pressure_have_no_limit():
    assert noise.disturbances(QUIET | {"psi_io_full": 1.0, "psi_cpu_some": 1.0}, 10.0, 1) == []


def test_this_host_can_be_read():
    before = noise.read([0])
    seen = noise.between(before, noise.read([0]), 1.0, 1, None)

    assert {"steal", "swapped_pages", "major_faults", "load"} <= seen.keys()
    assert all(value >= 0 for value in seen.values())
