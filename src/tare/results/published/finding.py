"""An error, outlier or contradiction found in a published study, with the place it stands in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Sort(StrEnum):
    """What kind of thing was found."""

    OUTLIER = "outlier"
    IMPLAUSIBLE = "implausible"
    """Better than its own baseline, or more than its resources allow, beyond the noise shown."""
    CONTRADICTION = "contradiction"
    """Two printed numbers cannot both be right."""
    NOT_JUDGED = "not judged"
    """It may be implausible, but what would show it is not in the data."""
    VERDICT = "verdict"
    CAVEAT = "caveat"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one place in a study."""

    sort: Sort
    where: str
    says: str
