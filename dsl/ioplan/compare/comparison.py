"""What came out of a comparison: a row for each metric of each pair of cells."""

from __future__ import annotations

from typing import Literal

from ioplan.core.model import Figures, Model, described
from ioplan.records.session import Session

RowVerdict = Literal["better", "worse", "equal", "undecided"]
VERDICTS: tuple[RowVerdict, ...] = ("worse", "better", "equal", "undecided")


class Row(Figures):
    """One metric of one pair of cells."""

    test: str
    cell: dict[str, str]
    metric: str
    unit: str
    verdict: RowVerdict
    why: str = described("why it is undecided, or worse without a figure", default="")
    base: float | None = described("geometric mean of the base's units")
    new: float | None
    base_units: int = described("runs, or sessions where a side has several")
    new_units: int
    ratio: float | None = described("new / base", default=None)
    low: float | None = described("95 % interval of the ratio", default=None)
    high: float | None = None
    chance: float | None = described(
        "of a ratio as far off by noise alone, adjusted for the number of rows "
        "(Holm); worse and better are called below 5 %",
        default=None,
    )
    noise_percent: float | None = described("of one unit to the next", default=None)
    noise_from: str = ""
    remarks: tuple[str, ...] = ()


class SideSummary(Model):
    """One side in a few words."""

    sessions: tuple[str, ...]
    plan: str
    target: str
    backend: str
    ioplan: str


class Comparison(Figures):
    """All of it."""

    base: SideSummary
    new: SideSummary
    threshold_percent: float
    rows: tuple[Row, ...]
    only_base: tuple[str, ...] = described("cells that NEW has not")
    only_new: tuple[str, ...] = described("cells that BASE has not")

    def count(self, word: RowVerdict) -> int:
        """How many rows have that verdict."""
        return sum(row.verdict == word for row in self.rows)


def side_summary(sessions: tuple[Session, ...]) -> SideSummary:
    """The side of these sessions; what differs between them is listed."""

    def all_of(texts: list[str]) -> str:
        return ", ".join(dict.fromkeys(texts))

    return SideSummary(
        sessions=tuple(session.id for session in sessions),
        plan=all_of([session.plan for session in sessions]),
        target=all_of([session.target for session in sessions]),
        backend=all_of([session.backend for session in sessions]),
        ioplan=all_of([session.ioplan for session in sessions]),
    )
