"""Names that need more room than there is, and letters that are wider than Arial's."""

import pytest

from browser.conftest import write
from unit.invented import LONG, Study, noisy

PATH = "host/" + "/".join(f"layer{number}" for number in range(12))
"""It has no space to break at."""


@pytest.fixture
def crowded(tmp_path):
    study = Study(["host", "host/docker", LONG, PATH])
    for name in ("cpu", "memory"):
        study.add(name, noisy({"host/docker": 1.2, LONG: 2.0, PATH: 3.0}))
    return write(study.found().results, tmp_path)


@pytest.mark.parametrize("width", [390, 1000, 1200])
def test_a_long_name_pushes_no_verdict_out_of_sight(visit, crowded, width):
    page = visit(crowded, viewport={"width": width, "height": 900})
    for row in page.locator(".verdicts tr.row:visible").all():
        for cell in ("td.platform", "td.verdict"):
            box = row.locator(cell).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
    assert page.evaluate(
        "[...document.querySelectorAll('.verdicts td.platform')]"
        ".every(one => one.scrollWidth <= one.clientWidth)"
    )
    dots = page.locator(".verdicts .dot:visible").all()
    assert min(dot.bounding_box()["width"] for dot in dots) > 5
