"""Tare is written in plain technical English: words and first words that are not used.

Packages that have not been rewritten yet have their number of findings in ``language.txt``. A
number must equal what is found, so the list only shrinks; ``python tests/unit/test_language.py``
rewrites it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("language.txt")
KINDS = {".py", ".md", ".html", ".css", ".js", ".j2", ".yaml", ".txt", ""}

INSTEAD = {
    "told": "reported, inferred, or the thing itself",
    "beside": "with, next to, compared with",
    "mend": "fix",
    "mends": "fixes",
    "mended": "fixed",
    "whoever": "the process, the caller, the user",
    "whomever": "any process, any user",
    "so many": "a number of",
    "laid to": "attributable to",
    "glancing": "a noun",
    "passed over": "skipped",
    "lacking": "missing",
    "of ours": "of Tare",
    "unasked": "by default",
    "for ever": "forever",
    "going on without": "continuing without",
}
"""Words that are not used, and what to write."""

STORED = re.compile(r'"lacking"|`(userland\.)?lacking`')
"""Keys of stored files keep their names."""

_BEGINS = re.compile(r'\s*r?"""(Give|Say|Tell)\b')
"""A docstring begins with what is returned or done: "Return", "Start", "Whether"."""

_WORDS = re.compile(
    "|".join(rf"(?<![a-z]){word.replace(' ', r'[ _]')}(?![a-z])" for word in INSTEAD), re.IGNORECASE
)


def files():
    """Return all texts of the project but tests, decisions and what guests are built from.

    The content of the latter is part of a guest's id: a new comment would rebuild every guest.
    """
    folders = ("src/tare", "docs", "scripts", "benchmarks")
    found = [ROOT / "README.md", ROOT / "Makefile"]
    found += [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    return sorted(
        path
        for path in found
        if path.suffix in KINDS
        and not {"decisions", "__pycache__", "traces", "files", "lab_files"} & set(path.parts)
    )


def findings(name, text):
    """Yield what is wrong in a text, as ``line: word, instead: ...``."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _WORDS.finditer(STORED.sub("", line)):
            word = found[0].lower().replace("_", " ")
            yield f"{number}: {word}, instead: {INSTEAD[word]}"
        if name.endswith(".py") and (begins := _BEGINS.match(line)):
            yield f"{number}: {begins[1]}, instead: Return, or what is done"


def found_by_file():
    """Return the findings of each file that has any."""
    found = {
        str(path.relative_to(ROOT)): list(findings(path.name, path.read_text())) for path in files()
    }
    return {name: some for name, some in found.items() if some}


def listed():
    """Return the numbers of findings that are still allowed, by file."""
    pairs = (line.rsplit(" ", 1) for line in LISTED.read_text().splitlines())
    return {name: int(count) for name, count in pairs}


def test_texts_are_plain_technical_english():
    found, allowed = found_by_file(), listed()
    wrong = [
        f"{name}: {len(found.get(name, ()))} found, {allowed.get(name, 0)} listed"
        + "".join(f"\n    {one}" for one in found.get(name, ())[:20])
        for name in sorted(found.keys() | allowed)
        if len(found.get(name, ())) != allowed.get(name, 0)
    ]
    assert not wrong, "\n".join(wrong)


def test_packages_that_are_clean_stay_so():
    clean = ("src/tare/core", "src/tare/machines", "src/tare/work", "src/tare/experiment",
             "src/tare/results", "docs", "README.md", "Makefile", "scripts",
             "benchmarks")  # fmt: skip
    assert not [name for name in listed() if name.startswith(clean)]


@pytest.mark.parametrize(
    "text",
    [
        "told = 1",
        "def is_told(): ...",
        "class Told: ...",
        "# set beside the others",
        'print("to mend it: apt-get install socat")',
        'def name():\n    """Give the name."""',
        'def _why():\n    """Say why."""',
    ],
)
def test_a_bad_text_is_found(text):
    assert list(findings("bad.py", text))


@pytest.mark.parametrize(
    "text",
    ["untold", 'facts["lacking"]', 'def name():\n    """Return the name, say x."""', "besides"],
)
def test_a_good_text_is_not(text):
    assert not list(findings("good.py", text))


if __name__ == "__main__":
    LISTED.write_text("".join(f"{name} {len(some)}\n" for name, some in found_by_file().items()))
