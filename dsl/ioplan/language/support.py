"""Says before a run that it is too short for a percentile to mean anything."""

from __future__ import annotations

from ioplan.language import tree
from ioplan.language.plan import Axis, Expectation, RunTemplate
from ioplan.language.quantity import Quantity
from ioplan.language.scope import Scope

BEYOND = 10
FASTEST_NS = 1_000
"""No I/O on a real device completes faster, so QD / 1 us bounds the IOPS."""


def check_support(
    expectation: Expectation,
    node: tree.Expect,
    runs: list[RunTemplate],
    axes: tuple[Axis, ...],
    scope: Scope,
    time_scale: float,
) -> None:
    """An error where no run of the test can have enough I/Os.

    A plan whose times were scaled is a rehearsal; there the verdict tells.
    """
    percent = expectation.metric.percent
    if percent is None or time_scale != 1 or not runs:
        return
    needed = round(BEYOND / (1 - percent / 100))
    possible = max(_most_ios(run, axes) for run in runs)
    if possible < needed:
        scope.findings.error(
            f"{expectation.metric.name} needs {needed:_} I/Os, and the run can have "
            f"{int(possible):_} at most",
            node.metric.span,
            "run longer, or expect a lower percentile",
        )


def _most_ios(run: RunTemplate, axes: tuple[Axis, ...]) -> float:
    """An upper bound of the I/Os of a run; unbounded where unknown."""
    if not isinstance(run.run, Quantity):
        return float("inf")
    run_ns = float(run.run.value)
    varied = {name.rpartition(".")[2] for axis in axes for name in axis.names}
    if varied & {"qd", "threads", "workload", "rate"} or run.override.refs:
        return _bound_varied(run_ns, axes)
    return sum(
        _stream_bound({**stream.attributes, **run.override.attributes}, run_ns)
        for stream in run.workload.streams
    )


def _bound_varied(run_ns: float, axes: tuple[Axis, ...]) -> float:
    """Only a varied queue depth alone keeps a simple bound."""
    depths = [
        row[position].key
        for axis in axes
        for position, name in enumerate(axis.names)
        for row in axis.values
        if name == "qd"
    ]
    names = {name for axis in axes for name in axis.names}
    if not depths or names & {"threads", "workload", "rate"}:
        return float("inf")
    return max(float(d) for d in depths) * run_ns / FASTEST_NS


def _stream_bound(attributes: dict[str, object], run_ns: float) -> float:
    rate = attributes.get("rate")
    if isinstance(rate, tuple) and rate[0] == "iops":
        return float(rate[1]) * run_ns / 1e9
    depth = int(str(attributes.get("qd", 1))) * int(str(attributes.get("threads", 1)))
    return depth * run_ns / FASTEST_NS
