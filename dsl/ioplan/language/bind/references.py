"""The cell of an earlier test that has the same axes as a cell of a later one."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.core.memo import ByIdentity
from ioplan.language.bind.bind import Cell
from ioplan.language.bind.matrix import Matrix
from ioplan.language.plan import (
    RepeatTemplate,
    RunTemplate,
    ShareOf,
    StepTemplate,
    StreamTemplate,
    Test,
)

CellText = dict[str, str]
Keys = tuple[int | float | str, ...]


def shares_of(run: RunTemplate) -> Iterator[tuple[str, ShareOf]]:
    """The fields of a run that are shares of what a test finds, with the shares."""
    streams: tuple[StreamTemplate, ...] = (*run.workload.streams, run.override)
    for stream in streams:
        for field, amount in stream.refs.items():
            if isinstance(amount, ShareOf):
                yield field, amount


def needed_by(test: Test) -> set[str]:
    """The titles of the tests that a test takes shares of, however indirectly."""
    found: set[str] = set()
    for run in runs_in(test.steps):
        for _, share in shares_of(run):
            found |= {share.test.title, *needed_by(share.test)}
    return found


def runs_in(steps: tuple[StepTemplate, ...]) -> Iterator[RunTemplate]:
    """Each run of a cell, once."""
    for step in steps:
        if isinstance(step, RepeatTemplate):
            yield from runs_in(step.steps)
        elif isinstance(step, RunTemplate):
            yield step


def axis_names(test: Test) -> tuple[str, ...]:
    """What a test varies."""
    return tuple(name for axis in test.axes for name in axis.names)


def counterpart(test: Test, cell: Cell) -> CellText | None:
    """The cell of the test with the same values, as that test writes them.

    Of a test that seeks nothing, all cells that have the same values on the axes that
    both vary. None if there is no such cell.
    """
    shared = tuple(name for name in axis_names(test) if name in cell)
    keys = tuple(cell[name].key for name in shared)
    return _cells(test).by(shared).get(keys)


class _Cells:
    """The cells of a test by their values on some of its axes."""

    def __init__(self, test: Test) -> None:
        self.test = test
        self.known: dict[tuple[str, ...], dict[Keys, CellText]] = {}

    def by(self, names: tuple[str, ...]) -> dict[Keys, CellText]:
        if names not in self.known:
            self.known[names] = {
                tuple(cell[name].key for name in names): {
                    name: cell[name].text for name in names
                }
                for cell in Matrix(self.test.axes, self.test.skip).cells()
            }
        return self.known[names]


_cells = ByIdentity(_Cells)
