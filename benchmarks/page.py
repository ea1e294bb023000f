"""How fast the report's page opens, filters and sorts in Chromium, for small and large studies.

Each study is simulated, reported as by `tare report`, and opened from its file. *Opened* is the
time from navigation until the page is loaded and has painted, the longest of three. *Chosen* is the
time from choosing a filter or an order until the frame after it is painted, the longest of all
choices; they are made one after the other, by the events that a person's choice fires. The list of
trials is in the page of a study of 10,000 and has a page for each cell in larger ones. Bars: 15 MB
for one file of 10,000 trials, 2 s until it is opened, 100 ms for a choice.

Run: python benchmarks/page.py (needs Chromium and Playwright)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import report_scale

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STUDIES = ((100, 100), (1000, 100), (40, 2500))
"""Cells and blocks: 10,000 trials, and 100,000 of many cells and of few."""
SAMPLED = 10_000
"""The largest number of trials with samples: making more takes longer than all else here."""
MEGABYTES, OPENED_MS, CHOSEN_MS = 15.0, 2000.0, 100.0
OPENINGS = 3
WIDTH, HEIGHT = 1280, 900

PAINTED_MS = """() => new Promise((resolve) => {
  const ask = () => {
    const [navigation] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    const loaded = navigation.loadEventEnd;
    if (paint && loaded > 0) resolve(Math.max(paint.startTime, loaded));
    else requestAnimationFrame(ask);
  };
  ask();
})"""
"""When the page is loaded and has painted, since navigation began."""

CHOSEN = """([selector, value]) => new Promise((resolve) => {
  const chosen = document.querySelector(selector);
  const begun = performance.now();
  if (value === null) chosen.click();
  else {
    chosen.value = value;
    for (const name of ["input", "change"]) {
      chosen.dispatchEvent(new Event(name, { bubbles: true }));
    }
  }
  const scripted = performance.now() - begun;
  requestAnimationFrame(() => {
    const painted = new MessageChannel(); // its message comes after the frame that now begins
    painted.port1.onmessage = () => resolve([performance.now() - begun, scripted]);
    painted.port2.postMessage(null);
  });
})"""
"""Choose, and give the milliseconds until that was painted, and those in the script of it."""

Choice = tuple[str, str | None]
"""What is chosen, as a selector, and its new value; None is a press."""


@dataclass(frozen=True)
class Chosen:
    """The longest of some choices."""

    milliseconds: float
    scripted: float
    choice: Choice
    count: int

    def __str__(self) -> str:
        selector, value = self.choice
        what = selector if value is None else f"{selector} = {value!r}"
        return f"{self.count} choices, the longest {what}, {self.scripted:.0f} ms in the script"


class Table:
    """Prints lines with their bars, and remembers whether all were met."""

    def __init__(self) -> None:
        self.good = True

    def line(self, what: str, value: float, unit: str, bar: float | None, said: str = "") -> None:
        met = bar is None or value <= bar
        self.good &= met
        verdict = "no bar" if bar is None else f"{bar:g} {unit}: {'met' if met else 'MISSED'}"
        print(f"  {what:32} {value:8.1f} {unit:2}   {verdict:16} {said}".rstrip(), flush=True)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of this host."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path) -> Iterator[tuple[Page, float]]:
    """Open a file in a window of its own; gives the page, and after how many milliseconds."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="load")
    yield page, float(page.evaluate(PAINTED_MS))
    context.close()


def opening_ms(browser: Browser, path: Path) -> float:
    """Return the longest time that it took to open a file."""
    longest = 0.0
    for _ in range(OPENINGS):
        with opened(browser, path) as (_, milliseconds):
            longest = max(longest, milliseconds)
    return longest


def press(page: Page, selector: str) -> tuple[float, float]:
    """Press a button; gives milliseconds as a choice does."""
    painted, scripted = page.evaluate(CHOSEN, [selector, None])
    return painted, scripted


