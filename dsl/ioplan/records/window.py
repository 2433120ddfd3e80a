"""The measurement window of a test in rounds: the rounds that its figures are of."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ioplan.records.record import RunRecord

DEFAULT_ROUNDS = 5
"""The length of the window in SNIA's specification, where no record says another."""


class Window(Struct, frozen=True):
    """Rounds `first` to `last`, both included; `steady` if they were judged so.

    Where rounds end cell by cell, `own` has the first and the last of each cell.
    """

    first: int
    last: int
    steady: bool
    own: dict[str, tuple[int, int]] = {}

    def holds(self, run: RunRecord) -> bool:
        """Whether figures are of this run."""
        first, last = self.own.get(_place(run), (self.first, self.last))
        return first <= run.asked.round <= last

    @property
    def label(self) -> str:
        """Short enough for a table: `3–7 steady`, `21–25 last`."""
        last = f"{self._rounds('–')} {'steady' if self.steady else 'last'}"
        return "by cell" if self.own else last

    def __str__(self) -> str:
        cells = "the rounds that decided each cell, else " if self.own else ""
        rounds, verb = ("round", "is") if self.first == self.last else ("rounds", "are")
        span = self._rounds(" to ")
        if self.steady:
            return f"{cells}the steady window ({rounds} {span})"
        return f"{cells}the last {rounds} ({span}), which {verb} not steady"

    def _rounds(self, to: str) -> str:
        return to.join(map(str, dict.fromkeys((self.first, self.last))))


def window_of(runs: Sequence[RunRecord]) -> Window | None:
    """The window of the runs of one test in one session; None without rounds.

    It ends with the last round. Its length is that of the rule that judged the rounds.
    """
    last = max((run.asked.round for run in runs), default=0)
    if not last:
        return None
    judged = [run for run in runs if run.asked.round and run.steady]
    steady = judged[-1].steady if judged else None
    length = steady.window if steady else DEFAULT_ROUNDS
    reached = bool(steady and steady.is_borne and judged[-1].asked.round == last)
    return Window(max(1, last - length + 1), last, reached, _own(runs))


def _place(run: RunRecord) -> str:
    cell = (f"{axis}={value}" for axis, value in run.asked.cell.items())
    return " ".join((str(run.asked.step), *cell))


def first_counted(last: RunRecord, window: int) -> int:
    """By the last run of a cell, the first round that its figures are of."""
    rounds = len(last.decided.values) if last.decided and _is_own(last) else window
    return last.asked.round - rounds + 1


def _is_own(run: RunRecord) -> bool:
    """Whether the cell was decided; that which is tracked has the steady window."""
    return bool(run.decided and run.decided.reached and not run.steady)


def _own(runs: Sequence[RunRecord]) -> dict[str, tuple[int, int]]:
    """The rounds that the mean of each cell and step is of."""
    ends = {_place(run): run for run in runs if _is_own(run)}
    return {
        place: (first_counted(run, 0), run.asked.round) for place, run in ends.items()
    }


def counted(runs: Sequence[RunRecord], window: Window | None) -> list[RunRecord]:
    """The runs of one cell that its figures are of."""
    if window is None:
        return list(runs)
    last = [run for run in runs if run.asked.round == runs[-1].asked.round]
    return [run for run in runs if window.holds(run)] or last
