"""compile: the Apache HTTP server 2.4 is built from source: configure, make, make install.

The benchmark of huang2019's study of scalability, which builds a tree of its own in each instance,
takes the time of the three together and prints no ``-j``: a serial make. The source is the release
that Debian 12 packages, with its defaults; the libraries that it needs (APR, PCRE2, Expat, zlib)
are Debian's. All is in the userland, so that nothing is fetched.

Compilers, shells and small files: hundreds of short processes a second in configure, the CPU in
make, copies in install. Where many build at once, the file system and memory are shared too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, number, numeral
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import at_least, at_most, one_of

ELAPSED = Metric("elapsed", Unit.SECOND, Better.LOWER)
PHASES: Mapping[str, Metric] = {
    name: Metric(name, Unit.SECOND, Better.LOWER) for name in ("configure", "make", "install")
}
CPU = Metric("cpu", Unit.SECOND, Better.LOWER)
SPREAD = Metric("spread", Unit.SECOND, Better.LOWER)

Modules = Literal["most", "few", "none"]
WORK_S: Mapping[str, tuple[float, float]] = {
    "most": (40.0, 12.0),
    "few": (18.0, 9.0),
    "none": (11.0, 7.0),
}
"""Seconds of one CPU in make and in install, by the modules that are built."""

VERSION = "2.4.68"
SOURCE = f"/usr/src/apache2_{VERSION}.orig.tar.gz"
BUILD_BYTES = 110_000_000
"""What a build takes of the disk: its source, objects and tree."""
MOST_BUILDS = 128
ROUNDING_S = 0.002
"""Three phases and their sum, each printed to a millisecond, half of which may be lost."""

UNPACK = """
rm -rf build-*
for k in $(seq "$1"); do
    mkdir "build-$k" && tar -xzf "$0" -C "build-$k" --strip-components=1 || exit
done
"""
# bash, for its ``time``. A phase that fails ends the build, and its last words are printed.
SCRIPT = """
export LC_ALL=C
builds=$0 jobs=$1 modules=$2
phase() {
    local TIMEFORMAT="$1 %3R %3U %3S"
    time "${@:2}" >"phase.$1" 2>&1 || { tail -n 20 "phase.$1" >failed; return 1; }
}
phases() {
    phase configure ./configure --prefix="$PWD/tree" ${modules:+--enable-modules="$modules"} &&
    phase make make -j "$jobs" &&
    phase install make install
}
build() {
    local TIMEFORMAT='whole %3R %3U %3S'
    cd "build-$1" && { time phases; } 2>times
}
all() {
    local k failed=0 running=()
    for ((k = 1; k <= builds; k++)); do build "$k" & running+=($!); done
    for k in "${running[@]}"; do wait "$k" || failed=1; done
    return $failed
}
TIMEFORMAT='all %3R'
{ time all; } 2>all || { cat build-*/failed >&2; exit 1; }
for ((k = 1; k <= builds; k++)); do
    echo "build $k" && cat "build-$k/times" && "build-$k/tree/bin/httpd" -v || exit
done
cat all
echo "built $builds"
"""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Build the server with ``jobs`` at once in each of ``builds`` trees that begin together.

    huang2019 has one job, and up to 128 builds at once in one instance (its *threads*), or one
    build in each of up to 128 instances. ``elapsed`` is the mean of the builds, ``spread`` the
    slowest less the fastest, which a single build has not. ``modules`` is httpd's own choice of
    those to build: most is its default and the study's, few and none are shorter builds of Tare's.
    The source is unpacked before a trial's clock begins, and whatever the trial before left is
    removed.
    """

    jobs: int = 1
    builds: int = 1
    modules: Modules = "most"

    metrics = (ELAPSED, *PHASES.values(), CPU, SPREAD, TOOL_DURATION)
    packages = (
        *("bash", "gcc", "libc6-dev", "make"),
        *("libapr1-dev", "libaprutil1-dev", "libpcre2-dev", "libexpat1-dev", "zlib1g-dev"),
    )
    programs = ("httpd-source",)
    recorded: ClassVar[Mapping[str, str]] = {"httpd-source": VERSION}

    def __post_init__(self) -> None:
        at_least(self, jobs=1, builds=1)
        at_most(self, builds=MOST_BUILDS)
        one_of(self, modules=Modules)

    def before_trial(self) -> Sequence[str]:
        """See Workload.before_trial."""
        return ["sh", "-c", UNPACK, SOURCE, str(self.builds)]

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        chosen = "" if self.modules == "most" else self.modules
        return ["bash", "-c", SCRIPT, str(self.builds), str(self.jobs), chosen]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        if number(r"^built (\d+)\n\Z", text) != self.builds:
            raise OutputNotUnderstood(f"end of {self.builds} builds", text)
        if text.count("\nbuild ") + text.startswith("build ") != self.builds:
            raise OutputNotUnderstood(f"report of each of {self.builds} builds", text)
        all_s = number(r"^all (\d+\.\d{3})\n", text)
        builds = [_build(text, place, all_s) for place in range(1, self.builds + 1)]
        wholes = [one["whole"] for one in builds]
        # They are started one after the other, each within the time of a thread that waits.
        if all_s - max(wholes) > CLOCKS_S * self.builds:
            raise OutputNotUnderstood("time of all that agrees with the slowest build", text)
        yield Sample(ELAPSED, fmean(wholes))
        for name, metric in PHASES.items():
            yield Sample(metric, fmean(one[name] for one in builds))
        yield Sample(CPU, fmean(one["cpu"] for one in builds))
        if self.builds > 1:
            yield Sample(SPREAD, max(wholes) - min(wholes))
        yield Sample(TOOL_DURATION, all_s)

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.CACHED

    def expected_s(self) -> float:
        """See Workload.expected_s; one CPU may have to build all."""
        configure_s, (make_s, install_s) = 5.0, WORK_S[self.modules]
        return self.builds * (configure_s + make_s + install_s)

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes; nothing is prepared, the source is unpacked anew each time."""
        return BUILD_BYTES * self.builds


def _build(text: str, place: int, all_s: float) -> dict[str, float]:
    """Read the times of one build: of each phase, of all three, and their CPU time."""
    times = "".join(rf"{name} (\S+) (\S+) (\S+)\n" for name in (*PHASES, "whole"))
    wanted = f"build {place} of httpd {VERSION} with the times of its phases"
    found = re.search(
        rf"^build {place}\n{times}Server version: Apache/{re.escape(VERSION)} \(Unix\)\n",
        text,
        re.MULTILINE,
    )
    if found is None:
        raise OutputNotUnderstood(wanted, text)
    values = [numeral(one, wanted, text) for one in found.groups()]
    real_s = dict(zip((*PHASES, "whole"), values[::3], strict=True))
    if min(real_s.values()) <= 0:
        raise OutputNotUnderstood(f"times above 0 of build {place}", text)
    # The phases follow each other in one shell.
    left_s = real_s["whole"] - sum(real_s[name] for name in PHASES)
    if not -ROUNDING_S <= left_s <= CLOCKS_S:
        raise OutputNotUnderstood(f"phases of build {place} that agree with its time", text)
    if real_s["whole"] > all_s + CLOCKS_S:
        raise OutputNotUnderstood(f"time of build {place} that agrees with that of all", text)
    return real_s | {"cpu": values[-2] + values[-1]}
