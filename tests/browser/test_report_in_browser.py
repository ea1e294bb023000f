"""The report as a person uses it: by keyboard, on a phone, in the dark, on paper, without scripts.

``visit`` fails a test whose page complains, has an error, or asks for anything but a file.
"""

import re
from dataclasses import replace

import pytest

from browser.conftest import EVIL, write
from tare.core.model import Status
from unit.invented import Study, noisy
from unit.makers import contrasts_of
from unit.present.test_report import make_plan, make_results, make_trials

pytestmark = pytest.mark.needs("browser")

LINES = "tr[data-platform]:visible"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
FOCUS = "document.activeElement.textContent"
RENDERED = """() => [...new Set([...document.querySelectorAll("main > section")]
  .map((one) => getComputedStyle(one).contentVisibility))]"""
LIGHT, DARK = "rgb(254, 254, 254)", "rgb(20, 23, 27)"


def platforms(page):
    return [row.get_attribute("data-platform") for row in page.locator(LINES).all()]


def numbers(page, key):
    texts = [row.get_attribute(f"data-{key}") for row in page.locator(LINES).all()]
    return [float(text) for text in texts if text]


def walk_to(page, pattern, key="Tab", limit=80):
    """Press a key until what has the focus says something."""
    for _ in range(limit):
        page.keyboard.press(key)
        if re.search(pattern, page.evaluate(FOCUS) or ""):
            return
    pytest.fail(f"{key} does not lead to {pattern}")


def test_the_keyboard_leads_from_a_verdict_to_raw_output_and_back(visit, report):
    page = visit(report)
    page.focus("#find")
    walk_to(page, "slower$")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.locator("#list-title").inner_text() == "sysbench_cpu on slower"
    walk_to(page, "^block 0")
    page.keyboard.press("Enter")
    assert "sysbench_cpu on slower: block 0" in page.locator("#trial-title").inner_text()
    assert "sysbench cpu" in page.locator("#trial-about pre").inner_text()
    walk_to(page, "^stdout$")
    with page.expect_popup() as opened:
        page.keyboard.press("Enter")
    opened.value.wait_for_load_state()
    assert "events per second" in opened.value.inner_text("body")
    assert "/raw/" in opened.value.url

    page.bring_to_front()
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUS).startswith("block 0")
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUS).endswith("slower")
    assert page.locator("dialog:visible").count() == 0


def test_space_opens_what_is_called_a_button(visit, report):
    page = visit(report)
    page.locator("a[data-trials]").first.press(" ")
    assert page.locator("#trial-list").is_visible()


def test_a_trial_shows_what_is_stored_of_it(visit, report, results):
    page = visit(report)
    page.locator("tr[data-platform=slowest] a[data-trials]").first.click()
    page.locator("button.open").last.click()
    shown = page.locator("#trial-about").inner_text()
    cell = next(one for one in results.plan.cells if one.platform == "slowest")
    trial = [one for one in results.trials if one.cell == cell.id][-1]
    assert (
        page.locator("#trial-title")
        .inner_text()
        .endswith(f"block {trial.block}, slot {trial.slot}")
    )
    assert trial.instance in shown
    assert trial.started_at in shown
    rate = re.search(r"events\s+([\d.,]+) (M?)/s", shown)
    value = float(rate[1].replace(",", "")) * (1e6 if rate[2] else 1)
    assert value == pytest.approx(trial.samples["events"], rel=1e-5)


def test_what_is_zero_is_told_from_what_is_not_known(visit, tmp_path):
    def changed(number, one):
        took = {"layer_memory_peak_bytes": 12.5 * 2**20, "layer_major_faults": 0.0}
        noise = {"steal": 0.0, "load": 1.5}
        if number == 0:
            return replace(one, resources={}, noise={}, host=None)
        return replace(one, resources=took, noise=noise)

    results = make_results(folder=tmp_path)
    trials = tuple(changed(number, one) for number, one in enumerate(results.trials))
    page = visit(write(replace(results, trials=trials), tmp_path))
    page.click("a[data-trials='']")
    page.locator("button.open").nth(1).click()
    taken, read = (
        page.locator(f"#trial-about section:has(h3:text-is('{title}'))").inner_text()
        for title in ("Taken of the host", "Read on the host")
    )
    assert re.search(r"memory at its peak\s+12.5 MiB", taken)
    assert "Zero: page faults that read from disk." in taken
    assert re.search(r"Not available here: .*\benergy on the whole host\.", taken)
    assert "Not read" not in taken + read
    assert re.search(r"Zero: .*stolen", read)
    assert re.search(r"Not available here: .*other work.*clock rate\.", read)
    page.keyboard.press("Escape")
    page.locator("button.open").first.click()
    assert "Not read of this trial: memory at its peak; page" in page.inner_text("#trial-about")


