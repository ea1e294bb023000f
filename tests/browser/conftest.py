"""Reports in a browser that may open files and nothing else."""

import json
import shutil
from dataclasses import replace

import pytest

from tare.present.page.html import Pages
from tare.present.report import describe
from tare.results.store.raw_output import raw_name
from unit.conftest import lab  # noqa: F401 - a fixture

EVIL = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
"""What a workload may print, and a study may be called."""


COSTS = {"bare": 1.0, "slower": 1.2, "slowest": 2.0}


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open a file; at the end there was no error, no complaint and no request to the net."""
    contexts, wrong = [], []

    def only_files(route):
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            wrong.append(f"request: {route.request.url}")
            route.abort()

    def visit(path, **options):
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        context.route("**/*", only_files)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def write(results, into):
    """Write a report's pages without its pictures, which take longer than all else."""
    pages = Pages(describe(results), into)
    for name, text in (*pages.of_trials(), ("report.html", pages.report({}))):
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return into / "report.html"


@pytest.fixture
def results(lab):  # noqa: F811 - the fixture
    """A simulated study of ``COSTS`` on two workloads."""
    platforms = {name: {"sim": {"cost": cost}} for name, cost in COSTS.items()}
    memory = {"sysbench_memory": {"block": "1MiB", "threads": 1, "time": "1 s"}}
    cpu = {"sysbench_cpu": {"threads": 1, "time": "1 s"}}
    return lab.run(lab.text(platforms, workloads=[cpu, memory]))


@pytest.fixture
def report(results):
    return write(results, results.folder)


@pytest.fixture
def hostile(results):
    """The same study with markup in its names, reasons, commands and output."""
    cells = tuple(
        replace(one, platform=EVIL) if one.platform == "slower" else one
        for one in results.plan.cells
    )
    renamed = {old.id: new.id for old, new in zip(results.plan.cells, cells, strict=True)}
    trials = tuple(
        replace(one, cell=renamed[one.cell], reason=EVIL, warnings=(EVIL, "\u2028</script>"))
        for one in results.trials
    )
    for one in trials:
        folder = results.folder / "raw" / raw_name(one)
        (folder / "command.json").write_text(json.dumps({"argv": ["echo", EVIL]}))
        (folder / "stdout").write_text(EVIL)
    plan = replace(results.plan, study=EVIL, cells=cells)
    return write(replace(results, plan=plan, trials=trials), results.folder)
