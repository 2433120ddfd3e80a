"""Which cells are measured where others may predict the rest: `skip when predicted`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from random import Random

from ioplan.core.text import counted
from ioplan.language.bind.between import skeleton
from ioplan.language.bind.bind import Cell
from ioplan.language.bind.matrix import CellKey, cell_key
from ioplan.language.metric import Metric
from ioplan.language.plan import Test, Within
from ioplan.records.record import Predicted
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.measure.neighbours import CONFIDENCE, Rate, predictions, rate_of

CHECKED = 0.1
"""The part of what is predicted that is measured nevertheless."""
LEAST = 0.1
"""The part of all cells that must be predicted: fewer look smooth by chance."""


def measured_rate(metric: Metric, sample: Sample) -> Rate:
    """The rate of a run, as well as its intervals show it."""
    series = sample.detail.series
    each = [sum(one.ios.values()) / one.length_s for one in series if one.length_s]
    return rate_of(figure(metric, [sample]).value or 0.0, each)


class PredictedCells:
    """Chooses cells one after the other, by what was measured of those before.

    First comes each second value of each axis; then what these do not predict well
    enough, and what is judged; then, drawn by the test's title, a tenth of the rest as
    a check. Where one is off by more than what was asked for, all are measured; else
    the others are left out.
    """

    def __init__(
        self,
        test: Test,
        within: Within,
        cells: Sequence[Cell],
        note: Callable[[str], None],
    ) -> None:
        self.test, self.within, self.cells, self.note = test, within, cells, note
        self.rates: dict[CellKey, Rate] = {}
        self.left_out: dict[CellKey, Rate] = {}

    def add(self, cell: Cell, rate: Rate) -> None:
        """A cell was measured; one that did nothing says nothing of others."""
        if rate.value:
            self.rates[cell_key(cell)] = rate

    def in_order(self) -> Iterator[Cell]:
        """All cells, each chosen when the one before is done; left out ones at last."""
        done = skeleton(self.cells)
        yield from done
        for _ in range(2):
            left = self._predicted()
            keys = {cell_key(cell) for cell in done}
            more = [c for c in self.cells if cell_key(c) not in {*left, *keys}]
            done += more
            yield from more
        left = self._predicted()
        if len(left) >= LEAST * len(self.cells):
            yield from self._checked(left)
            return
        self.note(f"{self._told(len(left))}, which is too few: all are measured")
        yield from (cell for cell in self.cells if cell_key(cell) in left)

    def predicted(self, cell: Cell) -> Predicted | None:
        """What the record of a cell says that is left out."""
        rate, metric = self.left_out.get(cell_key(cell)), self.within.metric
        if rate is None:
            return None
        return Predicted(
            metric=str(metric),
            unit=metric.unit,
            value=rate.value,
            half_width_percent=rate.half_percent,
            within_percent=self.within.percent,
            confidence_percent=100 * CONFIDENCE,
        )

    def _predicted(self) -> dict[CellKey, Rate]:
        """What is known well enough, without cells that have to meet something."""
        found, most = predictions(self.cells, self.rates), self.within.percent
        judged = {cell_key(cell) for cell in self.cells if self.test.judges(cell)}
        return {
            key: rate
            for key, rate in found.items()
            if rate.half_percent <= most and key not in judged
        }

    def _checked(self, left: dict[CellKey, Rate]) -> Iterator[Cell]:
        """A tenth of what is predicted; then the rest, left out if that is right."""
        cells = [cell for cell in self.cells if cell_key(cell) in left]
        checks = Random(self.test.title).sample(cells, ceil(CHECKED * len(cells)))
        yield from checks
        off = [self._off_percent(cell_key(cell), left) for cell in checks]
        rest = [cell for cell in cells if cell not in checks]
        is_wrong = max(off) > self.within.percent
        if not is_wrong:
            self.left_out = {cell_key(cell): left[cell_key(cell)] for cell in rest}
        how = "are measured, too" if is_wrong else "are left out"
        checks_text = f"{counted(len(off), 'check')} off by at most {max(off):.1f} %"
        self.note(f"{self._told(len(rest))}, {checks_text}: they {how}")
        yield from rest

    def _off_percent(self, key: CellKey, left: dict[CellKey, Rate]) -> float:
        known = self.rates.get(key)
        return 100 * abs(known.value / left[key].value - 1) if known else 100.0

    def _told(self, count: int) -> str:
        within = (
            f"within {self.within.percent:g} % at {100 * CONFIDENCE:g} % confidence"
        )
        cells = counted(len(self.cells), "cell")
        return f"{self.test.title}: {count} of {cells} predicted {within}"
