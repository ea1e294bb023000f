"""Writes a results directory; what it has said is written is on the disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tare import durable
from tare.errors import ResultsError
from tare.machine import Completed
from tare.model import Kind, Plan, Trial

# 1: the first
FORMAT = 1


class Writer:
    """A results directory that is being filled by one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "raw").mkdir(parents=True, exist_ok=True)
            path = folder / "trials.jsonl"
            path.touch()
            durable.cut_torn_line(path)
            self._trials = path.open("ab", buffering=0)
        except OSError as error:
            raise ResultsError(f"cannot write results to {folder}: {error}") from error

    def start(self, study: str, plan: Plan) -> None:
        """Write down what will be run, before the first trial."""
        self.whole("study.yaml", study)
        self.whole("plan.json", json.dumps({"format": FORMAT, **asdict(plan)}))

    def facts(self, facts: Mapping[str, object]) -> None:
        """Write down what ran where, as far as it is known by now."""
        self.whole("facts.json", json.dumps(facts, indent=1))

    def run(self, run: Mapping[str, object]) -> None:
        """Write down when the study ran and why it stopped."""
        self.whole("run.json", json.dumps(run, indent=1))

    def trial(self, trial: Trial, completed: Completed | None) -> None:
        """Append a trial and its raw output, or raise ResultsError and leave the file as it was."""
        line = json.dumps({"format": FORMAT, **asdict(trial)}, separators=(",", ":")) + "\n"
        try:
            if completed is not None:
                self._raw(trial, completed)
            durable.append(self._trials, line.encode())
        except OSError as error:
            shutil.rmtree(self.folder / "raw" / raw_name(trial), ignore_errors=True)
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
        """Close the file of trials."""
        self._trials.close()

    def _raw(self, trial: Trial, completed: Completed) -> None:
        folder = self.folder / "raw" / raw_name(trial)
        folder.mkdir(exist_ok=True)
        command = {
            "argv": completed.argv,
            "status": completed.returncode,
            "timed_out": completed.timed_out,
            "duration_s": completed.duration_s,
        }
        (folder / "command.json").write_text(json.dumps(command))
        (folder / "stdout").write_bytes(completed.stdout)
        if completed.stderr:
            (folder / "stderr").write_bytes(completed.stderr)


def raw_name(trial: Trial) -> str:
    """Name the folder of a trial's raw output."""
    again = "-again" if trial.repeat else ""
    if trial.repeat and trial.kind is Kind.WARMUP:
        again = f"-{trial.repeat + 1}"
    return f"{trial.block:04d}-{trial.slot:04d}-{trial.kind}-{trial.instance}{again}"
