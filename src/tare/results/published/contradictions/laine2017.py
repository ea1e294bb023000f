"""What laine2017 says twice and differently, besides numbers that its text repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.results.published.finding import Finding, Sort
from tare.results.published.rows import Row
from tare.results.published.setup import setup_of

PRINTED_BLOCK_BYTES = 16_000_000
"""The block of dd as the text has it: "16000 kB"."""


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Find that the block of dd cannot be the printed one."""
    given = setup_of("laine2017").experiment("dd disk").values
    size, block = (float(given[name][0]) for name in ("size_bytes", "block_bytes"))
    blocks = size / block
    yield Finding(
        Sort.CONTRADICTION,
        "dd disk",
        f"its text has blocks of {PRINTED_BLOCK_BYTES / 1000:.0f} kB, {blocks:,.0f} of which are "
        f"{PRINTED_BLOCK_BYTES * blocks / 1e12:.1f} TB; it gives {size / 1e9:.1f} GB, which are "
        f"blocks of {block / 1024:.0f} KiB.",
    )
