"""Checks shares of what an earlier test finds: each cell has one there to be of."""

from __future__ import annotations

from ioplan.language.bind.matrix import cell_text
from ioplan.language.bind.references import axis_names, counterpart, shares_of
from ioplan.language.check.sweep import Sweep
from ioplan.language.clause_table import slot
from ioplan.language.plan import RunTemplate, ShareOf
from ioplan.language.syntax.source import Span


def check_references(sweep: Sweep) -> None:
    """All shares of all runs."""
    if not sweep.whole:
        return
    for run in sweep.runs:
        for field, share in shares_of(run):
            _check(share, _place(run, field), sweep)


def _place(run: RunTemplate, field: str) -> Span:
    for stream in (run.override, *run.workload.streams):
        if slot(field) in stream.spans:
            return stream.spans[slot(field)]
    return run.span


def _check(share: ShareOf, where: Span, sweep: Sweep) -> None:
    test = share.test
    lacking = [name for name in axis_names(test) if name not in sweep.names]
    if lacking and test.seek:
        sweep.findings.error(
            f"{test.title!r} varies {lacking[0]!r}, and this test does not: no cell "
            f"has a counterpart there",
            where,
            f"vary {lacking[0]} here as well",
        )
        return
    for cell in sweep.matrix.cells():
        if counterpart(test, cell) is None:
            shared = {name: cell[name] for name in axis_names(test) if name in cell}
            sweep.findings.error(
                f"{test.title!r} has no cell where {cell_text(shared)}",
                where,
                "vary the same values in both, or skip this cell",
            )
            return
