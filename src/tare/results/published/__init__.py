"""Results that others have published, put through the statistics of this package.

The data are facts from the studies' own tables, one file a study in ``data/`` (its columns are
described in ``data/SOURCES.md``). ``analyse`` finds the module of the study's name, which says what
can be computed from what that study printed; a study without one is printed as it is.
"""

from tare.results.published.analysis import Analysis, Column, Form, Table, analyse
from tare.results.published.finding import Finding, Sort
from tare.results.published.rows import Row, Statistic, load, studies
from tare.results.published.setup import Setup, setup_of

__all__ = [
    "Analysis",
    "Column",
    "Finding",
    "Form",
    "Row",
    "Setup",
    "Sort",
    "Statistic",
    "Table",
    "analyse",
    "load",
    "setup_of",
    "studies",
]
