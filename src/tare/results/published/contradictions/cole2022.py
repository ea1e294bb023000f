"""What cole2022 says twice and differently, besides single runs outside of its ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.results.published.contradictions import two_values
from tare.results.published.finding import Finding, Sort
from tare.results.published.rows import Row
from tare.results.published.setup import setup_of

MIB = 2**20
SWAP_MIB = 2048
"""``--memory-swap 2048m`` of every container: memory and swap together."""


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Find statements that exclude each other."""
    setup = setup_of("cole2022")
    yield from two_values(setup, ["total size"])
    limits = {one.name: one.values for one in setup.experiment("sysbench cpu").limits}
    for memory in limits["memory_bytes"] or ():
        memory_mib = int(memory) // MIB
        if memory_mib > SWAP_MIB:
            yield Finding(
                Sort.CONTRADICTION,
                f"docker with {memory_mib} MiB",
                f"-m {memory_mib}m --memory-swap {SWAP_MIB}m: Docker refuses memory and swap "
                "together that are less than the memory.",
            )
    inside = {
        one.what: one.value for one in setup.conditions["software"] if "sysbench in" in one.what
    }
    if len(set(inside.values())) > 1:
        versions = ", ".join(f"{value} {what.partition(' ')[2]}" for what, value in inside.items())
        yield Finding(
            Sort.CONTRADICTION,
            "sysbench",
            f"one tool is to be compared on two platforms, but it is {versions}.",
        )
