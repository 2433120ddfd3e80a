"""A seek as a search: its bounds, how long its runs go on, and what they digest."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from math import isclose
from typing import Protocol

from msgspec.structs import replace

from ioplan.language.bind.bind import (
    CONFIRM_RUNS,
    Cell,
    scaled_ns,
    sought_value,
    step_of,
)
from ioplan.language.metric import RATES
from ioplan.language.plan import AT_LEAST, AT_MOST, RunTemplate, Seek, Test
from ioplan.planner.run_id import digest, set_fields
from ioplan.planner.seek.grid import WITHIN, Bounds
from ioplan.planner.seek.search import Probe
from ioplan.planner.steps import Length, Prepare, Probing, Run
from ioplan.planner.target_state import TargetState
from ioplan.workload import Workload

LOADS = ("qd", "rate", "threads")
"""Axes along which throughput grows."""


def bounds_of(seek: Seek, workload: Workload) -> Bounds:
    """What a search may try in a cell of this workload."""
    step = step_of(seek.kind)
    if seek.axis.rpartition(".")[2] == "qd":
        step = _shared_depth(seek, workload)
    exact = seek.within_percent is None and seek.kind in ("number", "passes")
    within = WITHIN if seek.within_percent is None else seek.within_percent / 100
    return Bounds(
        lowest=float(seek.lowest.key),
        highest=float(seek.highest.key),
        within=0.0 if exact else within,
        step=step,
        direction="lowest" if seek.goal == "lowest" else "highest",
        at_most=seek.at_most,
        values=tuple(float(value.key) for value in seek.values),
        asks_for_load=_asks_for_load(seek),
    )


def _asks_for_load(seek: Seek) -> bool:
    """Whether a part of the condition may hold at a higher load only (of `lowest`: at a
    lower one), as `iops >= 500 iops` does beside a limit of latency."""
    if seek.axis.rpartition(".")[2] not in LOADS:
        return False
    if seek.goal == "lowest":
        return any(
            one.operator in AT_MOST and one.metric.unit == "ns" for one in seek.where
        )
    return any(
        one.operator in AT_LEAST and one.metric.name in RATES for one in seek.where
    )


def _shared_depth(seek: Seek, workload: Workload) -> float:
    """What depths are multiples of: the threads, where they share the depth."""
    qd = seek.lowest.attributes and seek.lowest.attributes.get("qd")
    for stream in workload.streams:
        if qd and stream.qd != qd and isclose(stream.qd * stream.threads, qd):
            return float(stream.threads)
    return 1.0


def probe_length(
    seek: Seek, asked: Length, time_scale: float, phase: str
) -> tuple[Length, int]:
    """How long a probe goes on at most, and at least, in ns.

    Nothing decides the probe of a knee, and nothing a confirmation, before its time.
    A replay is once through its trace, also to confirm.
    """
    if not asked.run_ns:
        return asked, 0
    confirm_ns = CONFIRM_RUNS * asked.run_ns
    if seek.confirm:
        confirm_ns = max(asked.run_ns, scaled_ns(seek.confirm, time_scale))
    longest = asked._replace(run_ns=confirm_ns)
    if phase == "confirm":
        return longest, confirm_ns
    return (asked if seek.goal == "knee" else longest), asked.run_ns


def seek_digest(seek: Seek) -> str:
    """What is sought, by what it says: defaults are left out."""
    where = ",".join(f"{d.metric} {d.operator} {d.limit:g}" for d in seek.where)
    listed = ",".join(value.text for value in seek.values)
    fields = set_fields(
        within=seek.within_percent, at_most=seek.at_most, values=listed, where=where
    )
    share = [f"share={seek.share_percent}"] if seek.goal == "knee" else []
    ends = (seek.lowest.text, seek.highest.text)
    return digest(seek.goal, seek.axis, *ends, *fields, *share)


class Unfolds(Protocol):
    """What unfolds a test, and follows the state of the target."""

    test: Test
    time_scale: float
    each_run: bool
    state: TargetState
    started: bool

    def prepare(self) -> Iterator[Prepare]: ...
    def run(
        self, cell: Cell, step: RunTemplate, number: int, iteration: int
    ) -> Run: ...


class Probes:
    """The runs of one seek by what they try; unfolding one changes no other.

    All but the first begin as the first has ended.
    """

    def __init__(self, begin: Unfolds, seek: Seek, cell: Cell) -> None:
        self.begin, self.seek, self.cell = begin, seek, cell
        self.after = begin

    def probe(self, asked: Probe) -> Iterator[Prepare | Run]:
        """What is done for one probe."""
        unfolding = copy(self.begin if asked.number == 1 else self.after)
        if unfolding.each_run:
            yield from unfolding.prepare()
        yield self._run(unfolding, asked.value, asked.phase, asked.number)
        self.after = unfolding

    def finding(self) -> Run:
        """The run that stands for what was found: the seek as the plan writes it."""
        lowest = float(self.seek.lowest.key)
        return replace(
            self._run(copy(self.begin), lowest, "finding", 0), cell=self.cell
        )

    def _run(self, unfolding: Unfolds, value: float, phase: str, number: int) -> Run:
        cell = {**self.cell, self.seek.axis: sought_value(self.seek, value)}
        (template,) = self.begin.test.steps
        assert isinstance(template, RunTemplate)
        run = unfolding.run(cell, template, 0, 0)
        scale = unfolding.time_scale
        length, least_ns = probe_length(self.seek, run.length, scale, phase)
        probing = Probing(seek_digest(self.seek), phase, number, least_ns)
        return replace(run, length=length, probing=probing)
