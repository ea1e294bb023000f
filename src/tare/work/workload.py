"""The interface of a workload: command, metrics, parser, packages; and how workloads are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tare.core.model import Better, FileAccess, Metric, MetricRole, Sample, Scalar, Unit
from tare.core.named_modules import NamedModules
from tare.work import workloads
from tare.work.roles import OWN, Main, Role, Roles

SERVER, PORT, DATA_PORT = "{server.address}", "{server.port}", "{server.data_port}"
"""Placeholders for the address of the role ``server`` and for its two free ports."""

TOOL_DURATION = Metric("tool_duration", Unit.SECOND, Better.LOWER, MetricRole.TOOL_DURATION)
"""How long the tool reports that it worked; for workloads whose tools report it."""

MOST_POINTS = 100_000
"""How many points a course may have: a day of seconds, and more. A wrong clock makes any number."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a workload: its streams, and its wall time by the host's clock."""

    stdout: str
    stderr: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One of a workload's metrics over the time of a run, as the tool itself saw it.

    Each value is of the interval that ends at its time; times are in seconds since the tool began
    to measure, by its own clock, and grow. An interval in which the metric is not known has no
    value, and one that the run's end cut short is left out.
    """

    metric: Metric
    times_s: Sequence[float]
    values: Sequence[float]


class Measured(ABC):
    """What a scenario measures, with its parameters fixed: the fields of a frozen dataclass."""

    metrics: ClassVar[tuple[Metric, ...]]
    """What it measures; the first one is the primary metric, on which verdicts rest.

    What else their numbers are used for is said by a metric's role, never by its name."""

    packages: ClassVar[tuple[str, ...]] = ()
    """The Debian packages that the machine inside must have; of another component than main with
    its name before them, such as ``non-free/netperf``."""

    programs: ClassVar[tuple[str, ...]] = ()
    """Programs that Debian lacks and the userland builds: see tare.machines.userland.programs."""

    def tools(self) -> Sequence[str]:
        """Return the name of the programs whose versions have to agree: none, by default."""
        return ()

    def roles(self) -> Sequence[Role]:
        """Return the roles that run in addition to the command: none, by default."""
        return ()

    def all_packages(self) -> set[str]:
        """List its packages and those of its roles."""
        return {*self.packages, *(name for role in self.roles() for name in role.packages)}

    def all_programs(self) -> set[str]:
        """List its programs, of those that the userland builds, and those of its roles."""
        return {*self.programs, *(name for role in self.roles() for name in role.programs)}

    def expected_s(self) -> float:
        """Return how long one trial takes on a machine of today, for plans and deadlines."""
        return 1.0

    def makes(self) -> int:
        """Return how many instances of a stack's innermost layer a trial makes itself: none."""
        return 0

    def overcommits(self) -> bool:
        """Return whether its instances may have more memory together than the host has: no."""
        return False

    def uses_peer(self) -> bool:
        """Return whether anything of it runs at the peer: nothing, by default."""
        return False

    def outlasts_trials(self, *, at_peer: bool) -> bool:
        """Return whether a role stays up between trials, at the peer or in an instance."""
        del at_peer
        return False

    def file_access(self) -> FileAccess:
        """Return how the file I/O that it measures reaches the disks: by default it measures none.

        What bypasses the page cache is compared with the bytes that the host's disks moved.
        """
        return FileAccess.NONE

    def disk_bytes(self) -> int:
        """Return how much disk the files take that are prepared, or written in the run."""
        return 0


class Workload(Measured):
    """A program with its parameters fixed.

    A concrete workload is a frozen dataclass named Workload in a module of its own under
    tare/work/workloads. Its fields are its parameters, with units in their names; the module's name
    is its name. The methods are pure: they touch no file, no clock and no machine. Commands are run
    in an empty directory of the cell's own, which is kept from prepare to clean-up.
    """

    packages: ClassVar[tuple[str, ...]]

    spins: ClassVar[bool] = False
    """Whether what is at the peer uses a whole CPU however little there is to do."""

    recorded: ClassVar[Mapping[str, str]] = {}
    """Upstream versions of the packages whose real output the parser was tested on."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Build the command whose time is the trial's; its words may name roles (``roles``)."""

    def place(self) -> str:
        """Return where the command runs.

        OWN, PEER, or the name of a role whose machine it shares.
        """
        return OWN

    def all_roles(self) -> Roles:
        """Return the command together with its roles."""
        main = Main(self.place(), self.command(), tuple(self.warm_up() or ()))
        return Roles(main, tuple(self.roles()))

    def uses_peer(self) -> bool:
        """See Measured.uses_peer."""
        return self.all_roles().at_peer()

    def outlasts_trials(self, *, at_peer: bool) -> bool:
        """See Measured.outlasts_trials."""
        return self.all_roles().outlasts_trials(at_peer=at_peer)

    @abstractmethod
    def parse(self, output: Output) -> Iterator[Sample]:
        """Read the samples out of the output, or raise OutputNotUnderstood."""

    def courses(self, output: Output) -> Iterator[Course]:
        """Read what the output says of the metrics over the run's time: nothing, by default.

        Those that tell most come first. An output that ``parse`` understands may lack them: then
        raise OutputNotUnderstood; the trial stands, and its samples say why there is no course.
        """
        del output
        yield from ()

    def prepare(self) -> Sequence[str] | None:
        """Build the command that is run once per instance before the first trial, or None."""
        return None

    def before_trial(self) -> Sequence[str] | None:
        """Build the command that is run before each trial, outside its clock, or None."""
        return None

    def warm_up(self) -> Sequence[str] | None:
        """Build the command that is run before each trial once all roles are up, or None.

        It is run where the command is and outside of its clock, so that caches are warm by rule
        where a role is started anew for each trial. Its words may name roles.
        """
        return None

    def tools(self) -> Sequence[str]:
        """Return the name of the program of its command."""
        return (self.command()[0],)


_MODULES: NamedModules[Workload] = NamedModules("workload", workloads, "Workload")


def names() -> list[str]:
    """List every workload there is, without importing any; ``_name`` is no workload."""
    return _MODULES.names()


def kind(name: str) -> type[Workload]:
    """Find a workload's class by its name, or raise ConfigError."""
    return _MODULES.kind(name)


def load(name: str, **params: Scalar) -> Workload:
    """Make a workload from its name and parameters, or raise ConfigError."""
    return _MODULES.load(name, **params)