@pytest.mark.parametrize(("width", "media"), [(1200, "screen"), (730, "print"), (702, "print")])
def test_no_table_is_wider_than_its_page_for_names_without_a_space(visit, tmp_path, width, media):
    base, inner, workload = "h" * 100, "host/" + "x" * 95, "w" * 100
    study = Study([base, inner], baseline=base)
    study.add("cpu", noisy({inner: 2.0})).add(workload, noisy({inner: 2.0}))
    trials = tuple(
        replace(
            one,
            status=Status.SUSPECT,
            instance="i" * 100,
            noise={"steal": 0.01},
            phases_s={"setup": 0.1},
            resources={"layer_page_faults": 100.0 + number},
        )
        for number, one in enumerate(study.found().results.trials)
    )
    page = visit(
        write(replace(study.found().results, trials=trials), tmp_path),
        viewport={"width": width, "height": 900},
    )
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media=media)
    tables = page.evaluate(
        "[...document.querySelectorAll('main table')].map((one) => "
        "[one.rows[0].innerText, one.scrollWidth - one.parentElement.clientWidth])"
    )
    assert len(tables) > 5
    assert {name: more for name, more in tables if more > 0} == {}


def test_filters_leave_what_matches(visit, report):
    page = visit(report)
    assert platforms(page) == 2 * ["bare", "slower", "slowest", "bare (A/A control)"]
    page.fill("#find", "MEMORY slowest")
    assert platforms(page) == ["slowest"]
    assert page.locator("#shown").inner_text() == "1 of 8 lines"
    assert page.locator("tr.group:visible").count() == 1
    page.click("#clear")
    assert len(platforms(page)) == 8
    page.select_option("#by-verdict", "slower")
    assert platforms(page) == 2 * ["slower", "slowest"]
    page.select_option("#by-workload", "sysbench_cpu")
    assert platforms(page) == ["slower", "slowest"]
    page.select_option("#by-platform", "bare")
    assert platforms(page) == []
    page.fill("#find", ".*(")
    assert page.locator("#shown").inner_text() == "0 of 8 lines"


@pytest.mark.parametrize("key", ["cost", "interval", "verdict", "pairs", "p", "floor"])
def test_every_column_sorts_both_ways_and_back(visit, report, key):
    page = visit(report)
    planned = platforms(page)
    heading = page.locator(f"th[data-key={key}]").first
    seen = {}
    for _ in range(2):
        heading.locator("button").click()
        seen[heading.get_attribute("aria-sort")] = numbers(page, key)
    assert seen["ascending"] == sorted(seen["ascending"])
    assert seen["descending"] == sorted(seen["ascending"], reverse=True)
    assert len(seen["ascending"]) > 2
    missing = page.locator(f'{LINES}[data-{key}=""]').count()
    values = [row.get_attribute(f"data-{key}") for row in page.locator(LINES).all()]
    assert values[len(values) - missing :] == [""] * missing
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert platforms(page) == planned


def test_what_belongs_to_a_line_moves_and_hides_with_it(visit, tmp_path):
    page = visit(write(make_results(folder=tmp_path), tmp_path))
    page.select_option("#by-order", "cost descending")
    page.fill("#find", "which count as the worst value")
    assert platforms(page) == ["host/qemu-tcg/docker"]
    assert page.locator("tr.variant:visible").count() == 1
    assert "Failed in 2 of 11 pairs" in page.locator("tr.notes:visible").inner_text()


def test_platforms_sort_by_name(visit, report):
    page = visit(report)
    page.locator("th[data-key=platform] button").click()
    assert platforms(page) == sorted(platforms(page))


