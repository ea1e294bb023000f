"""Our map of neighbours with what a published study printed of the same loads."""

from dataclasses import replace

from tare.core.model import Neighbour, Status
from tare.core.model.reservation import given
from tare.present.charts.catalogue import figures
from tare.present.page.html import Pages
from tare.present.page.render import Drawing
from tare.present.report import describe
from tare.results.published.isolated import stressed_rows
from unit.disturbed import disturbed
from unit.drawing import assert_drawable, assert_texts_apart, words

FREE = Neighbour(stressor="cpu", level=1.0)
HELD = replace(FREE, reservation=given({"cpus": 0.25}))
DIALLED = Neighbour(stressor="cpu", intensity=0.5)
FORKS = Neighbour(stressor="fork", count=64)


def study(workload="web_ab", neighbours=(FREE, HELD, FORKS), docker=2.0):
    return describe(
        disturbed(
            {
                "host": dict.fromkeys(neighbours, 1.5),
                "host/docker": dict.fromkeys(neighbours, docker),
            },
            workloads=(workload,),
        )
    )


def stressed(found):
    return [one for one in figures(found) if one.name.startswith("stressed")]


def test_the_map_has_the_columns_of_the_study_and_ours():
    (one,) = stressed(study())
    assert_drawable(one)
    said = words(one.draw(940))

    assert said[:5] == ["kvm", "xen", "docker", "here: host", "here: host/docker"]
    assert "cpu at level 100 %" in said
    assert "cpu at level 100 %, held by a reservation" in said
    assert "18.1 %" in said  # Docker at full use, Table 5.6
    assert "2.1 %" in said  # the same, held
    assert any(
        "did not respond" in text or "DNR" in text for text in said
    )  # Docker next to 64 fork bombs, Table 5.11
    assert [text for text in said if text.startswith(("▲ +10", "▲ +99"))]
    assert "another victim: web_ab in place of SPECweb" in one.caption
    for width in (940, 350):
        assert_texts_apart(one.draw(width))


def test_what_did_not_answer_here_has_a_word():
    (one,) = stressed(study(docker=Status.DNR))
    assert "dnr" in words(one.draw(940))


def test_a_load_or_a_workload_that_no_study_had_has_no_such_map():
    assert stressed(study(neighbours=(DIALLED,))) == []
    assert stressed(study(workload="spin")) == []


def test_of_rows_without_neighbours_none_is_taken():
    found = study()
    rows = stressed_rows(found.plan.cells)

    assert {one.victim for one in rows} == {"SPECweb"}
    assert [one.stress.held for one in rows] == [False, True, False]
    assert all(set(one.printed) == {"kvm", "xen", "docker"} for one in rows)
    assert all(set(one.cells) == {"host", "host/docker"} for one in rows)


def test_it_stands_in_the_page_with_the_map_and_not_among_more_pictures():
    found = study()
    (one,) = stressed(found)
    page = Pages(found).report({one.name: Drawing(one, "<svg></svg>", "<svg></svg>")})
    assert page.index('id="neighbours"') < page.index(one.title) < page.index('id="verdicts"')
    assert f"<h3>{one.title}</h3>" in page  # one of several workloads
    assert "More pictures" not in page


def test_the_forest_says_that_each_neighbour_is_compared_with_the_same_platform_alone():
    (forest,) = [one for one in figures(study()) if one.name == "forest"]
    assert "the same workload alone on the same platform" in forest.caption
    assert "its baseline" not in forest.caption
    assert forest.title == "Cost of every neighbour on every workload"
