"""The runs of a test by the place they were made at: session, cell and step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ioplan.language.plan import CellValue, Chart, Test
from ioplan.records.record import RunRecord
from ioplan.report.charts.encoding import Place


@dataclass(frozen=True)
class Spot:
    """All runs of one cell and step in one session, in order."""

    place: Place
    records: list[RunRecord] = field(default_factory=list)

    def last_window(self, window: int) -> list[RunRecord]:
        """The runs that count: of rounds, the last `window` ones."""
        last = max(record.asked.round for record in self.records)
        return [r for r in self.records if not last or r.asked.round > last - window]


def spots(runs: Mapping[str, Sequence[RunRecord]]) -> list[Spot]:
    """The runs of a test, by the labels of their sessions."""
    several = len({r.asked.step for found in runs.values() for r in found}) > 1
    by_place: dict[tuple[tuple[str, str], ...], Spot] = {}
    for label, records in runs.items():
        for record in records:
            place = {"session": label, **record.asked.cell}
            if several:
                place["step"] = str(record.asked.step + 1)
            spot = by_place.setdefault(tuple(place.items()), Spot(place))
            spot.records.append(record)
    return list(by_place.values())


def only_trims(spots: Sequence[Spot]) -> bool:
    """Whether there is nothing but trims to show."""
    totals = [r.total.ios for spot in spots for r in spot.records]
    trims = (r.directions.get("trim") for spot in spots for r in spot.records)
    return not any(totals) and any(trims)


def chosen(all_spots: Iterable[Spot], chart: Chart, test: Test | None) -> list[Spot]:
    """The spots that a chart's condition names."""
    if chart.when is None or test is None:
        return list(all_spots)
    values = _values(test)
    return [s for s in all_spots if _holds(chart, s.place, values)]


def _values(test: Test) -> dict[tuple[str, str], CellValue]:
    """Axis and text to the value that conditions compare."""
    return {
        (name, value.text): value
        for axis in test.axes
        for row in axis.values
        for name, value in zip(axis.names, row, strict=True)
    }


def _holds(
    chart: Chart, place: Place, values: dict[tuple[str, str], CellValue]
) -> bool:
    """A cell that the plan no longer has is not drawn."""
    assert chart.when
    cell = {n: values[n, t] for n, t in place.items() if (n, t) in values}
    try:
        return chart.when.holds(cell)
    except KeyError:
        return False