def test_the_trials_of_a_list_are_found_and_sorted(visit, tmp_path):
    page = visit(write(make_results(folder=tmp_path), tmp_path))
    page.click("a[data-trials='']")
    assert page.locator("#trial-count").inner_text() == "228 trials"
    assert page.locator("#trial-rows tr").count() == 50
    page.click("#trial-more")
    assert page.locator("#trial-rows tr").count() == 100
    assert page.evaluate(FOCUS) == page.locator("button.open").nth(50).inner_text()
    page.select_option("#trial-status", "dnr")
    assert "did not end within 60 s" in page.locator("#trial-rows").inner_text()
    assert page.locator("#trial-count").inner_text() == "1 of 228 trials"
    page.select_option("#trial-status", "")
    page.fill("#trial-text", "FIO docker suspect throttled")
    assert page.locator("#trial-count").inner_text() == "1 of 228 trials"
    page.click("#trial-list .close")
    page.locator("tr[data-platform='host/docker'] a[data-trials]").first.click()
    page.click("th[data-key=value] button")
    shown = page.locator("#trial-rows td[data-label=events]").all_inner_texts()
    rates = [float(text.split()[0].replace(",", "")) for text in shown]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == 13


@pytest.mark.parametrize(("scheme", "colours"), [("light", (LIGHT, DARK)), ("dark", (DARK, LIGHT))])
def test_the_page_is_light_and_dark_and_the_button_turns_it_round(visit, report, scheme, colours):
    page = visit(report, color_scheme=scheme)
    assert page.evaluate(BACKGROUND) == colours[0]
    page.click("#theme")
    assert page.evaluate(BACKGROUND) == colours[1]
    page.emulate_media(media="print")
    assert page.evaluate(BACKGROUND) == LIGHT
    page.emulate_media(media="screen")
    page.click("#theme")
    assert page.evaluate(BACKGROUND) == colours[0]
    page.click("#theme")
    page.reload()
    assert page.evaluate(BACKGROUND) == colours[0]


def wide(page):
    """How far anything in view reaches beyond the right edge, in pixels."""
    return page.evaluate(
        """() => {
          for (const section of document.querySelectorAll("main > section")) {
            section.style.contentVisibility = "visible"; // else what is out of view is left out
          }
          const parts = [document.documentElement, ...document.querySelectorAll("dialog[open]")];
          return Math.max(...parts.map((one) => one.scrollWidth - one.clientWidth));
        }"""
    )


def test_nothing_is_wider_than_a_phone(visit, hostile):
    page = visit(hostile, viewport={"width": 360, "height": 740})
    assert wide(page) == 0
    page.select_option("#by-order", "cost descending")
    assert wide(page) == 0
    page.locator("a[data-trials]:visible").first.click()
    assert wide(page) == 0
    page.locator("button.open").first.click()
    assert wide(page) == 0
    assert page.locator("#trial .close").is_visible()


def test_markup_from_a_study_stays_text(visit, hostile):
    page = visit(hostile)
    assert page.title() == f"{EVIL} · Tare"
    assert page.locator("h1").inner_text() == EVIL
    page.select_option("#by-platform", EVIL)
    page.locator("a[data-trials]:visible").first.click()
    assert EVIL in page.locator("#trial-rows").inner_text()
    page.locator("button.open").first.click()
    assert page.locator("#trial-about dd").get_by_text(EVIL, exact=True).count() > 0
    assert page.locator("#trial-about pre").inner_text().startswith("echo '<script>document.title")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scripts.length") == 2
    with page.expect_popup() as opened:
        page.click("text=stdout")
    opened.value.wait_for_load_state()
    assert opened.value.inner_text("body") == EVIL
    assert opened.value.title() != "taken"
    assert page.title() != "taken"


def test_the_page_is_whole_without_scripts(visit, report):
    page = visit(report, java_script_enabled=False)
    assert page.locator("tr.row[data-platform]:visible").count() == 8
    assert page.locator(".controls:visible, button:visible, dialog:visible").count() == 0
    assert "this browser does not run" in page.locator("noscript").inner_text()
    assert page.locator("a[href='trials.jsonl']").is_visible()


def test_on_paper_everything_is_open_and_controls_are_gone(visit, report):
    page = visit(report)
    tests = page.get_by_text("p values of events, for readers of studies")
    assert not tests.is_visible()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tests.is_visible()
    assert page.locator("#find, #theme, nav, #by-order").locator("visible=true").count() == 0
    assert page.locator("th button", has_text="cost").first.is_visible()
    assert page.evaluate(RENDERED) == ["visible"]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert not tests.is_visible()
    assert page.evaluate(RENDERED) == ["auto"]
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_paper_says_when_lines_are_left_out(visit, report):
    page = visit(report)
    page.fill("#find", "slowest")
    page.emulate_media(media="print")
    assert page.locator("#shown").is_visible()
    assert page.locator("#shown").inner_text() == "2 of 8 lines"


