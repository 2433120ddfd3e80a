"""Checks `cut power at …`: when the power of the target is cut within a run."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.check.timing import Timing
from ioplan.language.fields import of_kind
from ioplan.language.plan import PowerCut
from ioplan.language.quantity import Quantity
from ioplan.language.syntax import tree

WHAT = "the moment of a power cut"


def power_cut(timing: Timing, scope: Scope) -> PowerCut | None:
    """None without the clause, or after an error."""
    clause = timing.get("cut")
    if clause is None:
        return None
    ends = [_moment(atom, scope) for atom in clause.atoms]
    known = [one for one in ends if one is not None]
    if len(known) < len(ends) or not _fits(clause, known, timing, scope):
        return None
    return PowerCut(earliest=known[0], latest=known[-1])


def _moment(atom: tree.Atom, scope: Scope) -> Quantity | None:
    found = scope.quantity(atom, WHAT)
    if found is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: of_kind(found, WHAT, "time"))


def _fits(
    clause: tree.Clause, ends: list[Quantity], timing: Timing, scope: Scope
) -> bool:
    """Whether the cut is in the midst of the run, as far as this is known."""
    if ends[0].value > ends[-1].value:
        text = "the range of the power cut ends before it begins"
        scope.findings.error(text, clause.span, "write the earlier time first")
        return False
    lasting = timing.get("for")
    if lasting is None:
        scope.findings.error(
            "a run with a power cut needs a length in time",
            clause.span,
            "write: for 2min, cut power at 5s..110s",
        )
        return False
    return _ends_before(clause, ends[-1], lasting, scope)


def _ends_before(
    clause: tree.Clause, last: Quantity, lasting: tree.Clause, scope: Scope
) -> bool:
    found = scope.amount(lasting.atoms[0])
    if not isinstance(found, Quantity) or found.kind != "time":
        return True
    if last.value < found.value:
        return True
    scope.findings.error(
        f"the power is cut at {last.text}, and the run lasts {found.text}",
        clause.span,
        "cut it before the run ends",
    )
    return False
