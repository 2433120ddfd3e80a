"""Steps: what a plan unfolds into. Immutable, and each prints itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ioplan.core.memo import ByIdentity
from ioplan.language.bind.bind import Cell
from ioplan.language.plan import PrepareStep, Rounds, RunTemplate, Seek, ShareOf, Test
from ioplan.planner.run_id import canonical, digest, rule_text, set_fields
from ioplan.records.record import Preparation
from ioplan.workload import Workload

if TYPE_CHECKING:
    from ioplan.planner.seek.grid import Bounds
    from ioplan.planner.seek.search import Probe


class Prepare(Struct, frozen=True):
    """One step of a precondition."""

    test: Test
    state: Preparation
    step: PrepareStep
    position: int
    total: int

    def __str__(self) -> str:
        return f"{self.state.name}: {self.step.text}"


class Length(NamedTuple):
    """How long a run goes on; the first of the last three that is set ends it."""

    warmup_ns: int = 0
    run_ns: int | None = None
    limit_bytes: int | None = None
    passes: float | None = None


@ByIdentity
def length_fields(length: Length) -> list[str]:
    """What is set of a length, for digests."""
    return set_fields(**length._asdict())


class Probing(NamedTuple):
    """What a run of a seek is for. `seek` says what is sought as the plan writes it.

    The run ends when it is decided, not before `least_ns`. The one of number 0 stands
    for all of them: it is what was found.
    """

    seek: str
    phase: str
    number: int
    least_ns: int


class Needed(NamedTuple):
    """What a run needs to know before it can begin: what a test found in a cell.

    `digest` is of what that test does there, `cell` as that test writes it.
    """

    share: ShareOf
    cell: tuple[tuple[str, str], ...]
    digest: str


class PlannedEvent(NamedTuple):
    """A command of the lab, run at a moment between two since the first I/O."""

    name: str
    earliest_ns: int
    latest_ns: int

    def __str__(self) -> str:
        return f"{self.name} at {self.earliest_ns}..{self.latest_ns}"


class Run(Struct, frozen=True):
    """One run of one cell.

    `index` is its place among the runs and rests of the test, `context` a digest
    of what a cell does before it, empty where that is nothing. `every_ns` is set
    where the run goes on until it is steady, `cut_ns` where the power is cut between
    two moments since the first I/O. What it `needs` is assumed to be the most until it
    is known; then `planned_id` is the id that it had before.
    """

    test: Test
    cell: Cell
    template: RunTemplate
    index: int
    round: int
    iteration: int
    after: Preparation | None
    workload: Workload
    length: Length
    writes: bool
    context: str = ""
    every_ns: int | None = None
    cut_ns: tuple[int, int] | None = None
    events: tuple[PlannedEvent, ...] = ()
    probing: Probing | None = None
    needs: tuple[Needed, ...] = ()
    planned_id: str = ""

    @property
    def run_id(self) -> str:
        """A digest of what the run does; the same in every lab.

        Of a share of what is found it is what the plan says, not what is found.
        """
        if self.planned_id:
            return self.planned_id
        parts = [canonical(self.workload), *length_fields(self.length)]
        if self.after:
            parts.append(f"after={self.after.digest}")
        if self.context:
            parts.append(f"around={self.context}")
        if self._draws_anew:
            parts.append("drawn anew")
        if self.template.rule:
            rule = rule_text(self.template.rule)
            parts.append(f"until={rule} every={self.every_ns}")
        if self.cut_ns:
            parts.append(f"cut={self.cut_ns[0]}..{self.cut_ns[1]}")
        parts += [f"event={event}" for event in self.events]
        if self.probing:
            phase, least_ns = self.probing.phase, self.probing.least_ns
            parts.append(f"seek={self.probing.seek} {phase} least={least_ns}")
        parts += [f"of={needed.digest}" for needed in self.needs]
        return digest(*parts)

    @property
    def _draws_anew(self) -> bool:
        """Whether it does something else now than a run by passes once did."""
        by_passes = self.length.passes is not None and not self.template.rule
        streams = self.workload.streams if by_passes else ()
        return any(one.can_permute and not one.permuted for one in streams)

    @property
    def cell_text(self) -> dict[str, str]:
        """The cell as the plan writes it."""
        return {name: value.text for name, value in self.cell.items()}

    def __str__(self) -> str:
        cell = [f"{n}={v}" for n, v in self.cell_text.items()]
        named = [self.template.name] if self.template.name else []
        return " ".join([*cell, *named]) or self.template.text


class Idle(Struct, frozen=True):
    """A rest inside a test."""

    test: Test
    cell: Cell
    pause_ns: int
    text: str

    def __str__(self) -> str:
        return self.text


class RoundsOf(Struct, frozen=True):
    """The matrix of a test, repeated until steady.

    `round(n, without)` unfolds the round of that number, from 1, without the cells of
    these keys, as often as it is asked.
    """

    test: Test
    rounds: Rounds
    round: Callable[..., Iterator[Prepare | Run | Idle]]

    def __str__(self) -> str:
        return self.rounds.text


class SeekOf(Struct, frozen=True):
    """The runs of one cell that seek one value of an axis.

    `probe` unfolds what is done for one probe. `finding` is the run that stands for
    what was found, whatever that is: its cell lacks the sought axis.
    """

    test: Test
    seek: Seek
    cell: Cell
    bounds: Bounds
    probe: Callable[[Probe], Iterator[Prepare | Run]]
    finding: Run

    def __str__(self) -> str:
        cell = " ".join(f"{name}={value.text}" for name, value in self.cell.items())
        return f"{cell}: {self.seek.text}" if cell else self.seek.text


Step = Prepare | Run | Idle | RoundsOf | SeekOf
SingleStep = Prepare | Run | Idle
