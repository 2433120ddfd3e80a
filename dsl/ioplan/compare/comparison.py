"""What came out of a comparison: a row for each metric of each pair of cells."""

from __future__ import annotations

from typing import Literal

from ioplan.core.model import Figures, Model, described
from ioplan.records.session import Session

RowVerdict = Literal["better", "worse", "equal", "undecided", "ratio"]
"""`ratio`: of two drives, whose noise nothing tells; the ratio stands by itself."""
VERDICTS: tuple[RowVerdict, ...] = ("worse", "better", "equal", "undecided", "ratio")


class Judged(Figures):
    """What is said of one metric, of one cell or of all of them."""

    metric: str
    verdict: RowVerdict
    why: str = described("why it is undecided, or worse without a figure", default="")
    ratio: float | None = described("new / base", default=None)
    low: float | None = described("95 % interval of the ratio", default=None)
    high: float | None = None
    chance: float | None = described(
        "of a ratio as far off by noise alone, adjusted for all that is tested; worse "
        "and better are called below 5 %",
        default=None,
    )
    noise_percent: float | None = described("of one session to the next", default=None)
    sessions_needed: int | None = described(
        "a side, alternating, to decide what is undecided, were the true ratio this "
        "one; none if it is decided, or more than 50",
        default=None,
    )


class Row(Judged):
    """One metric of one pair of cells."""

    test: str
    step: str = described("the name of the step, of one that has a name", default="")
    cell: dict[str, str]
    unit: str
    base: float | None = described("geometric mean of the base's sessions")
    new: float | None
    base_runs: int
    new_runs: int
    base_sessions: int = described("that count: a stretch of one side counts as one")
    new_sessions: int
    remarks: tuple[str, ...] = ()


class AllCells(Judged):
    """One metric over all pairs of cells: the geometric mean of their ratios."""

    cells: int
    same_way: int = described("cells that are off to the same side as the mean")
    smallest: float = described("ratio of a cell")
    largest: float


class NoiseSummary(Figures):
    """What a metric differs by of itself, as standard deviations; the median cell."""

    metric: str
    run_percent: float | None = described("of one run to the next, within a session")
    session_percent: float | None = described(
        "of one session's figure to the next; none if nothing tells it"
    )
    shared_percent: float | None = described("the part that all cells have in common")
    drive_percent: float | None = described("of one drive to the next of its model")
    source: str = described("where it was learned from")


class SideSummary(Model):
    """One side in a few words."""

    sessions: tuple[str, ...]
    plan: str
    target: str
    backend: str
    ioplan: str
    drives: tuple[str, ...] = ()


class Comparison(Figures):
    """All of it."""

    base: SideSummary
    new: SideSummary
    subject: Literal["change", "drives"] = described(
        "`drives` where the sides have no drive in common", default="change"
    )
    threshold_percent: float
    all_cells: tuple[AllCells, ...] = ()
    rows: tuple[Row, ...]
    noise: tuple[NoiseSummary, ...] = ()
    only_base: tuple[str, ...] = described("cells that NEW has not")
    only_new: tuple[str, ...] = described("cells that BASE has not")

    def count(self, word: RowVerdict) -> int:
        """How many rows have that verdict."""
        return sum(row.verdict == word for row in self.rows)

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
    )
