"""The syntax tree: what the text says, right or wrong, with a span on each node.

Only `checker` turns a tree into a plan that can be relied on.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ioplan.language.syntax.source import Source, Span


class Node(Struct, frozen=True):
    """Anything with a place in the text."""

    span: Span


class Word(Node, frozen=True):
    """A name, a keyword or an operator."""

    text: str


class Atom(Node, frozen=True):
    """A value: a quantity, a mix such as 70/30, or a name that stands for one.

    Of kind "reckoned" it is what `text` makes of its two `parts`: `+ - * /`; of kind
    "share" its one part, a share of what the test called `text` has found.
    """

    kind: str
    text: str
    parts: tuple[Atom, ...] = ()


def names_in(atom: Atom) -> tuple[str, ...]:
    """The names that a value uses."""
    if atom.kind == "name":
        return (atom.text,)
    return tuple(name for part in atom.parts for name in names_in(part))


class Clause(Node, frozen=True):
    """One clause of a workload or of `rounds`: `qd 16 each`, `sizes { … }`, …

    `kind` is the clause's keyword, or `pattern`, `base` and `value` for those
    without one. `head` tells that it stands before the first comma.
    """

    kind: str
    atoms: tuple[Atom, ...] = ()
    words: tuple[Word, ...] = ()
    pairs: tuple[tuple[Any, ...], ...] = ()
    condition: Condition | None = None
    head: bool = False


class Spec(Node, frozen=True):
    """A workload, written out or started from another."""

    clauses: tuple[Clause, ...]


class Comparison(Node, frozen=True):
    """`qd == 32`, `region == 0%..50%`; `name` is the text of what is `reckoned`."""

    name: Word
    operator: Word
    value: Atom | Element
    reckoned: Atom | None = None


class Junction(Node, frozen=True):
    """`and`, `or` of several conditions, or `not` of one."""

    operator: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]


Condition = Comparison | Junction


class Element(Node, frozen=True):
    """One entry of `vary … in`: single, span, doubling, stepped, together, …"""

    kind: str
    atoms: tuple[Atom, ...]


class Purge(Node, frozen=True):
    """`purge`."""


class Write(Node, frozen=True):
    """`write sequential 128KiB, 2 passes`."""

    spec: Spec


class Idle(Node, frozen=True):
    """`idle 5s`."""

    pause: Atom


class Named(Node, frozen=True):
    """Another precondition, by its name."""

    name: Word


class After(Node, frozen=True):
    """`after filled then stirred before each size`."""

    name: Word
    then: Word | None
    before_each: Word | None


class Run(Node, frozen=True):
    """`run random 4KiB 100/0 for 1min as before`."""

    spec: Spec
    name: Word | None = None


class Repeat(Node, frozen=True):
    """`repeat 360 { … }`."""

    times: Atom
    steps: tuple[Step, ...]


Step = Run | Idle | Repeat


class Vary(Node, frozen=True):
    """`vary qd in 1..128 doubling`."""

    names: tuple[Word, ...]
    elements: tuple[Element, ...]


class Skip(Node, frozen=True):
    """`skip when size > 64KiB and qd > 32`."""

    condition: Condition


class Rounds(Node, frozen=True):
    """`rounds until steady iops when qd == 1, at most 25`."""

    clauses: tuple[Clause, ...]


class Seek(Node, frozen=True):
    """`seek highest rate in 1_000 iops..2_000_000 iops where p99 <= 1ms, within 3%`.

    `share` is the `of 90%` of a knee.
    """

    goal: Word
    name: Word
    elements: tuple[Element, ...]
    share: Atom | None
    where: Condition | None
    options: tuple[Clause, ...]


class Expect(Node, frozen=True):
    """`expect read.p99 < 2ms when qd == 32`."""

    metric: Word
    operator: Word
    limit: Atom
    of: Word | None
    condition: Condition | None


class Headline(Node, frozen=True):
    """`headline read.p99 at qd == 1`."""

    metric: Word
    condition: Condition | None


class Chart(Node, frozen=True):
    """`chart lines iops by read per qd, log y`."""

    kind: Word
    metrics: tuple[Word, ...]
    preposition: str
    by: tuple[Word, ...]
    per: tuple[Word, ...]
    condition: Condition | None
    scales: tuple[Word, ...]


Statement = (
    After
    | Run
    | Idle
    | Repeat
    | Vary
    | Skip
    | Rounds
    | Seek
    | Expect
    | Headline
    | Chart
)
Prepare = Purge | Write | Idle | Named


class Plan(Node, frozen=True):
    """`plan "Title"`."""

    title: Word


class Use(Node, frozen=True):
    """`use "std/workloads.ioplan" as std`."""

    path: Word
    alias: Word | None


class Trace(Node, frozen=True):
    """`trace web = "web.iotrace"`."""

    name: Word
    path: Word


class Param(Node, frozen=True):
    """`param run_time = 3min`."""

    name: Word
    value: Atom


class Setting(Node, frozen=True):
    """`run_time = 1s` inside a profile."""

    name: Word
    value: Atom


class Profile(Node, frozen=True):
    """`profile smoke { … }`."""

    name: Word
    settings: tuple[Setting, ...]


class OnFailure(Node, frozen=True):
    """`on failure continue`."""

    what: Word


class OnUnsteady(Node, frozen=True):
    """`on unsteady continue`."""

    what: Word


class OnNothingFound(Node, frozen=True):
    """`on nothing found continue`."""

    what: Word


class Accept(Node, frozen=True):
    """`accept "unwritten reads"`."""

    what: Word


class Stream(Node, frozen=True):
    """`reader = random 4KiB 100/0` inside a workload of several streams."""

    name: Word
    spec: Spec


class Workload(Node, frozen=True):
    """`workload NAME = …` (one nameless stream) or `workload NAME { … }`."""

    name: Word
    spec: Spec | None
    streams: tuple[Stream, ...] = ()


class Precondition(Node, frozen=True):
    """`precondition NAME { … }`."""

    name: Word
    steps: tuple[Prepare, ...]


class Test(Node, frozen=True):
    """`test "Title" { … }`."""

    title: Word
    statements: tuple[Statement, ...]


Outcome = OnFailure | OnUnsteady | OnNothingFound
Item = (
    Plan
    | Use
    | Trace
    | Param
    | Profile
    | Outcome
    | Accept
    | Workload
    | Precondition
    | Test
)


class File(Struct, frozen=True):
    """A parsed text; `damaged` are the places that could not be parsed.

    `parsed` is what was: the source without comments and without what is damaged.
    """

    source: Source
    items: tuple[Item, ...]
    damaged: tuple[Span, ...] = ()
    parsed: str = ""
