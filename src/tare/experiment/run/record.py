"""Make the facts that are stored with the trials: host, platforms, versions, entry."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from tare.core.errors import ResultsError
from tare.core.model import Entry, Plan, Trial
from tare.experiment import resolution
from tare.experiment.host.facts import host_facts, noise
from tare.experiment.run import conditions
from tare.experiment.run import cpu_sets as cores
from tare.experiment.run.instance_set import InstanceSet, takes_userland
from tare.experiment.run.pool import Pool
from tare.experiment.run.tool_versions import other_versions
from tare.experiment.study import Platform, Study
from tare.machines import detection
from tare.results.store import read_facts
from tare.work.workload import Workload

SAME_HOST = ("kernel", "cpu_model", "cpus")
"""The facts that must not have changed for results to be continued."""


def missing_programs(folder: Path) -> Mapping[str, str]:
    """Return the programs that the userland of earlier sessions was built without, and why."""
    userland = read_facts(folder).get("userland")
    return dict(userland.get("lacking", {})) if isinstance(userland, dict) else {}


def session_facts(
    study: Study, plan: Plan, pool: Pool, folder: Path, *, goes_on: bool
) -> dict[str, object]:
    """Return the facts of the host; raise ResultsError if another host began these results."""
    session = pool.session
    host = host_facts(session.host)
    known = read_facts(folder).get("host")
    if goes_on and isinstance(known, dict):
        changed = [name for name in SAME_HOST if known.get(name) != host.get(name)]
        if changed:
            raise ResultsError(
                f"{folder} was measured on another host or after a change of it: "
                f"{', '.join(changed)} differ; start a new study instead"
            )
    return {
        "host": {**host, "detected": detection.table(pool.detected_here)},
        "noise": [
            *(advice.what for advice in noise(host)),
            *cores.caveats(session, plan, study.limits),
        ],
        **({"peer": _stack(study.peer)} if study.has_peer else {}),
        "selftest": dict(resolution.last(host)),
        "tare": {"version": version("tare"), "python": python_version()},
        "session": {
            "cpuset": cores.named(session, plan, study.limits),
            "seed": plan.seed,
            "disk_free_bytes": shutil.disk_usage(folder).free,
        },
    }


def _stack(peer: Platform) -> dict[str, object]:
    """Return the stack and settings of the peer."""
    return {"stack": peer.stack, **dict(peer.settings)}


def platform_facts(study: Study, pool: Pool) -> dict[str, object]:
    """Return the facts of the platforms, with what was read back inside."""
    platforms: dict[str, object] = {}
    for which, instances in pool.instance_sets.items():
        name, replica, *_ = which
        if replica:
            continue
        known = platforms.get(name)
        if isinstance(known, dict):  # the same platform under other limits
            known["warnings"] += [new for new in instances.warnings if new not in known["warnings"]]
            continue
        platforms[name] = {
            "stack": instances.platform.stack,
            "entry": pool.entry.value,
            "settings": dict(instances.platform.settings),
            "probe": dict(instances.probe),
            "inside": asdict(instances.inside) if instances.inside else {},
            "detected": detection.table(instances.detected or ()),
            **_conditions(
                study, instances, pool.instance_sets.get((study.baseline, 0, *which[2:]))
            ),
            "start_s": [round(member.start_s, 3) for member in instances.members],
            "warnings": [*instances.warnings, *_versions(study, pool, instances)],
            **({"unavailable": instances.reason} if instances.reason else {}),
        }
    userland: dict[str, object] = {}
    if any(takes_userland(platform) for platform in study.platforms):
        source = pool.session.userland
        userland = {
            "id": source.id,
            "suite": source.suite,
            "versions": dict(source.versions),
            "kernel": source.kernel_version or "",
            "lacking": dict(source.missing),
        }
    return {"platforms": platforms, "userland": userland}


def _versions(study: Study, pool: Pool, instances: InstanceSet) -> list[str]:
    """Return which tools are of another version than their parsers know, where they are shared."""
    if not takes_userland(instances.platform):
        return []
    made = [one.made for one in study.workloads if isinstance(one.made, Workload)]
    return other_versions(made, pool.session.userland.versions)


def _conditions(
    study: Study, instances: InstanceSet, base: InstanceSet | None
) -> dict[str, object]:
    nothing = conditions.Conditions()
    of_base = (base and base.conditions) or nothing
    return conditions.facts(study, instances.conditions or nothing, of_base)


def was_entered_anew(trials: Iterable[Trial]) -> bool:
    """Return whether stored trials entered their machines without an agent.

    False where there are none.
    """
    return any(trial.samples and trial.entry is Entry.ANEW for trial in trials)


def refuse_other_entry(folder: Path, trials: Iterable[Trial], pool: Pool) -> None:
    """Refuse to continue without an agent where there was one: such trials make no pairs."""
    by_agent = any(trial.samples and trial.entry is Entry.AGENT for trial in trials)
    if not by_agent or pool.entry is Entry.AGENT:
        return
    members = [one for instances in pool.instance_sets.values() for one in instances.members]
    why = next((one.stack.no_agent for one in members if one.stack.no_agent), "")
    raise ResultsError(
        f"{folder} was measured by agents, which this host cannot have now ({why}); install what "
        "is missing, or start a new study"
    )


def refuse_other_userland(folder: Path, known: object, now: object) -> None:
    """Refuse to continue with other packages; a guest that was not built yet had no kernel."""
    if not (isinstance(known, dict) and isinstance(now, dict)):
        return
    if any(known.get(name) and known.get(name) != now.get(name) for name in ("id", "kernel")):
        raise ResultsError(
            f"{folder} was measured with other packages in the userland; start a new study instead"
        )
