"""Results on disk: written once, durably, as trials end; read back as they were.

A results directory holds ``study.yaml`` (as run), ``plan.json`` (with the seed), ``facts.json``
(what ran where), ``trials.jsonl`` (one line a trial), ``raw/<trial>/`` (command, stdout, stderr),
``raw/index.jsonl`` (what is in these), ``samples/`` (what each did over time), ``run.json`` (when
it ran, why it stopped) and ``ledger.jsonl`` (what was made on which machine).
"""

from tare.results.store.facts import facts_of, stored_preconditions
from tare.results.store.reader import Results, load, read_facts, read_run
from tare.results.store.writer import Writer

__all__ = [
    "Results",
    "Writer",
    "facts_of",
    "load",
    "read_facts",
    "read_run",
    "stored_preconditions",
]
