"""What a run needs to know of earlier tests before it can begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ioplan.language.bind.bind import Cell
from ioplan.language.bind.references import counterpart, shares_of
from ioplan.language.plan import RunTemplate, ShareOf, Test
from ioplan.planner.run_id import digest
from ioplan.planner.steps import Needed, Run

CellKey = tuple[tuple[str, str], ...]


class Needs:
    """The needs of the runs of one test. `runs_of` unfolds another one."""

    def __init__(self, runs_of: Callable[[Test], Iterable[Run]]) -> None:
        self.runs_of = runs_of
        self.shares: dict[int, tuple[ShareOf, ...]] = {}
        self.ids: dict[int, list[tuple[dict[str, str], str]]] = {}
        self.digests: dict[tuple[int, CellKey], str] = {}

    def of(self, step: RunTemplate, cell: Cell) -> tuple[Needed, ...]:
        """What a run needs to know in a cell."""
        if id(step) not in self.shares:
            self.shares[id(step)] = tuple(share for _, share in shares_of(step))
        shares = self.shares[id(step)]
        return tuple(self._needed(one, cell) for one in shares) if shares else ()

    def _needed(self, share: ShareOf, cell: Cell) -> Needed:
        found = counterpart(share.test, cell)
        assert found is not None, "the checker finds each cell its counterpart"
        key = (id(share.test), tuple(found.items()))
        if key not in self.digests:
            ids = self._ids(share.test)
            here = (run for at, run in ids if found.items() <= at.items())
            self.digests[key] = digest(*here)
        return Needed(share, key[1], self.digests[key])

    def _ids(self, test: Test) -> list[tuple[dict[str, str], str]]:
        """The ids of a test's runs, with their cells; unfolded once."""
        if id(test) not in self.ids:
            runs = self.runs_of(test)
            self.ids[id(test)] = [(run.cell_text, run.run_id) for run in runs]
        return self.ids[id(test)]
