"""The syntax tree: what the text says, right or wrong, with a span on each node.

Only `checker` turns a tree into a plan that can be relied on.
"""

from __future__ import annotations

from dataclasses import dataclass

from ioplan.language.syntax.source import Source, Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the text."""

    span: Span


@dataclass(frozen=True, slots=True)
class Word(Node):
    """A name, a keyword or an operator."""

    text: str


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """A value: a quantity, a mix such as 70/30, or a name that stands for one."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """One clause of a workload or of `rounds`: `qd 16 each`, `sizes { … }`, …

    `kind` is the clause's keyword, or `pattern`, `base` and `value` for those
    without one. `head` tells that it stands before the first comma.
    """

    kind: str
    atoms: tuple[Atom, ...] = ()
    words: tuple[Word, ...] = ()
    pairs: tuple[tuple[Atom, Atom], ...] = ()
    condition: Condition | None = None
    head: bool = False


@dataclass(frozen=True, slots=True)
class Spec(Node):
    """A workload, written out or started from another."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`qd == 32`, `region == 0%..50%`."""

    name: Word
    operator: Word
    value: Atom | Element


@dataclass(frozen=True, slots=True)
class Junction(Node):
    """`and`, `or` of several conditions, or `not` of one."""

    operator: str
    parts: tuple[Condition, ...]


Condition = Comparison | Junction


@dataclass(frozen=True, slots=True)
class Element(Node):
    """One entry of `vary … in`: single, span, doubling, stepped, together, …"""

    kind: str
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Purge(Node):
    """`purge`."""


@dataclass(frozen=True, slots=True)
class Write(Node):
    """`write sequential 128KiB, 2 passes`."""

    spec: Spec


@dataclass(frozen=True, slots=True)
class Idle(Node):
    """`idle 5s`."""

    pause: Atom


@dataclass(frozen=True, slots=True)
class Named(Node):
    """Another precondition, by its name."""

    name: Word


@dataclass(frozen=True, slots=True)
class After(Node):
    """`after filled then stirred before each size`."""

    name: Word
    then: Word | None
    before_each: Word | None


@dataclass(frozen=True, slots=True)
class Run(Node):
    """`run random 4KiB 100/0 for 1min`."""

    spec: Spec


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """`repeat 360 { … }`."""

    times: Atom
    steps: tuple[Step, ...]


Step = Run | Idle | Repeat


@dataclass(frozen=True, slots=True)
class Vary(Node):
    """`vary qd in 1..128 doubling`."""

    names: tuple[Word, ...]
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Skip(Node):
    """`skip when size > 64KiB and qd > 32`."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Rounds(Node):
    """`rounds until steady iops when qd == 1, at most 25`."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Expect(Node):
    """`expect read.p99 < 2ms when qd == 32`."""

    metric: Word
    operator: Word
    limit: Atom
    of_baseline: bool
    condition: Condition | None


@dataclass(frozen=True, slots=True)
class Chart(Node):
    """`chart lines iops by read per qd, log y`."""

    kind: Word
    metrics: tuple[Word, ...]
    preposition: str
    by: tuple[Word, ...]
    per: tuple[Word, ...]
    condition: Condition | None
    scales: tuple[Word, ...]


Statement = After | Run | Idle | Repeat | Vary | Skip | Rounds | Expect | Chart
Prepare = Purge | Write | Idle | Named


@dataclass(frozen=True, slots=True)
class Plan(Node):
    """`plan "Title"`."""

    title: Word


@dataclass(frozen=True, slots=True)
class Use(Node):
    """`use "std/workloads.ioplan" as std`."""

    path: Word
    alias: Word | None


@dataclass(frozen=True, slots=True)
class Param(Node):
    """`param run_time = 3min`."""

    name: Word
    value: Atom


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """`run_time = 1s` inside a profile."""

    name: Word
    value: Atom


@dataclass(frozen=True, slots=True)
class Profile(Node):
    """`profile smoke { … }`."""

    name: Word
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class OnFailure(Node):
    """`on failure continue`."""

    what: Word


@dataclass(frozen=True, slots=True)
class Stream(Node):
    """`reader = random 4KiB 100/0` inside a workload of several streams."""

    name: Word
    spec: Spec


@dataclass(frozen=True, slots=True)
class Workload(Node):
    """`workload NAME = …` (one nameless stream) or `workload NAME { … }`."""

    name: Word
    spec: Spec | None
    streams: tuple[Stream, ...] = ()


@dataclass(frozen=True, slots=True)
class Precondition(Node):
    """`precondition NAME { … }`."""

    name: Word
    steps: tuple[Prepare, ...]


@dataclass(frozen=True, slots=True)
class Test(Node):
    """`test "Title" { … }`."""

    title: Word
    statements: tuple[Statement, ...]


Item = Plan | Use | Param | Profile | OnFailure | Workload | Precondition | Test


@dataclass(frozen=True)
class File:
    """A parsed text; `damaged` are the places that could not be parsed."""

    source: Source
    items: tuple[Item, ...]
    damaged: tuple[Span, ...] = ()
