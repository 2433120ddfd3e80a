"""A plan in the making: tests of streams of clauses, each clause as it is written."""

from __future__ import annotations

from msgspec import Struct

SLOTS = (
    *("base", "pattern", "random share", "size", "read sizes", "write sizes", "mix"),
    *(
        "qd",
        "read random",
        "write random",
        "threads",
        "rate",
        "pause",
        "region",
        "distribution",
        "permuted",
        "align",
    ),
    *("data", "dedup", "trim", "sync", "starts", "ends"),
)
"""What a stream says, in the order in which it is written; up to `mix` without commas.
"""
HEAD = SLOTS[: SLOTS.index("qd")]

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


class PlanOutline(Struct, frozen=True):
    """A whole plan."""

    title: str
    tests: tuple[TestOutline, ...]
    preparations: tuple[PreparationOutline, ...] = ()
    remarks: tuple[str, ...] = ()
    params: dict[str, str] = {}


def spec(clauses: Clauses) -> str:
    """Clauses as one workload, without a name.

    A clause without a place in SLOTS stands last, so that none is dropped.
    """
    head = " ".join(clauses[slot] for slot in HEAD if slot in clauses)
    slots = [*SLOTS[len(HEAD) :], *(slot for slot in clauses if slot not in SLOTS)]
    rest = [clauses[slot] for slot in slots if slot in clauses]
    return ", ".join([head, *rest])
