"""The live page as a person uses it: while a study runs, by keyboard, on a phone, in the dark."""

import os
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from browser.conftest import COSTS, EVIL
from tare.core.model import Status
from tare.present.live import ResultsCatalogue, serving
from tare.results.store import Writer, read_facts
from tare.results.store.raw_output import raw_name
from tare.results.store.samples import Samples

pytestmark = pytest.mark.needs("browser")

BEGIN = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
AREA = "svg path[fill]:not([fill=none])"
LINE = "svg path[fill=none]:has(title)"
"""What a layer used, filled, and what all of the host used."""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
PHONE = {"viewport": {"width": 390, "height": 844}}
BOXES = "found => found.map(one => one.getBoundingClientRect().toJSON())"
NOTED = """
window.EventSource = class extends EventSource {
  constructor(url) {
    super(url);
    const note = () => setTimeout(() => { document.documentElement.dataset.heard = "yes"; });
    this.addEventListener("message", note);
  }
};
"""
"""Notes that the first event was taken in: it replaces what a test would hold in its hand."""


@dataclass(frozen=True)
class Series:
    source: str
    name: str
    values: tuple = ()
    times_s: tuple = (0.0, 1.0, 2.0)
    device: str = ""
    is_counter: bool = True
    reason: str = ""


def used(busy, memory):
    """Make what is read of a layer that keeps so many CPUs busy and holds so much."""
    return [
        Series("layer", "cpu_s", (0.0, busy, 2 * busy)),
        Series("host", "cpu_user_s", (0.0, busy + 0.2, 2 * busy + 0.4)),
        Series("host", "cpu_system_s", (0.0, 0.1, 0.2)),
        Series("host", "cpu_guest_s", (0.0, 0.0, 0.0)),
        Series("layer", "memory_bytes", (memory / 2, memory, memory), is_counter=False),
    ]


def write(results, folder, trials=999):
    """Write a study as a session leaves it after so many trials; gives those that are left."""
    timed = [
        replace(
            one,
            started_at=datetime.fromtimestamp(BEGIN + 3 * number, UTC).isoformat(),
            duration_s=2.0,
        )
        for number, one in enumerate(results.trials)
    ]
    with closing(Writer(folder)) as writer:
        writer.start(results.study, results.plan)
        writer.facts(read_facts(results.folder))
        if trials >= len(timed):
            writer.run(results.run)
    append(results, folder, timed[:trials])
    return timed[trials:]


def append(results, folder, trials):
    cells = results.plan.cells_by_id
    session = Samples(folder)
    with closing(Writer(folder)) as writer:
        for one in trials:
            writer.trial(one, None)
            is_base = cells[one.cell].platform == results.plan.reference
            session.add(one, used(1.0, 2**24) if is_base else used(1.5, 2**28))
    session.close()


@contextmanager
def replaced(part):
    """Wait at the end until a part of the page was replaced."""
    part.evaluate("one => { one.firstElementChild.dataset.old = 'yes'; }")
    yield
    part.locator("[data-old]").wait_for(state="detached")


