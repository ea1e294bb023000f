"""Tables, charts and the page made of a study's results; all of it can be remade from the trials.

``describe`` compares once; ``as_json`` (for programs) and ``write_report`` (files) only put into
words, rows and pictures what it found.
"""

from pathlib import Path

from tare.core.errors import ResultsError
from tare.present.export.facts import as_json
from tare.present.view.study import StudyView, describe
from tare.results.store import Results

__all__ = ["StudyView", "as_json", "describe", "read_and_report", "write_report"]


def write_report(results: Results, into: Path) -> list[Path]:
    """Write the page, results.csv, .md and .tex, explanations.csv, and figures/*; list them."""
    # Here, because templates and charts take longer to import than `tare show` has.
    from tare.present.page.render import write

    return write(results, into)


def read_and_report(folder: Path, into: Path) -> list[Path]:
    """Read results and write their report; of many trials in much less time than apart.

    ResultsError where they cannot be read or it cannot be written, or a process that draws is
    killed.
    """
    from concurrent.futures.process import BrokenProcessPool

    from tare.present.page.render import read_and_write

    try:
        return read_and_write(folder, into)
    except BrokenProcessPool as error:
        raise ResultsError(
            "a process that draws figures was killed, perhaps for want of memory; the trials are "
            f"untouched: make memory free, then tare report {folder}"
        ) from error
    except OSError as error:
        where = error.filename or into
        raise ResultsError(
            f"cannot write the report: {where}: {error.strerror}; the trials are untouched: make "
            f"room, or choose another place, tare report {folder} --into FOLDER"
        ) from error
