"""Writes an outline as the text of a plan, in ioplan's one layout."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import format_text, make
from ioplan_importer.outline import (
    BASE,
    Clauses,
    PlanOutline,
    StreamOutline,
    TestOutline,
    spec,
)
from ioplan_importer.sharing import common_clauses

COMMON = "common"
WIDTH = 78


class Library:
    """Workloads that several plans share: one file, each workload once."""

    file_name = "workloads.ioplan"

    def __init__(self, name: str) -> None:
        self.name = name
        self.defined: dict[str, str] = {}

    def text(self) -> str:
        """The file that all the plans use."""
        head = f"# The workloads of {self.name}, which its plans share."
        blocks = [_definition(name, body) for name, body in self.defined.items()]
        return format_text("\n\n".join([head, *blocks]) + "\n", self.file_name)


def plan_text(
    plan: PlanOutline,
    name: str,
    comments: tuple[str, ...] = (),
    library: Library | None = None,
) -> str:
    """The plan, with comments at its head. `name` is for messages.

    With a `library`, workloads are defined there, and used from it.
    """
    streams = [s for test in plan.tests for s in test.streams]
    common = {} if library else common_clauses(streams)
    taken = {s.name for test in plan.tests for s in test.streams}
    base = COMMON if COMMON not in taken else f"{COMMON}_workload"
    blocks = [
        *_head(plan, comments),
        *([f'use "{library.file_name}" as {library.name}'] if library else []),
        *(f'trace {one.name} = "{one.file_name}"' for one in plan.traces),
        *([f"workload {base} = {spec(common)}"] if common else []),
        *_preparations(plan),
        *_tests(plan, common, base, library),
    ]
    return format_text("\n\n".join(blocks) + "\n", name)


def _head(plan: PlanOutline, comments: tuple[str, ...]) -> Iterator[str]:
    lines = [*_wrapped((*comments, *plan.remarks)), f"plan {_quoted(plan.title)}"]
    yield "\n".join(lines)
    if plan.params:
        yield "\n".join(
            f"param {name} = {value}" for name, value in plan.params.items()
        )


def _wrapped(comments: tuple[str, ...]) -> Iterator[str]:
    """Comments in lines that fit."""
    for comment in comments:
        line, later = "#", "#  " if comment.startswith("- ") else "#"
        for word in " ".join(comment.split()).split(" "):
            if len(line) + 1 + len(word) > WIDTH and line != "#":
                yield line
                line = later
            line += f" {word}"
        yield line


def title_of(text: str) -> str:
    """What a plan's title keeps of a text."""
    return "".join(c for c in text if c.isprintable())


def _quoted(text: str) -> str:
    return '"' + title_of(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _preparations(plan: PlanOutline) -> Iterator[str]:
    for one in plan.preparations:
        steps = "\n".join(one.steps)
        yield f"precondition {one.name} {{\n{steps}\n}}"


def _tests(
    plan: PlanOutline, common: Clauses, base: str, library: Library | None
) -> Iterator[str]:
    """Each test behind the workloads that it is the first to run."""
    defined = library.defined if library else {}
    for test in plan.tests:
        known = set(defined)
        texts = {s.name: spec(_without(s, common, base)) for s in test.streams}
        if len(test.streams) == 1:
            name = _define(test.streams[0].name, next(iter(texts.values())), defined)
        else:
            body = "\n".join(f"{n} = {text}" for n, text in texts.items())
            name = _define(_group_name(test), f"{{\n{body}\n}}", defined)
        if library is None and name not in known:
            yield _definition(name, defined[name])
        yield _test(test, f"{library.name}.{name}" if library else name)


def _definition(name: str, body: str) -> str:
    return f"workload {name} {body if body.startswith('{') else f'= {body}'}"


def _group_name(test: TestOutline) -> str:
    """The names of two streams; of more, those of the first and how many follow."""
    names = [stream.name for stream in test.streams]
    if len(names) == 2:
        return "_and_".join(names)
    return f"{names[0]}_and_{len(names) - 1}_more"


def _define(name: str, text: str, defined: dict[str, str]) -> str:
    """A name that no other workload has; an equal one keeps its own."""
    for known, body in defined.items():
        if body == text:
            return known
    free, number = name, 2
    while free in defined or free in RESERVED:
        free, number = f"{name}_{number}", number + 1
    defined[free] = text
    return free


RESERVED = frozenset(("random", "sequential", "test", "plan", "use", "read", "write"))
"""Words that cannot stand at the head of a run as the name of a workload."""


def _without(stream: StreamOutline, common: Clauses, base: str) -> Clauses:
    """The clauses behind the common workload's name."""
    if not common:
        return stream.clauses
    own = {s: text for s, text in stream.clauses.items() if common.get(s) != text}
    return {BASE: base, **own}


def _test(test: TestOutline, workload: str) -> str:
    lines = [f"test {_quoted(test.title)} {{"]
    lines += list(_wrapped(test.remarks))
    if test.after:
        lines.append(f"after {test.after}")
    override = f", {test.override}" if test.override else ""
    lines.append(f"run {workload}{override}{_length(test)}")
    lines += [f"vary {axis} in {', '.join(values)}" for axis, values in test.axes]
    lines += [f"expect {one}" for one in test.expects]
    return "\n".join([*lines, "}"])


def _length(test: TestOutline) -> str:
    length = test.length
    if not length.text:  # a replay has its own
        return ""
    text = f" {length.text}" if length.text.startswith("for ") else f", {length.text}"
    text += length.more
    if length.warmup_ns:
        text += f", warmup {make('time', length.warmup_ns).text}"
    return text
