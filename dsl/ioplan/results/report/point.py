"""The runs of a test by the points of its charts: a cell and step in one session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.language.plan import CellValue, Condition, Test
from ioplan.planner.places import NOT_MEASURED
from ioplan.planner.steps import Run
from ioplan.records.record import RunRecord
from ioplan.records.window import Window, counted, window_of
from ioplan.workload import Stream, Workload

NOTHING: Mapping[str, Sequence[Run]] = {}
Dimensions = dict[str, str]
"""Session, axes, step: names and values as texts."""


class Point(Struct, frozen=True, dict=True):
    """All runs of one cell and step in one session, in order; maybe none."""

    dimensions: Dimensions
    runs: list[RunRecord] = []
    window: Window | None = None

    @cached_property
    def counted(self) -> list[RunRecord]:
        """The runs that its figures are of: of rounds, those of the window."""
        return counted(self.runs, self.window)

    @cached_property
    def status(self) -> str:
        """`ok`, or what became of the first of these runs that is not."""
        return status_of(self.counted) if self.runs else NOT_MEASURED

    @property
    def failed(self) -> bool:
        """Whether it is marked, in place of a figure in a chart."""
        return self.status != "ok"


def status_of(runs: Iterable[RunRecord]) -> str:
    return next((run.status for run in runs if run.status != "ok"), "ok")


def points(
    runs: Mapping[str, Sequence[RunRecord]],
    missing: Mapping[str, Sequence[Run]] = NOTHING,
) -> list[Point]:
    """The runs of a test, and what of it is `missing`, by the labels of sessions."""
    labels = _step_labels(runs, missing)
    made: dict[tuple[tuple[str, str], ...], Point] = {}
    for label, records in runs.items():
        window = window_of(records)
        for record in records:
            dimensions = {"session": label, **record.asked.cell}
            if labels:
                dimensions["step"] = labels[record.asked.step]
            key = tuple(dimensions.items())
            made.setdefault(key, Point(dimensions, [], window)).runs.append(record)
    return [*made.values(), *_not_measured(missing, labels)]


def is_of(step: str | None, point: Point) -> bool:
    """Whether it is of a named step, where one is asked for."""
    named = point.runs[-1].asked.name if point.runs else point.dimensions.get("step")
    return step in (None, named)


def step_label(name: str, index: int) -> str:
    """A step by its name, or by its number from 1."""
    return name or str(index + 1)


def _step_labels(
    runs: Mapping[str, Sequence[RunRecord]], missing: Mapping[str, Sequence[Run]]
) -> dict[int, str]:
    """The steps of a test by their numbers; empty where there is one only.

    One without a name is told by its number, and by what it does if all its cells do.
    """
    asked = (run.asked for run in chain.from_iterable(runs.values()))
    planned = chain.from_iterable(missing.values())
    steps = {
        *((run.step, run.name, does(run.workload)) for run in asked),
        *((run.index, run.template.name, does(run.workload)) for run in planned),
    }
    works = grouped(sorted(steps), key=itemgetter(0))
    if len(works) < 2:
        return {}
    return {
        index: step_label(name, index) + f" {work}" * (len(own) == 1 and not name)
        for index, own in works.items()
        for _, name, work in own[-1:]
    }


def does(workload: Workload) -> str:
    """What a workload is, stream by stream: `sequential writes + random mix`."""
    return " + ".join(_stream(stream) for stream in workload.streams)


def _stream(stream: Stream) -> str:
    if stream.trim_percent == 100:
        return f"{stream.pattern} trims"
    whole = {} if stream.trim_percent else {100.0: "reads", 0.0: "writes"}
    return f"{stream.pattern} {whole.get(stream.read_percent, 'mix')}"


def _not_measured(
    missing: Mapping[str, Sequence[Run]], labels: Mapping[int, str]
) -> Iterator[Point]:
    for label, runs in missing.items():
        for run in runs:
            step = {"step": labels[run.index]} if labels else {}
            yield Point({"session": label, **run.cell_text, **step})


def figures_of(cells: Iterable[Point]) -> str:
    """Which rounds the figures of these points are of; empty without rounds."""
    windows = dict.fromkeys(str(point.window) for point in cells if point.window)
    if len(windows) > 1:
        return "the steady window, or else the last rounds, of each session"
    return next(iter(windows), "")


def only_trims(records: Iterable[RunRecord]) -> bool:
    """Whether there is nothing but trims to show."""
    runs = list(records)
    trims = (run.directions.get("trim") for run in runs)
    return not any(run.total.ios for run in runs) and any(trims)


def only_writes(records: Iterable[RunRecord]) -> bool:
    """Whether all that runs were to do is to write."""
    streams = [stream for run in records for stream in run.asked.workload.streams]
    return not any(stream.read_percent or stream.trim_percent for stream in streams)


def meeting(
    all_points: Iterable[Point], when: Condition | None, test: Test | None
) -> list[Point]:
    """The points that meet a condition; cells that the plan no longer has do not."""
    if when is None or test is None:
        return list(all_points)
    values = {
        (name, value.text): value  # what conditions compare
        for axis in test.axes
        for row in axis.values
        for name, value in zip(axis.names, row, strict=True)
    }
    return [point for point in all_points if _holds(when, point.dimensions, values)]


def _holds(
    when: Condition, dimensions: Dimensions, values: dict[tuple[str, str], CellValue]
) -> bool:
    cell = {n: values[n, t] for n, t in dimensions.items() if (n, t) in values}
    try:
        return when.holds(cell)
    except KeyError:
        return False
