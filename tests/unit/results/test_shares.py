"""Who took what a workload and its neighbour contend for."""

from dataclasses import replace

import pytest

from tare.core.model import Neighbour, Part, Status, neighbour_of
from tare.results.questions.shares import Contended, contended_with, shares
from unit.disturbed import disturbed

CPU, DISK = Neighbour(stressor="cpu", count=2), Neighbour(stressor="disk")
IDLE = Neighbour(stressor="idle")


def part(name, duration_s=2.0, **resources):
    return Part(
        name=name,
        instance=f"a-{name}",
        status=Status.OK,
        duration_s=duration_s,
        resources=resources,
    )


def with_parts(trial, neighbour):
    """Both sides of a trial: what the workload took of each, and each of its neighbours."""
    own = part("command", layer_cpu_s=1.0, layer_disk_read_bytes=6e6, layer_disk_written_bytes=2e6)
    theirs = [
        part(name, layer_cpu_s=0.5, layer_disk_read_bytes=8e6, layer_disk_written_bytes=8e6)
        for name in (neighbour.parts if neighbour else ())
    ]
    if neighbour is None:
        own = part(
            "command", layer_cpu_s=1.8, layer_disk_read_bytes=2e7, layer_disk_written_bytes=0
        )
    return replace(trial, parts=(own, *theirs))


def found_of(change):
    results = disturbed({"host": {CPU: 2.0, DISK: 2.0, IDLE: 1.0}}, blocks=3, change=change)
    measured = {cell.id: [] for cell in results.plan.cells}
    for trial in results.trials:
        measured[trial.cell].append(trial)
    return {neighbour_of(one.cell.params): one for one in shares(results.plan, measured)}


def test_each_side_has_what_all_of_its_parts_took_in_a_second():
    found = found_of(with_parts)

    assert set(found) == {CPU, DISK}  # an idle neighbour contends for nothing
    cpu, disk = found[CPU], found[DISK]
    assert (cpu.contended, disk.contended) == (Contended.CPU, Contended.DISK)
    assert (cpu.workload, cpu.neighbours, cpu.alone) == pytest.approx((0.5, 0.5, 0.9))
    assert (disk.workload, disk.neighbours, disk.alone) == pytest.approx((4e6, 8e6, 1e7))
    assert cpu.trials == 3


def test_what_nothing_counted_is_unknown_and_not_zero():
    def change(trial, neighbour):
        whole = with_parts(trial, neighbour)
        return replace(whole, parts=(whole.parts[0], *(part(one.name) for one in whole.parts[1:])))

    cpu = found_of(change)[CPU]
    assert cpu.neighbours is None
    assert cpu.workload == pytest.approx(0.5)


def test_what_no_group_counts_is_told_by_its_cpu_time():
    assert contended_with(Neighbour(stressor="net_send")) is Contended.CPU
    assert contended_with(IDLE) is None
