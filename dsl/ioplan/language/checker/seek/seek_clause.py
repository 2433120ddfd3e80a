"""Checks `seek`: the axis that is sought, its bounds, and how surely it is found."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ioplan.language.bind.bind import CONFIRM_RUNS
from ioplan.language.bind.matrix import Matrix, cell_text
from ioplan.language.bind.references import axis_names, counterpart, shares_of
from ioplan.language.checker.axes.names import kind_of, values_of
from ioplan.language.checker.seek.demands import asks_of_phase, demands_of
from ioplan.language.checker.spelled import atoms_in, spelled
from ioplan.language.checker.streams.phases import check_untimed
from ioplan.language.checker.streams.stream_builder import alternatives, overridden_by
from ioplan.language.checker.sweep import Sweep
from ioplan.language.clause_table import AXIS_FIELDS, slot
from ioplan.language.fields import count, of_kind, percent
from ioplan.language.plan import (
    Axis,
    CellValue,
    Goal,
    RunTemplate,
    Seek,
    ShareOf,
    StepTemplate,
)
from ioplan.language.quantity import Kind, Quantity, QuantityError, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span

# Checks shares of what an earlier test finds: each cell has one there to be of.


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


WORDED = (
    *("pattern", "region", "align", "data", "workload"),
    *("hotspots", "distribution"),
)
"""Fields whose values have no order that could be sought in."""
ORDERED = tuple(field for field in AXIS_FIELDS if field not in WORDED)
GOALS: dict[str, Goal] = {"highest": "highest", "lowest": "lowest", "knee": "knee"}
MOST_PROBES = 1000


def axis_node(node: tree.Seek) -> tree.Vary:
    """A seek as the axis that it decides: both ends of its range, or its values."""
    elements = node.elements
    if len(elements) == 1 and elements[0].kind == "span":
        ends = {atom.text: atom for atom in elements[0].atoms}.values()
        elements = tuple(tree.Element(end.span, "single", (end,)) for end in ends)
    return tree.Vary(node.span, (node.name,), elements)


def at_highest(sweep: Sweep, name: str) -> Sweep:
    """The sweep with one value of the sought axis, which no condition may ask for."""
    axes = tuple(
        replace(axis, values=axis.values[-1:]) if axis.names == (name,) else axis
        for axis in sweep.matrix.axes
    )
    return replace(sweep, matrix=Matrix(axes, sweep.matrix.skips), sought=name)


def seek_of(
    node: tree.Seek, axes: tuple[Axis, ...], steps: list[StepTemplate], sweep: Sweep
) -> Seek | None:
    """The seek, or None after errors; `axes` have all values of the sought one."""
    before = sweep.findings.error_count
    values = values_of(node.name.text, axes[-1:])
    kind = _kind_of(node, values, sweep)
    _check_steps(node, steps, sweep)
    _check_confirmed(node, steps, sweep)
    _check_said(node, sweep)
    options = _options(node, sweep)
    longest = tuple(_longest(run, options.get("confirm")) for run in sweep.runs)
    where = demands_of(node.where, sweep, longest) if node.where else ()
    if sweep.findings.error_count > before or kind is None:
        return None
    is_range = node.elements[0].kind == "span"
    return Seek(
        goal=GOALS[node.goal.text],
        axis=node.name.text,
        kind=kind,
        lowest=values[0],
        highest=values[-1],
        values=() if is_range else tuple(values),
        where=where,
        text=spelled(node.span, atoms_in(node), sweep.scope),
        span=node.span,
        **options,
    )


def _kind_of(node: tree.Seek, values: list[CellValue], sweep: Sweep) -> Kind | None:
    """The kind of the axis, if it can be sought between these values."""
    name = node.name
    if not values:
        return None
    keys = [value.key for value in values if not isinstance(value.key, str)]
    if len(keys) < len(values):
        sweep.findings.error(
            f"{name.text!r} has no order, so no highest value",
            name.span,
            f"a seek finds a number: {' '.join(ORDERED)}, or a param",
        )
        return None
    if keys != sorted(keys):
        first, last = values[0].text, values[-1].text
        sweep.findings.error(
            "the values of a seek must increase",
            node.elements[0].span,
            f"did you mean {last}..{first}?" if len(values) == 2 else "",
        )
        return None
    if len(values) < 2 or not keys[0] > 0:
        sweep.findings.error(
            "the range of a seek must start above 0 and increase",
            node.elements[0].span,
        )
        return None
    return kind_of(name.text, values[0])


def _check_steps(node: tree.Seek, steps: list[StepTemplate], sweep: Sweep) -> None:
    """A value is judged by one run, which goes on for a time."""
    if not sweep.runs:
        return
    if len(steps) != 1 or not isinstance(steps[0], RunTemplate):
        sweep.findings.error(
            "a test with a seek must have exactly one step, a run",
            node.span,
            "put the seek in a test of its own",
        )
        return
    run = steps[0]
    streams = [overridden_by(one, run.override) for one in run.workload.streams]
    timed = all(
        "replay" in one.attributes and "pace" not in one.attributes for one in streams
    )
    if run.rule or run.limit is not None or (run.passes is not None and not timed):
        sweep.findings.error(
            "the runs of a seek are limited by time",
            run.span,
            "write for example: for 30s",
        )
    if run.cut:
        sweep.findings.error(
            "a run of a seek cuts the power, and ends once it is decided",
            run.span,
            "put it in a test of its own",
        )
    for template in alternatives(run.workload, sweep.matrix.axes):
        check_untimed(
            (overridden_by(stream, run.override) for stream in template.streams),
            run.span,
            "a seek decides when a run ends",
            sweep.scope,
            ("ramp",) if asks_of_phase(node.where) else ("phases", "ramp"),
        )


def _longest(run: RunTemplate, confirm: Quantity | None) -> RunTemplate:
    """The run as long as its confirmation."""
    if confirm is None and isinstance(run.run, Quantity):
        confirm = make("time", run.run.value * CONFIRM_RUNS)
    return replace(run, run=confirm or run.run)


def _check_confirmed(node: tree.Seek, steps: list[StepTemplate], sweep: Sweep) -> None:
    """A confirmation is no shorter than the run that it confirms."""
    said = [one for one in node.options if one.kind == "confirm"]
    run = steps[0].run if steps and isinstance(steps[0], RunTemplate) else None
    if not said or not isinstance(run, Quantity) or run.kind != "time":
        return
    with sweep.findings.suppressed():
        confirm = sweep.scope.quantity(said[0].atoms[0], "'confirm'")
    if confirm and confirm.kind == "time" and 0 < confirm.value < run.value:
        sweep.findings.error(
            f"the confirmation of {confirm.text} is shorter than the run of {run.text}",
            said[0].span,
            "the default is four times the run",
        )


def _check_said(node: tree.Seek, sweep: Sweep) -> None:
    """What goes with which goal, and that a range stands alone."""
    ranges = [one for one in node.elements if one.kind == "span"]
    if ranges and len(node.elements) > 1:
        sweep.findings.error(
            "a seek takes one range, or a list of values", ranges[-1].span
        )
    is_knee = node.goal.text == "knee"
    if is_knee and node.where:
        sweep.findings.error(
            "a knee is determined by throughput only",
            node.where.span,
            "write: seek highest … where …, or leave the condition out",
        )
    if not is_knee and not node.where:
        sweep.findings.missing(
            f"the {node.goal.text} {node.name.text} of what?",
            node.span,
            node.span,
            "add a condition: where p99 <= 1ms",
        )
    if node.share and not is_knee:
        sweep.findings.error("'of' belongs to a knee", node.share.span)


def _options(node: tree.Seek, sweep: Sweep) -> dict[str, Any]:
    """What is said of the rest, in the words of `Seek`."""
    found: dict[str, Any] = {}
    said: dict[str, tree.Clause] = {}
    for clause in node.options:
        if clause.kind in said:
            sweep.findings.twice(repr(clause.kind), clause.span, said[clause.kind].span)
            continue
        said[clause.kind] = clause
        found.update(_option(clause.kind, clause.atoms[0], sweep))
    if node.share:
        found.update(_option("of", node.share, sweep))
    return found


def _option(kind: str, atom: tree.Atom, sweep: Sweep) -> dict[str, Any]:
    quantity = sweep.scope.quantity(atom, f"{kind!r}")
    if quantity is None:
        return {}
    read = {"within": _within, "at most": _at_most, "of": _share, "confirm": _confirm}
    made = sweep.scope.parameters.guarded(atom.span, lambda: read[kind](quantity))
    return made or {}


def _within(quantity: Quantity) -> dict[str, object]:
    share = percent(quantity, "'within'")
    if not 0.1 <= share <= 50:
        raise QuantityError("'within' is a share from 0.1 % to 50 %", "such as 5%")
    return {"within_percent": share}


def _at_most(quantity: Quantity) -> dict[str, object]:
    return {"at_most": count(quantity, "'at most'", MOST_PROBES)}


def _share(quantity: Quantity) -> dict[str, object]:
    share = percent(quantity, "the share of a knee")
    if not 1 <= share < 100:
        raise QuantityError(
            "the share of a knee must be less than 100 %", "for example of 90%"
        )
    return {"share_percent": share}


def _confirm(quantity: Quantity) -> dict[str, object]:
    if not of_kind(quantity, "'confirm'", "time").value:
        raise QuantityError("'confirm' must be more than 0")
    return {"confirm": quantity}
