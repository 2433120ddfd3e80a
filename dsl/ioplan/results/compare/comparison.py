"""What came out of a comparison: a row for each metric of each pair of cells."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.records.session import Session

RowVerdict = Literal["better", "worse", "suspected", "equal", "undecided", "ratio"]
"""`ratio`: of two drives, whose noise nothing tells; the ratio stands by itself."""
VERDICTS: tuple[RowVerdict, ...] = (
    *("worse", "better", "suspected"),
    *("equal", "undecided", "ratio"),
)
OTHERWISE = "measured otherwise, which is no verdict on the drive"
RARE: tuple[RowVerdict, ...] = ("suspected", "ratio")
"""Counted where there are any."""


class Judged(Model):
    """What is said of one metric, of one cell or of all of them."""

    metric: str
    verdict: RowVerdict
    why: str = Field(
        description="why it is undecided, or worse without a figure", default=""
    )
    ratio: float | None = Field(description="new / base", default=None)
    low: float | None = Field(description="95 % interval of the ratio", default=None)
    high: float | None = None
    chance: float | None = Field(
        description="of a ratio as far off by noise alone, adjusted for all that is "
        "tested; worse "
        "and better are called below 5 %",
        default=None,
    )
    noise_percent: float | None = Field(
        description="of one session to the next", default=None
    )
    sessions_needed: int | None = Field(
        description="a side, alternating, to decide what is undecided, were the true "
        "ratio this "
        "one; none if it is decided, or more than 50",
        default=None,
    )


class Row(Judged):
    """One metric of one pair of cells."""

    test: str
    step: str = Field(
        description="the name of the step, of one that has a name", default=""
    )
    cell: dict[str, str]
    unit: str
    base: float | None = Field(description="geometric mean of the base's sessions")
    new: float | None
    base_runs: int
    new_runs: int
    base_sessions: int = Field(
        description="that count: a stretch of one side counts as one"
    )
    new_sessions: int
    remarks: tuple[str, ...] = ()


class AllCells(Judged):
    """One metric over all pairs of cells: the geometric mean of their ratios."""

    cells: int
    same_way: int = Field(description="cells that are off to the same side as the mean")
    smallest: float = Field(description="ratio of a cell")
    largest: float


class NoiseSummary(Model):
    """What a metric differs by of itself, as standard deviations; the median cell."""

    metric: str
    run_percent: float | None = Field(
        description="of one run to the next, within a session"
    )
    session_percent: float | None = Field(
        description="of one session's figure to the next; none if nothing tells it"
    )
    shared_percent: float | None = Field(
        description="the part that all cells have in common"
    )
    drive_percent: float | None = Field(
        description="of one drive to the next of its model"
    )
    source: str = Field(description="where it was learned from")


class SideSummary(Model):
    """One side in a few words."""

    sessions: tuple[str, ...]
    plan: str
    target: str
    backend: str
    ioplan: str
    drives: tuple[str, ...] = ()
    finished: bool = Field(description="whether each has run all of it", default=True)


class Comparison(Model):
    """All of it."""

    base: SideSummary
    new: SideSummary
    subject: Literal["change", "drives"] = Field(
        description="`drives` where the sides have no drive in common", default="change"
    )
    threshold_percent: float
    differences: tuple[str, ...] = Field(
        description="of how it was measured: backend, mode, kernel, profile", default=()
    )
    all_cells: tuple[AllCells, ...] = ()
    rows: tuple[Row, ...]
    noise: tuple[NoiseSummary, ...] = ()
    learned_from: tuple[str, ...] = Field(
        description="the sessions that noise was learned from", default=()
    )
    only_base: tuple[str, ...] = Field(description="cells that NEW has not")
    only_new: tuple[str, ...] = Field(description="cells that BASE has not")
    neither: tuple[str, ...] = Field(
        description="cells that both were to measure, and have not", default=()
    )

    def count(self, word: RowVerdict) -> int:
        """How many rows have that verdict."""
        return sum(row.verdict == word for row in self.rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """What was to be compared and was not: cells that NEW has not, or an
        unfinished BASE. A cell that is new in the plan of NEW is not missing."""
        base = () if self.base.finished else self.only_new
        return (
            *(f"NEW has not measured {cell}" for cell in self.only_base),
            *(f"BASE has not measured {cell}" for cell in base),
            *(f"BASE and NEW have not measured {cell}" for cell in self.neither),
        )

    @property
    def is_judged(self) -> bool:
        """Whether any cell was measured alike on both sides."""
        return any(row.why != OTHERWISE for row in self.rows)

    @property
    def anything_worse(self) -> bool:
        """In a cell, or over all of them."""
        return any(one.verdict == "worse" for one in (*self.rows, *self.all_cells))


def side_summary(
    sessions: tuple[Session, ...], drives: tuple[str, ...] = ()
) -> SideSummary:
    """The side of these sessions; what differs between them is listed."""

    def all_of(texts: list[str]) -> str:
        return ", ".join(dict.fromkeys(texts))

    return SideSummary(
        sessions=tuple(session.id for session in sessions),
        plan=all_of([session.plan for session in sessions]),
        target=all_of([session.target for session in sessions]),
        backend=all_of([session.backend for session in sessions]),
        ioplan=all_of([session.ioplan for session in sessions]),
        drives=drives,
        finished=all(session.status == "ok" for session in sessions),
    )
