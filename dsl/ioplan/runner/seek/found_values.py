"""What the tests of a session have found so far, for those that take a share of it."""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from ioplan.language.bind.bind import workload_of
from ioplan.language.plan import CellValue
from ioplan.language.quantity import Quantity, make
from ioplan.planner.steps import Needed, Run
from ioplan.records.record import RunRecord
from ioplan.runner.execute.outcome import NothingFound


class FoundValues:
    """The records of the tests that later ones need, and what they come to."""

    def __init__(self) -> None:
        self.records: dict[str, list[RunRecord]] = defaultdict(list)

    def add(self, record: RunRecord) -> None:
        """A run of a cell is over, now or in an earlier part of the session."""
        if record.status == "ok" and record.asked.kind == "run":
            self.records[record.asked.test].append(record)

    def bound(self, run: Run) -> Run:
        """The run with what it needs to know. Raises NothingFound."""
        if not run.needs:
            return run
        cell = dict(run.cell)
        for needed in run.needs:
            found = self._found(needed, run)
            name = needed.share.found_name
            cell[name] = CellValue(text=found.text, key=found.value, quantity=found)
        step = run.template
        workload = workload_of(step.workload, step.override, cell)
        return replace(run, workload=workload, planned_id=run.run_id)

    def _found(self, needed: Needed, run: Run) -> Quantity:
        test, at = needed.share.test, dict(needed.cell)
        records = [
            one
            for one in self.records[test.title]
            if at.items() <= one.asked.cell.items()
        ]
        kind = needed.share.highest.kind
        values = [value for one in records if (value := _value(one)) is not None]
        if values:
            return make(kind, max(values))
        where = " ".join(f"{name}={text}" for name, text in at.items())
        raise NothingFound(
            f"{run.test.title}: {run}: {test.title!r} found "
            f"nothing{' where ' if where else ''}{where}"
        )


def _value(record: RunRecord) -> float | None:
    """What a seek found; without one the IOPS."""
    if record.found:
        return record.found.value
    return record.total.iops or None
