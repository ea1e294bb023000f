"""A real neighbour disturbs a real workload, in instances of their own."""

import pytest

from real.small import run
from tare.cli import main
from tare.core.model import ContrastKind, Kind, Status, neighbour_of
from tare.present.view.names import platform_text
from tare.results.study import compare

GOOD = {Status.OK, Status.SUSPECT}


@pytest.mark.needs("docker")
def test_a_neighbour_runs_while_the_workload_is_measured(tmp_path, capsys):
    results = run(
        tmp_path / "results",
        ["host", "host/docker"],
        [{"integer_loop": {"iterations": 300_000}}],
        blocks=1,
        scenario="isolation",
        neighbours=[
            {"stressor": "cpu", "count": 2},
            {"stressor": "idle"},
            {"stressor": "cpu", "cpus": "apart"},
        ],
    )

    measured = [one for one in results.trials if one.kind is Kind.MEASURED and not one.repeat]
    assert len(measured) == 9
    for one in measured:
        cell = results.plan.cells_by_id[one.cell]
        neighbour = neighbour_of(cell.params)
        assert one.status in GOOD, f"{platform_text(cell)}: {one.reason}"
        assert one.host.cpu_s > 0
        if neighbour is None:
            assert one.parts == ()
            continue
        own, *others = one.parts
        assert [part.name for part in others] == ["neighbour1", "neighbour2"][: neighbour.count]
        assert len({part.instance for part in one.parts}) == len(one.parts)
        assert one.host == own.host
        is_idle = neighbour.stressor == "idle"
        for part in others:
            assert (part.host.cpu_s < own.host.cpu_s / 10) if is_idle else part.host.cpu_s > 0
            is_same = part.cpuset == own.cpuset
            assert is_same == (neighbour.cpus == "same")

    rows = [row for row in compare(results.plan, results.trials).comparisons if row.primary]
    assert [row.kind for row in rows].count(ContrastKind.ISOLATION) == 6

    folder = str(tmp_path / "results")
    assert main(["show", folder]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("With a neighbour, ")
    assert "host/docker (2 cpu neighbours)" in " ".join(shown.split())
    assert main(["report", folder]) == 0
    assert (tmp_path / "results/report.html").stat().st_size > 0