def all_shown(page: Page) -> Iterator[float]:
    """Show more verdicts as long as there are more; gives the milliseconds of each time."""
    while page.locator("#rest").is_visible():
        yield press(page, "#rest")[0]


def longest(page: Page, choices: Sequence[Choice]) -> Chosen:
    """Choose one after the other."""
    took = [(page.evaluate(CHOSEN, [*choice]), choice) for choice in choices]
    ((painted, scripted), choice) = max(took, key=lambda one: one[0][0])
    return Chosen(painted, scripted, choice, len(took))


def options(page: Page, selector: str, most: int = 6) -> list[Choice]:
    """List some choices of a field, and at last that without a filter."""
    values = page.locator(f"{selector} option").evaluate_all("all => all.map((one) => one.value)")
    some = [value for value in values if value][:: max(1, len(values) // most)]
    return [*((selector, value) for value in some), (selector, "")]


def verdicts(page: Page) -> list[Choice]:
    """List filters and orders of the table of verdicts."""
    words = ["d", "docker", "docker 5", "nothing of that kind", ""]
    return [
        *(("#find", one) for one in words),
        *options(page, "#by-verdict"),
        *options(page, "#by-workload"),
        *options(page, "#by-platform"),
        *options(page, "#by-order", most=99),
        ("#clear", None),
    ]


def trials(page: Page) -> list[Choice]:
    """List filters and orders of a list of trials."""
    words = ["b", "block 7", "suspect", "nothing of that kind", ""]
    keys = page.locator("#trial-headings th[data-key]").evaluate_all(
        "all => all.map((one) => one.dataset.key)"
    )
    headings = [(f"#trial-headings th[data-key={key}] button", None) for key in keys]
    return [
        *(("#trial-text", one) for one in words),
        *options(page, "#trial-status"),
        *(heading for heading in headings for _ in range(3)),  # down, up and back
    ]


def looked_at(browser: Browser, folder: Path, table: Table) -> None:
    """Open a report and choose in it."""
    report = folder / "report.html"
    trial_pages = sorted((folder / "report-trials").glob("*.html"))
    size = report.stat().st_size / 1e6
    table.line("report.html", size, "MB", None if trial_pages else MEGABYTES)
    table.line("opened", opening_ms(browser, report), "ms", OPENED_MS)
    with opened(browser, report) as (page, _):
        found = longest(page, verdicts(page))
        table.line("chosen among verdicts", found.milliseconds, "ms", CHOSEN_MS, str(found))
        more = list(all_shown(page))
        if more:
            lines = page.locator("tr[data-platform]").count()
            table.line("more verdicts shown", max(more), "ms", None, f"at last all {lines}")
            found = longest(page, verdicts(page))
            table.line(
                "chosen when all were shown", found.milliseconds, "ms", CHOSEN_MS, str(found)
            )
        if not trial_pages:
            painted, scripted = press(page, "a[data-trials='']")
            said = f"{scripted:.0f} ms in the script"
            table.line("list of all trials opened", painted, "ms", None, said)
            found = longest(page, trials(page))
            table.line("chosen among trials", found.milliseconds, "ms", CHOSEN_MS, str(found))
    for path in trial_pages[:1]:
        table.line("trials of a cell", path.stat().st_size / 1e6, "MB", None)
        table.line("opened", opening_ms(browser, path), "ms", OPENED_MS)
        with opened(browser, path) as (page, _):
            found = longest(page, trials(page))
            table.line("chosen among trials", found.milliseconds, "ms", CHOSEN_MS, str(found))


def main() -> int:
    """Print the tables; 1 if a bar is missed."""
    table = Table()
    for count, blocks in STUDIES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            slots = report_scale.make(folder, count, blocks)
            if len(slots) <= SAMPLED:
                report_scale.make_samples(folder, slots)
            argv = [sys.executable, "-m", "tare.cli", "report", name]
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
            print(f"{len(slots):,} trials of {count} cells in {blocks} blocks")
            with chromium() as browser:
                looked_at(browser, folder, table)
    return int(not table.good)


if __name__ == "__main__":
    sys.exit(main())
