"""disk: reads and writes blocks at random with many threads, past the page cache.

After the ``fio_bomb`` with which huang2019 replaced that of the Isolation Benchmark Suite: 20
threads, half of the requests read and half write, blocks of 32 KiB, psync, O_DIRECT. Defined by
fio 3.33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tare.core.model import Resource, Source
from tare.work.roles import Role
from tare.work.stressor import Bounds, StressedResource
from tare.work.stressors._rates import Rated
from tare.work.stressors._readiness import stresses
from tare.work.workloads import at_least

MIB = 2**20
SECTOR_BYTES = 512
ENDLESS = "1000d"
"""fio has no word for a time without end."""
LAYING_S = 600.0
MAIN_BYTES, THREAD_BYTES = 128 * MIB, MIB
# Without a seed every start would ask for the same blocks. fio's own (--randrepeat=0) is read from
# /dev/urandom, which on gVisor may return fewer bytes than it is asked for: fio then ends.
SEEDED = 'exec "$0" "$@" "--randseed=$(date +%s)"'


@dataclass(frozen=True, kw_only=True)
class Stressor(Rated):
    """Let each worker have ``threads`` that read and write, each a file of its own.

    The files' size, which the study does not give, is Tare's: a device's own cache may hold
    ``threads`` times ``file_bytes``. They are laid before it is ready and are removed with its
    directory. Below full, reads and writes are each held to half of the rate.
    """

    threads: int = 20
    block_bytes: int = 32 * 2**10
    file_bytes: int = 16 * MIB

    resource = StressedResource.DISK
    packages = ("fio",)
    recorded = (("fio", "3.33"),)
    readings: ClassVar[tuple[Resource, ...]] = tuple(
        Resource(source, kind)
        for source in (Source.LAYER, Source.HOST)
        for kind in ("disk_read_bytes", "disk_written_bytes")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, threads=1, block_bytes=SECTOR_BYTES, file_bytes=self.block_bytes)
        if self.block_bytes % SECTOR_BYTES:
            raise ValueError(
                f"block_bytes: {self.block_bytes} was given; expected a multiple of {SECTOR_BYTES}"
            )

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles."""
        jobs = self.threads * self.workers
        files = ["fio", "--name=bomb", f"--size={self.file_bytes}", f"--numjobs={jobs}"]
        # Files that are written out: the first writes to reserved blocks would pay for allocating.
        setup = [*files, "--thread", "--rw=read", "--create_only=1"]
        how = ["--rw=randrw", "--rwmixread=50", f"--bs={self.block_bytes}", "--direct=1"]
        how += ["--ioengine=psync", "--thread", "--time_based", f"--runtime={ENDLESS}"]
        # Missing files are an error.
        how += ["--norandommap", "--overwrite=1", "--allow_file_create=0"]
        each = self.rate(2 * self.threads)
        how += [f"--rate={each},{each}"] if each is not None else []
        # Of endless work no history of latencies is kept.
        quiet = ["--eta=never", "--disable_lat=1", "--disable_clat=1", "--disable_slat=1"]
        ready = stresses(moved_bytes=self.block_bytes * self._first_blocks)
        return (
            Role(
                name=name,
                command=["sh", "-c", SEEDED, *files, *how, *quiet, "--group_reporting"],
                place=place,
                packages=self.packages,
                setup=setup,
                ready=ready,
                ready_s=LAYING_S,
            ),
        )

    def bounds(self) -> Bounds:
        """See Stressor.bounds; fio has a thread for each job and up to four of its own."""
        jobs = self.threads * self.workers
        return Bounds(
            memory_bytes=MAIN_BYTES + jobs * (THREAD_BYTES + self.block_bytes),
            processes=4 + jobs,
            disk_bytes=self.file_bytes * jobs,
        )

    @property
    def _first_blocks(self) -> int:
        """How many blocks must have been moved: one by each thread, unless they are held back."""
        return 2 if self.level < 1 else self.threads * self.workers
