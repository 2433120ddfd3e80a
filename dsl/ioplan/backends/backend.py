"""The members of a backend, its targets and its runs, and how a backend is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.model import Model
from ioplan.core.text import did_you_mean
from ioplan.core.version import entry_value, listed_entries
from ioplan.job import Event, Job
from ioplan.target_entry import LabTarget

GROUP = "ioplan.backends"
DEFAULTS = ("io_uring", "fio")
"""Without `--backend` and without one of the lab, the first that runs here."""

ProgressCallback = Callable[[float], None]
"""Called with the fraction of a long operation that is done, from 0 to 1."""


def ignore_progress(fraction: float) -> None:
    """For callers that show no progress."""


class BackendError(ExplainedError):
    """A backend cannot do what is asked; the text says what and what to do."""

    kind = CommandFault.BACKEND


class Availability(Model):
    """Whether a backend can run here, and if not, why and what to do."""

    usable: bool
    version: str = ""
    reason: str = ""


class TargetRequest(Model):
    """What the user said of the target, before any backend has looked at it.

    `cannot_see_users` permits writing where other users of the target may be invisible;
    `options` are the backend's own, from the lab or from `--option NAME=VALUE`;
    `folder` is the session's, for what a backend keeps beside the record; `entry`
    is the lab's word on the target, where it has one, and `lab` the lab's file.
    Hosts that use one target `together` say the id of their session, and the
    `participant_program` that each runs; one of them `leads`, and has opened it first.
    """

    path: str | None = None
    create_bytes: int | None = None
    overwrite: tuple[str, ...] = ()
    overwrite_data: tuple[str, ...] = ()
    cannot_see_users: bool = False
    writes: bool = False
    options: dict[str, Any] = {}
    folder: str | None = None
    entry: LabTarget | None = None
    lab: str | None = None
    together: str = ""
    participant_program: str = ""
    leads: bool = True


class TargetFacts(Model):
    """What a target is. `identity` is what names it beyond its path.

    `evidence` is why it was free to write; empty where it is only read.
    """

    path: str
    kind: str
    capacity_bytes: int
    block_bytes: int
    identity: dict[str, str] = {}
    evidence: str = ""


class JoinedFacts(TargetFacts):
    """Several targets of one run, by name; the capacity is that of the smallest."""

    members: dict[str, TargetFacts]


class Gap(Model):
    """Something in a job that a backend cannot do exactly.

    `stream` and `field` name the place in the workload, in the language's words:
    those of `ioplan.language.clause_table.SLOTS`, or `streams for warmup passes`.
    `reason` says what is missing, `instead` what would be done in its place; where
    that is empty, nothing can be. `edit` is the clause, or the option, that would make
    it exact, where there is one. A `mild` gap is one that most people would take as it
    is: it is told, with its size, and stops nothing.
    """

    stream: str
    field: str
    reason: str
    instead: str = ""
    edit: str = ""
    mild: bool = False


class Execution(Protocol):
    """A run under way. Iterating ends after Result or Failure.

    Events are taken in a thread, one at a time; `stop` and `kill` are called from
    another one meanwhile. Failed I/Os are counted as errors, and the runner ends
    the run at the first; a Result may tell of it in `facts` as `first_error`, with
    `errno`, its `name`, `direction`, `offset` and `bytes`.

    One that computes its events and waits for nothing has `never_waits = True`: it
    needs no thread, and cannot be given up.
    """

    def __iter__(self) -> Iterator[Event]: ...

    def stop(self) -> None:
        """End the I/O at once; the Result of what was done still comes."""

    def kill(self) -> None:
        """End it by force, and without waiting: `stop` was of no use."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no I/O behind, whatever happened, but what nothing can end.

        What survives SIGKILL hangs in the kernel: it is not waited for for ever.
        """


class Drive(Protocol):
    """An open target."""

    facts: TargetFacts

    def start(self, job: Job) -> Execution:
        """Begin a run."""

    def purge(self, on_progress: ProgressCallback = ignore_progress, /) -> str:
        """Make the target as new; returns how it was done. Raises BackendError.

        `on_progress` is called with the fraction done, where that is known.
        """

    def idle(self, pause_ns: int) -> None:
        """Let the target rest."""

    def close(self) -> None:
        """Give the target back."""


@runtime_checkable
class StampingDrive(Protocol):
    """A drive whose runs remember what was written with `verify`, across sessions.

    Before each run `stamps` is set to the path of a file for it, or to None where the
    run does not verify. The Result of such a run tells what was found in the fact
    `verify`: see `ioplan.runner.execute.io_errors`.
    """

    stamps: Path | None


@runtime_checkable
class WatchedDrive(Protocol):
    """A drive that other programs of this host may begin to use meanwhile."""

    def check_use(self) -> None:
        """Called before each run and at its end; raises TargetError to end the session.

        What the backend itself has started is no other program.
        """


@runtime_checkable
class OpeningDrive(Protocol):
    """A drive that tells other programs' openings of its target from its own."""

    def ignore_openings(self) -> None:
        """Called once a run has started: it has opened the target, and others have
        not."""


