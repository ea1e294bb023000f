"""Reads when a study was measured, of any Tare that wrote it down.

It is shown and decides nothing: a part that is missing or of another type is its empty value.
"""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.model import EndedSession, Repeats, Run
from tare.results.store.loosely import listed, mapping, number, text, whole


def run_of(stored: Mapping[str, object]) -> Run:
    """Return what ``run.json`` holds, in this format or an earlier one."""
    stop = stored.get("stop")
    return Run(
        sessions=tuple(map(_session, filter(None, map(mapping, listed(stored.get("sessions")))))),
        stop=stop if isinstance(stop, str) else None,
    )


def _session(stored: Mapping[str, object]) -> EndedSession:
    repeats, warmups = mapping(stored.get("repeats")), mapping(stored.get("warmups"))
    counts = {name: whole(count) for name, count in warmups.items()}
    return EndedSession(
        id=text(stored.get("id")),
        started=text(stored.get("started")),
        ended=text(stored.get("ended")),
        reason=text(stored.get("reason")),
        repeats=Repeats(
            suspect=whole(repeats.get("suspect")) or 0,
            run_again=whole(repeats.get("run_again")) or 0,
            largest_share=number(repeats.get("largest_share")) or 0.0,
        ),
        blocks_per_instance=whole(stored.get("blocks_per_instance")),
        replaced_instances=whole(stored.get("replaced_instances")) or 0,
        warmups={name: count for name, count in counts.items() if count is not None},
    )
