"""Shortens an outline as a person would: matrices, params, a common workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, permutations, product, takewhile
from math import prod

from msgspec.structs import replace

from ioplan_importer.outline import (
    Clauses,
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
)

AXES = {"pattern": "pattern", "size": "size", "mix": "read", "qd": "qd",
        "threads": "threads", "align": "align", "region": "region"}  # fmt: skip
"""The slots that can be varied, with the axis's name."""
LEAST_SHARED = 3
"""So many clauses are worth a workload of their own."""
LEAST_NAME = 4
DEFAULTS = {"qd": "qd 1"}
LEAST_CELLS = 3
"""So many neighbours make a matrix where others stand beside them."""
RUN_TIME = "run_time"
Cell = tuple[tuple[str, str], ...]


def shortened(plan: PlanOutline) -> PlanOutline:
    """The plan with what repeats said once."""
    tests = tuple(_uniquely_titled(with_matrices(plan.tests)))
    return _with_params(replace(plan, tests=tests))


def _uniquely_titled(tests: Iterable[TestOutline]) -> Iterator[TestOutline]:
    """Jobs may share a name, and tests may not."""
    taken: set[str] = set()
    for test in tests:
        title, number = test.title, 2
        while title in taken:
            title, number = f"{test.title}, {number}", number + 1
        taken.add(title)
        yield replace(test, title=title)


def with_matrices(tests: tuple[TestOutline, ...]) -> Iterator[TestOutline]:
    """Neighbours that differ in a full product of axes become one test."""
    at = 0
    while at < len(tests):
        best, count = tests[at], 1
        for many in _counts(islice(tests, at, None)):
            whole = many == len(tests)
            part = tests[at : at + many]
            made = _matrix(part) if whole or many >= LEAST_CELLS else None
            if made:
                best, count = made, many
                break
        yield best
        at += count


def _counts(tests: Iterator[TestOutline]) -> list[int]:
    """How many from the first on may be a matrix, by their number; the most first.

    Thousands of jobs are quickly told to be none: a matrix has no cell twice.
    """
    found, seen, values = list[int](), set[Cell](), dict[str, set[str]]()
    first = None
    for count, test in enumerate(tests, 1):
        first = first or test
        if not _alike(first, test):
            break
        clauses = {**DEFAULTS, **test.streams[0].clauses}
        cell = tuple(sorted(clauses.items()))
        if cell in seen or (values and clauses.keys() != values.keys()):
            break
        seen.add(cell)
        for slot, text in cell:
            values.setdefault(slot, set()).add(text)
        if prod(map(len, values.values())) == count > 1:
            found.append(count)
    return found[::-1]


def _matrix(tests: tuple[TestOutline, ...]) -> TestOutline | None:
    """One test with axes that does the same runs in the same order, if there is one."""
    if not all(_alike(tests[0], test) for test in tests):
        return None
    clauses = [{**DEFAULTS, **test.streams[0].clauses} for test in tests]
    if any(one.keys() != clauses[0].keys() for one in clauses):
        return None
    slots = [s for s in clauses[0] if len({one[s] for one in clauses}) > 1]
    if not slots or not set(slots) <= set(AXES):
        return None
    values = {
        slot: tuple(dict.fromkeys(one[slot] for one in clauses)) for slot in slots
    }
    for order in permutations(slots):
        cells = product(*(values[slot] for slot in order))
        if [tuple(one[s] for s in order) for one in clauses] == list(cells):
            return _varied(tests, order, values)
    return None


def _alike(first: TestOutline, other: TestOutline) -> bool:
    one_stream = len(first.streams) == len(other.streams) == 1
    return (
        one_stream
        and (first.length, first.after) == (other.length, other.after)
        and (first.expects, first.remarks, first.axes)
        == (other.expects, other.remarks, other.axes)
    )


def _varied(
    tests: tuple[TestOutline, ...],
    order: tuple[str, ...],
    values: dict[str, tuple[str, ...]],
) -> TestOutline:
    """The first test, with what varies as its axes."""
    clauses = {**DEFAULTS, **tests[0].streams[0].clauses}
    kept = {s: text for s, text in clauses.items() if s not in order or s == "pattern"}
    if "qd" in order and "threads" in clauses:
        kept["qd"] = clauses["qd"]  # whose depth it is stands in the clause
    kept = {slot: text for slot, text in kept.items() if text != DEFAULTS.get(slot)}
    titles = [test.title for test in tests]
    return replace(
        tests[0],
        title=", ".join(titles) if len(titles) <= 4 else f"{titles[0]} to {titles[-1]}",
        streams=(StreamOutline(name=_common_name(tests, order), clauses=kept),),
        axes=tuple(
            (AXES[slot], tuple(_value(slot, text) for text in values[slot]))
            for slot in order
        ),
    )


def _common_name(tests: tuple[TestOutline, ...], order: tuple[str, ...]) -> str:
    """What the names begin with alike, else what the workload does."""
    names = [test.streams[0].name for test in tests]
    prefix = _same_start(names).rstrip("_0123456789")
    if len(prefix) >= LEAST_NAME:
        return prefix
    clauses = tests[0].streams[0].clauses
    pattern = "" if "pattern" in order else f"{clauses['pattern']}_"
    reads = clauses["mix"].partition("/")[0]
    ios = "io" if "mix" in order else {"100": "reads", "0": "writes"}.get(reads, "mix")
    return f"{pattern}{ios}"


def _same_start(names: list[str]) -> str:
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in columns)


def _value(slot: str, text: str) -> str:
    """A clause as the value of an axis: `qd 8 each` is 8, `70/30` is 70%."""
    if slot == "mix":
        return f"{text.partition('/')[0]}%"
    words = text.split()
    return words[1] if len(words) > 1 else words[0]


def _with_params(plan: PlanOutline) -> PlanOutline:
    """Run times and warm-ups as params, each value once."""
    names: dict[str, str] = {}
    tests = []
    for test in plan.tests:
        length = _named(test.length, names)
        streams = tuple(_ending(stream, names) for stream in test.streams)
        tests.append(replace(test, length=length, streams=streams))
    return replace(
        plan,
        tests=tuple(tests),
        params={**{n: v for v, n in names.items()}, **plan.params},
    )


def _named(length: Length, names: dict[str, str]) -> Length:
    """The length with the name of its time."""
    if length.run_ns is None:
        return length
    value = length.text.removeprefix("for ")
    if value not in names:
        names[value] = RUN_TIME if not names else f"{RUN_TIME}_{len(names) + 1}"
    return replace(length, text=f"for {names[value]}")


def _ending(stream: StreamOutline, names: dict[str, str]) -> StreamOutline:
    """The stream with the name of the time that it ends after, if it has one."""
    ends = stream.clauses.get("ends", "").removeprefix("ends after ")
    run_time, plus, more = ends.partition(" + ")
    if run_time not in names:
        return stream
    text = f"ends after {names[run_time]}{plus}{more}"
    clauses = {**stream.clauses, "ends": text}
    return replace(stream, clauses=clauses)


def common_clauses(streams: list[StreamOutline]) -> Clauses:
    """What all streams say alike, where that is worth a workload of its own."""
    if len(streams) < 2:
        return {}
    first, *others = [stream.clauses for stream in streams]
    shared = {s: t for s, t in first.items() if all(o.get(s) == t for o in others)}
    worth = len(shared.keys() - {"permuted"}) >= LEAST_SHARED
    return shared if worth and "pattern" in shared else {}