def of_many_workloads(folder, groups, blocks=20):
    """Results of 130 trials a workload: five platforms, a control, ten warm-ups."""
    one = make_plan(workloads=("fio",), blocks=blocks)
    noise = {"steal": 0.012, "foreign": 0.034, "psi_cpu_some": 0.2, "load": 1.25}
    trials, cells, some = [], [], make_trials(one)
    for number in range(groups):
        params = (("block_bytes", 512 * (number + 1)),)
        new = {old.id: replace(old, id=f"{old.id}-{number}", params=params) for old in one.cells}
        cells += new.values()
        trials += [
            replace(trial, cell=new[trial.cell].id, slot=6 * number + trial.slot, noise=noise)
            for trial in some
        ]
    plan = replace(one, cells=tuple(cells), contrasts=contrasts_of(cells, "host"))
    return make_results(folder=folder, plan=plan, trials=tuple(trials))


FILTERED = """(input) => {
  const begun = performance.now();
  input.value = "docker 41";
  input.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return performance.now() - begun;
}"""


def test_ten_thousand_trials_are_one_file_that_filters_at_once(visit, tmp_path, capsys):
    results = of_many_workloads(tmp_path, 76)
    report = write(results, tmp_path)
    size = report.stat().st_size
    page = visit(report)
    assert len(platforms(page)) == 50
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(platforms(page)) == len(results.plan.cells)
    page.reload()
    verdicts = page.locator("#find").evaluate(FILTERED)
    page.fill("#find", "")
    page.click("a[data-trials='']")
    first, again = (page.locator("#trial-text").evaluate(FILTERED) for _ in range(2))
    with capsys.disabled():
        print(  # noqa: T201 - a measurement, to be seen
            f"\n{len(results.trials):,} trials, {len(results.plan.cells)} verdict lines, "
            f"{size / 1e6:.1f} MB: verdicts filtered in {verdicts:.0f} ms, "
            f"trials in {first:.0f} ms, then {again:.0f} ms"
        )
    assert 9_000 < len(results.trials) <= 10_000
    assert size < 15_000_000
    assert not (tmp_path / "report-trials").exists()
    assert page.locator("#trial-count").inner_text().endswith(f" of {len(results.trials):,} trials")


def test_more_lines_are_shown_on_demand_until_something_is_chosen(visit, tmp_path):
    results = of_many_workloads(tmp_path, 20, blocks=1)
    page = visit(write(results, tmp_path))
    planned = [row.get_attribute("data-platform") for row in page.locator(LINES).all()]
    assert page.locator("#shown").inner_text() == f"{len(results.plan.cells)} lines"
    for shown, more in ((50, "Show 50 more"), (100, "Show 20 more"), (120, "")):
        assert len(platforms(page)) == shown
        assert page.locator("#rest").is_visible() == bool(more)
        if more:
            assert page.locator("#rest").inner_text() == more
            page.click("#rest")
            focused = page.locator(LINES).nth(shown).locator("a:focus")
            assert focused.count() == 1
    assert len(planned) == 50
    assert platforms(page)[:50] == planned
    page.locator("th[data-key=platform] button").click()
    assert page.evaluate(FOCUS).strip() == "platform"
    assert len(platforms(page)) == 50
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert platforms(page) == sorted(platforms(page))
    assert len(platforms(page)) == 120
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(platforms(page)) == 50
    page.locator("a[data-trials]:visible").last.click()
    assert page.locator("#trial-list").is_visible()


def test_a_larger_study_has_its_trials_on_pages_beside_the_report(visit, tmp_path, monkeypatch):
    monkeypatch.setattr("tare.present.page.trials_page.MAX_TRIALS", 100)
    into = tmp_path / "else where"
    page = visit(write(make_results(folder=tmp_path / "results"), into))
    assert "too much for one file" in page.locator("main").text_content()
    page.locator("tr[data-platform='host/docker'] .verdict a").first.click()
    assert page.locator("h1").inner_text() == "sysbench_cpu on host/docker"
    assert page.locator("#trial-count").inner_text() == "13 trials"
    page.locator("button.open").first.click()
    assert "None is stored" in page.locator("#trial-about").inner_text()
    page.keyboard.press("Escape")
    page.click("text=Back to the report")
    assert page.locator("h1").inner_text() == "quick"
