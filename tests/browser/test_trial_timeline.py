"""A trial over its time as a person sees it: two pictures with words, light, dark and narrow."""

from dataclasses import dataclass

import pytest

from browser.conftest import write
from tare.results.store.samples import Samples

pytestmark = pytest.mark.needs("browser")

TIMES_S = (0.0, 1.0, 2.0)
FIGURES = {
    ("layer", "cpu_s"): (10.0, 10.5, 11.5),
    ("host", "cpu_user_s"): (5.0, 6.5, 7.5),
    ("host", "cpu_system_s"): (1.0, 1.0, 1.5),
    ("host", "cpu_guest_s"): (0.0, 0.0, 0.0),
    ("layer", "memory_bytes"): (2.0**20, 4.0 * 2**20, 2.0**20),
}


@dataclass(frozen=True)
class Series:
    source: str
    name: str
    times_s: tuple
    values: tuple
    device: str = ""
    is_counter: bool = True
    reason: str = ""


def sampled(results, lacking=()):
    """Give every trial of a study samples, and write its report."""
    session = Samples(results.folder)
    some = [
        Series(*key, TIMES_S, values) for key, values in FIGURES.items() if key[1] not in lacking
    ]
    for trial in results.trials:
        session.add(trial, some)
    session.close()
    return write(results, results.folder)


def open_trial(page):
    page.locator("a[data-trials]:visible").first.click()
    page.locator("button.open").first.click()


def labels(page):
    return [one.get_attribute("aria-label") for one in page.locator("#trial svg[role=img]").all()]


def stroke(page):
    return page.evaluate(
        "getComputedStyle(document.querySelector('#trial svg .layer:not(.filled)')).stroke"
    )


def test_a_trial_shows_cpu_and_memory_in_pictures_and_in_words(visit, results):
    page = visit(sampled(results))
    open_trial(page)
    assert labels(page) == [
        "CPU over 2 s: layer 0.5 to 1, mean 0.75 CPUs; host 1.5 CPUs",
        "Memory over 2 s: layer 1 to 4, mean 2.5 MiB",
    ]
    words = page.locator("#trial .course").first.inner_text()
    assert "layer 0.5 to 1, mean 0.75 CPUs" in words
    assert "1.5 CPUs" in words
    # The layer's line: half a CPU for one second, then one, on an axis that ends at 1.5.
    path = page.locator("#trial svg path.layer:not(.filled)").first.get_attribute("d")
    assert path == "M0 66.67L500 66.67L500 33.33L1000 33.33"
    assert all(one.bounding_box()["height"] > 40 for one in page.locator("#trial svg").all())


def test_what_is_not_told_is_said_and_not_drawn(visit, results):
    page = visit(sampled(results, lacking=("cpu_s", "memory_bytes")))
    open_trial(page)
    assert labels(page) == [
        "CPU over 2 s: layer not reported on this host; host 1.5 CPUs",
        "Memory over 2 s: layer not reported on this host",
    ]
    assert page.locator("#trial svg path.layer").first.get_attribute("d") == ""


def test_a_trial_without_samples_says_so(visit, report):
    page = visit(report)
    open_trial(page)
    assert "no samples of this trial are stored" in page.locator("#trial-about").inner_text()
    assert labels(page) == []


def test_the_pictures_take_the_colours_of_the_theme(visit, results):
    page = visit(sampled(results))
    open_trial(page)
    light = stroke(page)
    page.emulate_media(color_scheme="dark")
    assert stroke(page) != light


def test_the_pictures_fit_on_a_phone(visit, results):
    page = visit(sampled(results), viewport={"width": 390, "height": 800})
    open_trial(page)
    dialog = page.locator("#trial").bounding_box()
    for one in page.locator("#trial .course").all():
        box = one.bounding_box()
        assert box["x"] >= dialog["x"]
        assert box["x"] + box["width"] <= dialog["x"] + dialog["width"]
    assert page.evaluate("document.querySelector('#trial').scrollWidth") <= 390
