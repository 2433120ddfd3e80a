"""The result of a comparison: a row for every metric of every pair of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.records.session import Session
from ioplan.results.compare.decision import OTHER_METHOD

RowVerdict = Literal["better", "worse", "suspected", "equal", "inconclusive", "ratio"]
"""`ratio`: of two drives with unknown noise; the ratio stands by itself."""
VERDICTS: tuple[RowVerdict, ...] = (
    *("worse", "better", "suspected"),
    *("equal", "inconclusive", "ratio"),
)


class JudgedMetric(Model):
    """The verdict on one metric, of one cell or of all of them."""

    metric: str
    verdict: RowVerdict
    why: str = Field("", description="why it is inconclusive, or has no figure")
    ratio: float | None = Field(None, description="new / base")
    low: float | None = Field(None, description="95 % interval of the ratio")
    high: float | None = None
    p_value: float | None = Field(
        None,
        description="of such a ratio by noise alone, adjusted for all tests; below 5 % "
        "it is worse or better",
    )
    noise_percent: float | None = Field(None, description="of a session to the next")
    sessions_needed: int | None = Field(
        None,
        description="a side, alternating, for a decision if the true ratio is this "
        "one; none if it is decided, or more than 50",
    )


class Row(JudgedMetric):
    """A metric of a pair of cells."""

    test: str
    step: str = Field("", description="the name of the step, if it has one")
    cell: dict[str, str]
    unit: str
    base: float | None = Field(description="geometric mean of the base's sessions")
    new: float | None
    base_doubts: tuple[str, ...] = Field((), description="why not to rely on it")
    new_doubts: tuple[str, ...] = ()
    base_runs: int
    new_runs: int
    base_sessions: int = Field(description="consecutive ones of a side count as one")
    new_sessions: int
    remarks: tuple[str, ...] = ()

    @property
    def is_doubted(self) -> bool:
        return bool(self.base_doubts or self.new_doubts)


class AllCells(JudgedMetric):
    """A metric over all pairs of cells: the geometric mean of their ratios."""

    cells: int
    same_way: int = Field(description="cells that changed in the direction of the mean")
    smallest: float = Field(description="ratio of a cell")
    largest: float


class NoiseSummary(Model):
    """The noise of a metric as standard deviations, of the median cell."""

    metric: str
    run_percent: float | None = Field(description="of a run to the next in a session")
    session_percent: float | None = Field(description="of a session to the next")
    shared_percent: float | None = Field(description="the part that all cells share")
    drive_percent: float | None = Field(description="between drives of the model")
    source: str = Field(description="which sessions it is estimated from")


class SideSummary(Model):
    """What ran on one side; what differs between its sessions is listed."""

    sessions: tuple[str, ...]
    plan: str
    target: str
    backend: str
    ioplan: str
    drives: tuple[str, ...] = ()
    finished: bool = Field(True, description="whether all sessions ended")


class Comparison(Model):
    """Two sides, their rows, and the noise that these were judged by."""

    base: SideSummary
    new: SideSummary
    subject: Literal["change", "drives"] = Field(
        "change", description="`drives` where the sides have no drive in common"
    )
    threshold_percent: float
    differences: tuple[str, ...] = Field(
        (), description="in how it was measured: backend, mode, kernel, profile"
    )
    all_cells: tuple[AllCells, ...] = ()
    rows: tuple[Row, ...]
    noise: tuple[NoiseSummary, ...] = ()
    learned_from: tuple[str, ...] = Field((), description="sessions of the noise")
    only_base: tuple[str, ...] = Field(description="cells that NEW has not")
    only_new: tuple[str, ...] = Field(description="cells that BASE has not")
    neither: tuple[str, ...] = Field((), description="planned cells that both have not")

    def count(self, verdict: RowVerdict) -> int:
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def is_of_drives(self) -> bool:
        """Whether the sides have no drive in common."""
        return self.subject == "drives"

    @property
    def is_single(self) -> bool:
        return len(self.base.sessions) == len(self.new.sessions) == 1

    @property
    def missing(self) -> tuple[str, ...]:
        """Cells that were to be compared and were not: those that NEW has not, or an
        unfinished BASE. A cell that is new in the plan of NEW is not missing."""
        sides = {
            "NEW has": self.only_base,
            "BASE has": () if self.base.finished else self.only_new,
            "BASE and NEW have": self.neither,
        }
        return tuple(
            f"{side} not measured {cell}" for side, own in sides.items() for cell in own
        )

    @property
    def is_judged(self) -> bool:
        """Whether any cell was measured by the same method on both sides."""
        return any(row.why != OTHER_METHOD for row in self.rows)

    @property
    def anything_worse(self) -> bool:
        return any(row.verdict == "worse" for row in (*self.rows, *self.all_cells))


def side_summary(sessions: Sequence[Session], drives: Iterable[str]) -> SideSummary:
    names = ("plan", "target", "backend", "ioplan")
    values = {name: dict.fromkeys(getattr(s, name) for s in sessions) for name in names}
    return SideSummary(
        sessions=tuple(session.id for session in sessions),
        **{name: ", ".join(texts) for name, texts in values.items()},
        drives=tuple(sorted(drives)),
        finished=all(session.status == "ok" for session in sessions),
    )
