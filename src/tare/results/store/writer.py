"""Writes a results directory; what it has said is written is on the disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tare.core import durable
from tare.core.completed import Completed
from tare.core.errors import ResultsError
from tare.core.model import Complaint, HostCost, Part, Plan, Run, Trial
from tare.results.store import formats
from tare.results.store.raw_output import RawOutput

# What a person looks for in a line comes first, whatever the records share with each other.
TRIAL_FIELDS = (
    *("cell", "block", "slot", "kind", "instance", "status", "reason", "started_at", "duration_s"),
    *("samples", "host", "phases_s", "warnings", "noise", "resources", "repeat", "cpuset"),
    *("entry", "session", "parts"),
)
PART_FIELDS = (
    *("name", "instance", "status", "reason", "duration_s", "samples", "host", "noise"),
    *("resources", "cpuset", "late_s", "cell", "warnings", "platform"),
)


class Writer:
    """A results directory that is being filled by one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._raw = RawOutput(folder)
            path = folder / "trials.jsonl"
            path.touch()
            durable.cut_torn_line(path)
            self._trials = path.open("ab", buffering=0)
        except OSError as error:
            raise ResultsError(f"cannot write results to {folder}: {error}") from error

    def start(self, study: str, plan: Plan) -> None:
        """Write down what will be run, before the first trial."""
        self.whole("study.yaml", study)
        self.whole("plan.json", json.dumps({"format": formats.PLAN, **asdict(plan)}))

    def facts(self, facts: Mapping[str, object]) -> None:
        """Write down what ran where, as far as it is known by now."""
        self.whole("facts.json", json.dumps({"format": formats.FACTS, **facts}, indent=1))

    def run(self, run: Run) -> None:
        """Write down when the study ran and why it stopped."""
        self.whole("run.json", json.dumps({"format": formats.RUN, **asdict(run)}, indent=1))

    def trial(self, trial: Trial, *completed: Completed | None) -> None:
        """Append a trial and its raw output, or raise ResultsError and leave the file as it was.

        Of a trial of several cells the output is that of each, in the order of ``by_cell``.
        """
        printed = list(zip(trial.by_cell(), completed, strict=False))
        # asdict on the whole of it would copy all that is in it first.
        content = {
            "format": formats.TRIALS,
            **{name: getattr(trial, name) for name in TRIAL_FIELDS},
        }
        line = json.dumps(content, separators=(",", ":"), default=_content) + "\n"
        try:
            for one, done in printed:
                if done is not None:
                    self._raw.add(one, done)
            durable.append(self._trials, line.encode())
        except OSError as error:
            for one, _ in printed:
                self._raw.drop(one)
            raise ResultsError(
                f"cannot write a trial to {self.folder}: {error.strerror}; all trials before it "
                f"are kept: make room, then tare run --resume {self.folder}"
            ) from error

    def whole(self, name: str, content: str) -> None:
        """Write a file so that it is either the old one or the new one, whatever happens."""
        path = self.folder / name
        try:
            durable.replace(path, content)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file of trials and the index of their raw output."""
        self._trials.close()
        self._raw.close()


def _content(record: Part | HostCost | Complaint) -> dict[str, object]:
    """Return what is stored of a record in a trial, by name."""
    if isinstance(record, Part):
        return {name: getattr(record, name) for name in PART_FIELDS}
    return asdict(record)