@runtime_checkable
class JoiningBackend(Protocol):
    """A backend that has several targets in one run.

    A job then has `targets`, and its streams `target_numbers`: each of them has the
    whole stream, or with `over_all` they take its I/Os in turn. Its Result tells the
    fact `targets`: the streams' counts by the names of the targets.
    """

    def joined(self, drives: Mapping[str, Any]) -> Drive:
        """What it has opened, as one drive that has JoinedFacts and closes them."""


@runtime_checkable
class AddressingBackend(Protocol):
    """A backend with targets that only it knows, such as `malloc:64MiB`."""

    def addressed(self, path: str, options: dict[str, Any]) -> TargetFacts | None:
        """What an address alone says of its target, for a plan; nothing is opened.

        None for what the kernel has: a file, a device. `capacity_bytes` is 0 where
        only the target knows. Raises BackendError for an address that is wrong.
        """


@runtime_checkable
class ChoosingBackend(Protocol):
    """A backend that has several programs, and chooses one for each run."""

    def done_by(self, job: Job, options: dict[str, Any]) -> str:
        """Which program does a job, and why that one, for people to read."""


@runtime_checkable
class Backend(Protocol):
    """What an entry point of the group gives, or makes when called.

    One that can begin runs at a given time, as hosts that do one together must, has
    `synchronised = True`. Its executions then have a method `go(at_ns)`: a job that
    is to `await_start` gives Started once all is ready, and does no I/O before that
    time of CLOCK_REALTIME. Its Result says when it did, as the fact `started_ns`.

    One that does its I/O on the CPUs that a job names has `takes_cpus = True`; ioplan
    itself then keeps off them. It tells the ones in use as the fact `cpus`.

    One whose Results have the `gap_ns` of each stream has `measures_gaps = True`; of
    another one it is told before a run that what asks for `gap` will have no figure.
    One that counts the direction `commit` has `measures_commits = True`; another one is
    refused where a commit is expected or sought.

    `speaks` are the words that it knows, checked by `ioplan.language.spoken.speaking`.
    What a job asks for and is not among them is refused before the backend sees it.
    """

    name: str
    virtual_time: bool
    speaks: frozenset[str]

    def availability(self, options: dict[str, Any]) -> Availability:
        """Whether it can run on this machine, with these options."""

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """What it cannot express exactly of a job; pure, it looks at nothing else."""

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """What the backend's own program would be told, for people to read."""

    def open(self, request: TargetRequest) -> Drive:
        """Open a target. Raises runner.guard.target.TargetError or BackendError."""


MEMBERS = ("name", "virtual_time", "speaks", "availability", "gaps", "native", "open")


def names() -> list[str]:
    """The names of all installed backends."""
    return sorted(entry.name for entry in listed_entries(GROUP))


def find(name: str) -> Backend:
    """The backend of that name. Raises BackendError with the names there are."""
    if value := entry_value(GROUP, name):
        return _load(name, lambda: _attribute(value))
    for entry in listed_entries(GROUP).select(name=name):
        return _load(name, entry.load)
    raise BackendError(
        f"there is no backend {name!r}{did_you_mean(name, names())}; "
        f"installed are: {', '.join(names()) or 'none'}"
    )


def default_backend(named: str = "") -> str:
    """The lab's, else the first of DEFAULTS that runs here, else the first of them."""
    here = (name for name in DEFAULTS if find(name).availability({}).usable)
    return named or next(here, DEFAULTS[0])


def _attribute(value: str) -> Any:
    """What an entry point's `module:attribute` stands for."""
    module, _, path = value.partition(":")
    found: Any = import_module(module.strip())
    for name in path.split(".") if path else ():
        found = getattr(found, name.strip())
    return found


def _load(name: str, load: Any) -> Backend:
    try:
        backend = load()
        backend = backend() if isinstance(backend, type) else backend
    except Exception as error:  # a stranger's code: anything may come
        raise BackendError(f"the backend {name!r} does not load: {error}") from error
    if not isinstance(backend, Backend):
        lacks = ", ".join(one for one in MEMBERS if not hasattr(backend, one))
        raise BackendError(
            f"the backend {name!r} lacks {lacks}; see ioplan.backends.Backend"
        )
    return backend
