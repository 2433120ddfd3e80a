"""A plan in the making: tests of streams of clauses, each clause as it is written."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ioplan.language import HEAD_SLOTS, SLOTS, Span

BASE = "base"
"""The slot of a workload that the others start from."""
SIZES = dict.fromkeys(("read sizes", "write sizes"), "size")
"""Two clauses of an outline that are about one thing in the language."""

Clauses = dict[str, str]
"""By slot, the text of the clause."""


class StreamOutline(Struct, frozen=True):
    """One stream of I/O."""

    name: str
    clauses: Clauses


class Length(Struct, frozen=True):
    """How long a run goes on, as a plan says it: `for 60s`, `1 pass`; `more` is what
    a delayed stream adds to it: ` + 2s`."""

    text: str = ""
    run_ns: int | None = None
    warmup_ns: int = 0
    more: str = ""


class TestOutline(Struct, frozen=True):
    """One test: streams at the same time, or over axes. `remarks` become comments, and
    `override` stands behind the workload in the run."""

    __test__ = False  # not one of pytest's

    title: str
    streams: tuple[StreamOutline, ...]
    length: Length
    override: str = ""
    axes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    after: str = ""
    expects: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class PreparationOutline(Struct, frozen=True):
    """A precondition: its name and its steps as they are written."""

    name: str
    steps: tuple[str, ...]


class TraceOutline(Struct, frozen=True):
    """A trace of a plan: the log that it is made of, and where that was said."""

    name: str
    log: Path
    span: Span

    @property
    def file_name(self) -> str:
        """Beside the plan."""
        return f"{self.name}.iotrace"


class PlanOutline(Struct, frozen=True):
    """A whole plan."""

    title: str
    tests: tuple[TestOutline, ...]
    preparations: tuple[PreparationOutline, ...] = ()
    remarks: tuple[str, ...] = ()
    params: dict[str, str] = {}
    traces: tuple[TraceOutline, ...] = ()


def spec(clauses: Clauses) -> str:
    """Clauses as one workload, without a name, in the order of the language's table.

    A clause that the table lacks stands last, so that none is dropped.
    """
    slots = sorted(clauses, key=_place)
    head = " ".join(clauses[slot] for slot in slots if _is_in_head(slot))
    return ", ".join([head, *(clauses[s] for s in slots if not _is_in_head(s))])


def _place(slot: str) -> int:
    order = (BASE, *SLOTS)
    own = SIZES.get(slot, slot)
    return order.index(own) if own in order else len(order)


def _is_in_head(slot: str) -> bool:
    return slot == BASE or SIZES.get(slot, slot) in HEAD_SLOTS
