"""LINPACK: solves a dense system of equations by LU factorization; the speed of floating point.

Defined by Dongarra, Luszczek and Petitet, "The LINPACK Benchmark: past, present and future" (2003):
2/3 n^3 + 2 n^2 operations whatever the library really does, valid only with a small residual. It
is LAPACK's dgesv of OpenBLAS, driven by linpack.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import _native, at_least, of_form

FLOPS = Metric("flops", Unit.PER_SECOND, Better.HIGHER)
RESIDUAL = Metric("residual", Unit.RATIO, Better.LOWER)

MOST_RESIDUAL = 16
"""HPL's threshold: above it the system was not solved."""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Solve a system of ``size`` equations as often as ``time_s`` seconds of solving take.

    hpe2016 used 39,000 and 79,000 equations, huang2019 gives no number; the memory taken is 16
    bytes times the square of it. ``core`` is the kernel of OpenBLAS, which would else be chosen by
    the CPU that a guest pretends to have: stacks would compare kernels. "Haswell" needs AVX2; an
    empty word takes what is found.
    """

    size: int = 4000
    threads: int = 1
    time_s: float = 10
    core: str = "Haswell"

    metrics = (FLOPS, RESIDUAL, TOOL_DURATION)
    packages = (*_native.PACKAGES, "libopenblas-pthread-dev")
    recorded = {"libopenblas-pthread-dev": "0.3.21+ds"}

    def __post_init__(self) -> None:
        at_least(self, size=10, threads=1)
        of_form(self, "core", r"\w*", "a name of OpenBLAS's, such as Haswell or SkylakeX")
        if self.time_s < 0.1:
            raise ValueError(f"time_s: {self.time_s} was given; expected 0.1 or more")

    def prepare(self) -> Sequence[str]:
        """See Workload.prepare."""
        return _native.compiling("linpack", "-O2", "-lopenblas", "-lm")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        kernel = [f"OPENBLAS_CORETYPE={self.core}"] if self.core else []
        threads = f"OPENBLAS_NUM_THREADS={self.threads}"
        return ["env", threads, *kernel, "./linpack", str(self.size), str(self.time_s)]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        # OpenBLAS takes fewer threads than asked for where there are fewer CPUs, and another core
        # where it does not know the one asked for; it says neither on its own.
        core = {"core": self.core} if self.core else {}
        found = _native.report(output, size=self.size, threads=self.threads, **core)
        seconds, flops, residual, total_s = (
            found.number(key) for key in ("solve_s", "flops", "residual", "total_s")
        )
        flop = (2 / 3 * self.size**3 + 2 * self.size**2) * found.count("solves")
        counts = (found.number("flop"), flops * seconds)
        # The program reads one clock, and prints it to nanoseconds.
        is_whole = self.time_s <= seconds <= total_s
        if not is_whole or not all(isclose(flop, count, rel_tol=1e-6) for count in counts):
            wanted = f"operations that agree with rate and {self.time_s:g} s"
            raise OutputNotUnderstood(wanted, output.stdout)
        if not residual < MOST_RESIDUAL:
            raise OutputNotUnderstood(f"residual below {MOST_RESIDUAL}", output.stdout)
        yield Sample(FLOPS, flops)
        yield Sample(RESIDUAL, residual)
        yield Sample(TOOL_DURATION, total_s)

    def expected_s(self) -> float:
        """See Workload.expected_s; the last solve may begin just before the end."""
        slow_flops = 1e10 * self.threads
        return 1.0 + self.time_s + self.size**3 / slow_flops
