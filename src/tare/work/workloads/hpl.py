"""HPL, the High-Performance Linpack, inside the HPC Challenge suite of Debian (hpcc).

Defined by Petitet, Whaley, Dongarra and Cleary, "HPL 2.0": LU factorization of a system of
equations by MPI processes in a grid, 2/3 n^3 + 3/2 n^2 operations, valid only if the residual
passes. hpcc always runs its whole suite (STREAM, RandomAccess, FFT, PTRANS, ...), which takes
several times as long as HPL: only HPL's own time counts here, and the trial's duration says little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import number
from tare.work.workloads import at_least, of_form

FLOPS = Metric("flops", Unit.PER_SECOND, Better.HIGHER)
RESIDUAL = Metric("residual", Unit.RATIO, Better.LOWER)
HPL_DURATION = Metric("hpl_duration", Unit.SECOND, Better.LOWER)

# The suite's own example (_hpccinf.txt) but for the size, the block and the grid.
INPUT = """\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{size} Ns
1            # of NBs
{block} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows} Ps
{columns} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0                               Number of additional problem sizes for PTRANS
1200 10000 30000                values of N
0                               number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64        values of NB
"""
# hpcc appends to an output file that is there.
SCRIPT = """
printf %s "$0" > hpccinf.txt && rm -f hpccoutf.txt && "$@" 2>&1 && cat hpccoutf.txt
"""
# Processes may share CPUs, and root is all there is. Docker's filter forbids one process to read
# another's memory, which the others would do: all of them copy through shared memory.
MPIRUN = (
    *("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
    *("--mca", "btl_vader_single_copy_mechanism", "none"),
)


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Solve one system of ``size`` equations in blocks of ``block`` on ``rows`` x ``columns``.

    hpe2016 used 39,000 and 79,000 equations, huang2019 gives no number. A process is one thread.
    ``core`` is the kernel of OpenBLAS, as in the workload linpack; an empty word takes any.
    """

    size: int = 4000
    block: int = 128
    rows: int = 1
    columns: int = 1
    core: str = "Haswell"

    metrics = (FLOPS, RESIDUAL, HPL_DURATION)
    # hpcc would take any BLAS; Debian's order of preference puts this one first.
    packages = ("hpcc", "libopenblas0-pthread")
    recorded = {"hpcc": "1.5.0", "libopenblas0-pthread": "0.3.21+ds"}

    def __post_init__(self) -> None:
        at_least(self, size=100, block=1, rows=1, columns=1)
        of_form(self, "core", r"\w*", "a name of OpenBLAS's, such as Haswell or SkylakeX")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        grid = {"rows": self.rows, "columns": self.columns}
        text = INPUT.format(size=self.size, block=self.block, **grid)
        kernel = [f"OPENBLAS_CORETYPE={self.core}"] if self.core else []
        settings = ["env", "OPENBLAS_NUM_THREADS=1", "OPENBLAS_VERBOSE=2", *kernel]
        ranks = self.rows * self.columns
        start = [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []
        return ["sh", "-c", SCRIPT, text, *settings, *start, "hpcc"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        if "\nEnd of HPC Challenge tests." not in text:
            raise OutputNotUnderstood("end of the suite's report", text)
        # What OpenBLAS prints of itself stands before the suite's report.
        cores = set(re.findall(r"^Core: (\w+)$", text, re.MULTILINE))
        if len(cores) != 1 or (self.core and cores != {self.core}):
            raise OutputNotUnderstood(f"core that agrees with {self.core or 'any one'}", text)
        residual = number(r"^\|\|Ax-b\|\|_oo/\(eps\S+ +([\d.e+-]+) \.+ PASSED$", text)
        if not number(r"^Success=(\d)$", text):
            raise OutputNotUnderstood("success of the whole suite", text)
        shape = rf"{self.size} +{self.block} +{self.rows} +{self.columns}"
        rate = 1e9 * number(rf"^W\w+ +{shape} +[\d.]+ +([\d.e+-]+)$", text)
        # The table's rate has four digits, the summary's six.
        flops = 1e12 * number(r"^HPL_Tflops=([\d.e+-]+)$", text)
        seconds = number(r"^HPL_time=([\d.e+-]+)$", text)
        flop = 2 / 3 * self.size**3 + 3 / 2 * self.size**2
        agrees = isclose(flop, flops * seconds, rel_tol=1e-4)
        # One clock; there is no run so short that its digits would say less.
        if not agrees or not isclose(rate, flops, rel_tol=1e-3):
            raise OutputNotUnderstood("operations that agree with rate and time", text)
        yield Sample(FLOPS, flops)
        yield Sample(RESIDUAL, residual)
        yield Sample(HPL_DURATION, seconds)

    def expected_s(self) -> float:
        """See Workload.expected_s; it is the suite's time, mostly."""
        slow_flops, slow_cells_per_s = 1e10, 1e6
        return 2.0 + self.size**3 / slow_flops + self.size**2 / slow_cells_per_s