@pytest.fixture
def root(lab):
    folder = lab.folder / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def browse(chromium, root):
    """Open a page of a server; at the end there was no error and no request to elsewhere."""
    contexts, wrong = [], []
    with serving(ResultsCatalogue(root), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()

        def only_here(route):
            if route.request.url.startswith((server.address, "data:")):
                route.continue_()
            else:
                wrong.append(f"request: {route.request.url}")
                route.abort()

        def browse(path, **options):
            context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
            contexts.append(context)
            context.route("**/*", only_here)
            context.add_init_script(NOTED)
            page = context.new_page()
            page.on("console", lambda said: wrong.append(f"console: {said.text}"))
            page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
            page.goto(server.address + path)
            page.locator("html[data-heard]").wait_for(state="attached")
            return page

        yield browse
        for context in contexts:
            context.close()
        server.shutdown()
        thread.join()
    assert wrong == []


def test_readings_of_a_trial_appear_while_the_page_is_open(browse, results, root):
    rest = write(results, root / "one", trials=6)
    page = browse("study/one")
    lanes = page.locator(f"#resources .course {AREA}")
    before = lanes.count()
    assert before == 2 * 6
    assert page.locator(f"#resources .course {LINE}").count() == 6
    append(results, root / "one", rest[:2])
    page.locator(f"#resources {AREA}").nth(before + 3).wait_for()
    texts = page.locator("#resources .platform").all_inner_texts()
    assert [text.split("\n")[0] for text in texts] == ["bare", "slower", "slowest"]
    assert "1.50" in texts[1]


def test_lanes_stand_below_each_other_on_one_time(browse, results, root):
    write(results, root / "one")
    page = browse("study/one")
    boxes = page.locator("#resources .course svg").evaluate_all(BOXES)
    cpu, memory = boxes[::2], boxes[1::2]

    for column in (cpu, memory):
        assert len({(box["x"], box["width"]) for box in column}) == 1
        ends = [box["y"] + box["height"] for box in column]
        assert len(column) == len(COSTS)
        assert all(end <= box["y"] for end, box in zip(ends, column[1:], strict=False))
    assert cpu[0]["x"] + cpu[0]["width"] <= memory[0]["x"]


@pytest.mark.parametrize("path", ["", "study/one", "compare?with=one&with=two"])
def test_a_phone_shows_all_of_it(browse, results, root, path):
    for name in ("one", "two"):
        write(results, root / name)
    page = browse(path, **PHONE)

    assert page.evaluate(WIDER) <= 0
    boxes = page.locator("svg").evaluate_all(BOXES)
    assert bool(boxes) == bool(path)
    assert all(box["left"] >= 0 and box["right"] <= 390 for box in boxes)


def test_the_dark_is_dark(browse, results, root):
    write(results, root / "one")
    page = browse("study/one", color_scheme="dark")

    assert page.evaluate(BACKGROUND) == "rgb(20, 23, 27)"
    line = page.locator(f"#resources {LINE}").first
    assert line.evaluate("one => getComputedStyle(one).stroke") == "rgb(233, 236, 240)"


def test_studies_are_set_beside_each_other_by_keyboard(browse, results, root):
    for name in ("one", "two", "three"):
        write(results, root / name)
    page = browse("")
    for name in ("one", "two"):
        page.locator(f"#pick-{name}").focus()
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?*")

    assert sorted(page.locator("#chosen .name").all_inner_texts()) == ["one", "two"]
    heads = page.locator("#compared thead").first.inner_text().split()
    assert {"one", "two"} < set(heads)
    assert "three" not in heads
    # two platforms and the control, under two workloads
    assert page.locator("#compared .strip svg").count() == 2 * 3
    assert "not in this study" not in page.locator("#compared").inner_text()


def test_a_study_that_goes_on_is_followed_beside_another(browse, results, root):
    write(results, root / "one")
    rest = write(results, root / "two", trials=len(results.trials) - 2)
    page = browse("compare?with=one&with=two")
    followed = page.locator("#chosen progress").nth(1)
    before = int(followed.get_attribute("value"))
    append(results, root / "two", rest)
    page.locator(f'#chosen progress[value="{before + len(rest)}"]').nth(1).wait_for()


def test_text_of_samples_stays_text(browse, results, root):
    (first, *_) = write(results, root / "one", trials=0)
    with closing(Writer(root / "one")) as writer:
        writer.trial(replace(first, status=Status.FAILED, reason=EVIL), None)
    session = Samples(root / "one")
    session.add(first, [Series("layer", "cpu_s", (), (), reason=EVIL)])
    session.close()
    page = browse("study/one")

    assert EVIL in page.locator("#resources").inner_text()
    assert page.title() == "one · Tare"


def test_a_name_that_is_hardly_one_is_ticked_and_shown_as_any_other(browse, results, root):
    odd = os.fsdecode(b"50%25 & \xff")
    write(results, root / "one")
    rest = write(results, root / odd, trials=6)
    page = browse("")
    ticks = page.locator("input")
    for at in range(2):
        ticks.nth(at).check()
    with replaced(page.locator("#studies")):
        append(results, root / odd, rest)
    assert page.locator("input:checked").count() == 2
    page.locator("#compare").click()
    page.wait_for_url("**/compare?*")
    assert sorted(page.locator("#chosen .name").all_inner_texts()) == ["50%25 & ?", "one"]


def test_the_keyboard_stays_where_it_was_when_a_part_is_replaced(browse, lab, root):
    rule = {"min_blocks": 8, "max_blocks": 20, "instances": 1, "margin": 0.0001}
    results = lab.run(lab.text({"host": {}, "like": {}}, repetition=rule))
    first, *rest = write(results, root / "one", trials=3 * 13)
    failed = replace(first, status=Status.FAILED, repeat=7)
    append(results, root / "one", [failed])
    raw = root / "one/raw" / raw_name(failed)
    raw.mkdir()
    (raw / "stdout").write_text("said")
    page = browse("study/one", viewport={"width": 390, "height": 844})
    focused = "document.activeElement.id"

    page.locator("#failures a", has_text="stdout").focus()
    link = page.evaluate(focused)
    with replaced(page.locator("#failures")):
        append(results, root / "one", [replace(failed, repeat=8)])
    assert link.endswith("stdout")
    assert page.evaluate(focused) == link

    page.locator("details summary").first.press("Enter")
    page.keyboard.press("Tab")
    looks = page.locator("#looks-0")
    assert page.evaluate(focused) == "looks-0"
    looks.evaluate("one => { one.style.width = '120px'; one.scrollLeft = 30; }")
    with replaced(looks):
        append(results, root / "one", rest)
    assert page.evaluate(focused) == "looks-0"
    assert looks.evaluate("one => one.scrollLeft") == 30


@pytest.mark.parametrize("options", [{}, PHONE])
def test_a_long_name_is_whole_and_leaves_room_for_the_others(browse, results, root, options):
    write(results, root / ("x" * 200))
    page = browse("", **options)

    boxes = page.locator(".name a, .state, progress").evaluate_all(BOXES)
    width = page.viewport_size["width"]
    assert [box["left"] >= 0 and box["right"] <= width for box in boxes] == [True] * 3
    assert page.evaluate(WIDER) <= 0


def test_the_scales_of_many_studies_beside_each_other_can_be_read(browse, results, root):
    names = [f"study-{number}" for number in range(7)]
    for name in names:
        write(results, root / name)
    page = browse("compare?" + "&".join(f"with={name}" for name in names))

    ends = page.locator(".picture span").evaluate_all(BOXES)
    assert len(ends) == 2 * 2 * 3
    assert min(box["height"] for box in ends) > 10
    assert max(box["right"] for box in ends) <= 1200
    texts = page.locator(".picture .ends").first.inner_text().split("\n")
    label = page.locator(".strip svg").first.get_attribute("aria-label")
    assert label == f"intervals from {texts[0]} to {texts[1]}"


def test_a_server_that_falls_silent_is_noticed(browse, results, root):
    rest = write(results, root / "one", trials=6)
    page = browse("study/one")
    page.clock.install()
    with replaced(page.locator("#timeline")):
        append(results, root / "one", rest[:1])
    page.clock.fast_forward(24_000)
    assert page.locator("#link").inner_text() == ""
    page.clock.fast_forward(2_000)
    assert "has said nothing since" in page.locator("#link").inner_text()
    append(results, root / "one", rest[1:])
    page.locator("#link", has_not_text="said").wait_for(state="attached")
