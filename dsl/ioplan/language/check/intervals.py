"""Checks `interval 100ms`: how long the intervals of a run are."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.check.timing import Timing
from ioplan.language.plan import Amount
from ioplan.language.quantity import Quantity, QuantityError, make
from ioplan.workload import MAX_INTERVAL_NS, MIN_INTERVAL_NS


def interval_of(timing: Timing, run: Amount | None, scope: Scope) -> Quantity | None:
    """The length that a run's clause says, in ns."""
    clause = timing.get("interval")
    if clause is None:
        return None
    (atom,) = clause.atoms
    found = scope.of_kind(atom, "'interval'", "time")
    if found is not None and not isinstance(found, Quantity):
        scope.findings.error(
            "an interval is as long in all cells", atom.span, "for example: 100ms"
        )
        return None
    return found and scope.parameters.guarded(atom.span, lambda: _judged(found, run))


def _judged(interval: Quantity, run: Amount | None) -> Quantity:
    """Raises QuantityError."""
    if not MIN_INTERVAL_NS <= interval.value <= MAX_INTERVAL_NS:
        raise QuantityError("an interval is at least 10 ms and at most 1 h")
    if isinstance(run, Quantity) and run.value < interval.value:
        length = make("time", run.value).text
        raise QuantityError(f"the run is over after {length}, before one interval")
    return interval
