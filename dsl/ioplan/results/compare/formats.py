"""A comparison in the terminal, in Markdown, JUnit's XML and annotations of GitHub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich.console import RenderableType

from ioplan.core.text import printable
from ioplan.records.session import Session
from ioplan.results.compare.blocks import (
    ALL_CELLS,
    MISSING,
    blocks,
    noise_texts,
    sentence,
)
from ioplan.results.compare.comparison import Comparison
from ioplan.results.compare.judge import Question, compare
from ioplan.results.compare.side import side_of
from ioplan.results.report import writers
from ioplan.results.report.blocks import Judged, Table, Text, Tone
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store


def text(comparison: Comparison, everything: bool) -> Iterator[RenderableType]:
    return writers.terminal(blocks(comparison, everything))


def markdown(comparison: Comparison) -> str:
    """The sentence first, for a pull request."""
    _heading, *parts = blocks(comparison)
    first = sorted(parts, key=lambda part: getattr(part, "tone", "") != "strong")
    return writers.markdown(first)


class Case(NamedTuple):
    """A row of a table, or a missing cell, as one line."""

    suite: str
    name: str
    verdict: str
    tone: Tone
    message: str


def _cases(comparison: Comparison, reasons: bool = True) -> Iterator[Case]:
    """`worse: base 601k, new 480k, change -20.1 %` of all rows, then missing cells."""
    parts = list(blocks(comparison, everything=True, reasons=reasons))
    for table in (part for part in parts if isinstance(part, Table)):
        for verdict, *row in table.rows:
            cells = list(zip(table.headings[1:], row, strict=True))
            names = [c.text for name, c in cells if name in ("cell", "metric")]
            texts = [
                f"{name} {cell.text}"
                for name, cell in cells
                if name not in ("cell", "metric") and cell.text
            ]
            message = f"{verdict.text}: {', '.join(texts)}"
            name = " ".join(filter(None, names))
            yield Case(table.title, name, verdict.text, verdict.tone, message)
    for part in parts:
        if isinstance(part, Text) and part.link == MISSING:
            yield Case(MISSING, part.text, MISSING, "bad", part.text)


LEVELS = {
    MISSING: "error",
    "worse": "error",
    "suspected": "warning",
    "better": "notice",
}
MAX_SHOWN = 10
"""GitHub shows ten of a level for each step, and drops others silently."""


def github(comparison: Comparison) -> str:
    """The sentence, what to know besides, then what is missing, worse, and better."""
    _, *parts = blocks(comparison)
    lines = [
        ("warning" if part.tone == "warning" else "notice", "ioplan compare", part.text)
        for part in parts
        if isinstance(part, Text) and part.tone not in ("soft", "bad")
    ]
    cases = sorted(_cases(comparison), key=lambda case: case.verdict != MISSING)
    for case in cases:
        if level := LEVELS.get(case.verdict):
            title = f"{case.suite} {case.name}".removesuffix(f" {case.message}")
            lines.append((level, title, case.message))
    count = Counter[str]()
    texts = []
    for level, title, message in lines:
        count[level] += 1
        if count[level] <= MAX_SHOWN:
            name = _github(title).replace(":", "%3A").replace(",", "%2C")
            texts.append(f"::{level} title={name}::{_github(message)}\n")
    return "".join(texts)


def _github(message: str) -> str:
    """Line ends cannot come through `printable`; percent signs can."""
    return printable(message).replace("%", "%25")


ELEMENTS: dict[Tone, str] = {"bad": "failure", "warning": "skipped"}


def junit(comparison: Comparison) -> bytes:
    """Worse is a failure, what is not decided is skipped, a missing cell an error."""
    root = Element("testsuites", name="ioplan compare")
    for title, group in groupby(_cases(comparison), key=lambda case: case.suite):
        _suite(root, printable(title), list(group))
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Element, title: str, cases: Sequence[Case]) -> None:
    suite = SubElement(root, "testsuite", name=title, tests=str(len(cases)))
    count = Counter[str]()
    for case in cases:
        attributes = {"classname": title, "name": printable(case.name)}
        element = SubElement(suite, "testcase", attributes)
        kind = "error" if case.verdict == MISSING else ELEMENTS.get(case.tone, "")
        count[kind] += 1
        if kind:
            SubElement(element, kind, message=printable(case.message))
        else:
            SubElement(element, "system-out").text = printable(case.message)
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped",) * 2):
        suite.set(name, str(count[kind]))


# The lines of a report of two sides.

MOST_RUNS = 3000
"""A report of more runs does not wait for the other sessions to be read."""
OUTCOMES: dict[Tone, str] = {"bad": "failed", "good": "held", "soft": "held"}


def compared(store: Store, sessions: Sequence[Session]) -> tuple[Judged, ...]:
    """The lines on two sides; none if the sessions are not of two.

    The first session, or all on the first of two targets, are the base. Raises
    StoreError.
    """
    targets = list(dict.fromkeys(session.target for session in sessions))
    sides = [[session] for session in sessions]
    if len(targets) == 2:
        sides = [[s for s in sessions if s.target == target] for target in targets]
    is_large = sum(store.count(session.id) for session in sessions) > MOST_RUNS
    if len(sides) != 2 or is_large:
        return ()
    base, new = (side_of(store, side) for side in sides)
    comparison = compare(Reader(store), base, new, Question())
    return tuple(_lines(comparison)) if comparison.rows else ()


def _lines(comparison: Comparison) -> Iterator[Judged]:
    yield Judged("none", sentence(comparison))
    yield from (Judged("undecided", text) for text in comparison.differences)
    for case in _cases(comparison, reasons=False):
        outcome = OUTCOMES.get(case.tone, "undecided")
        if case.suite == ALL_CELLS:
            yield Judged(outcome, f"{ALL_CELLS}, {case.name}: {case.message}")
        elif case.suite == MISSING:
            yield Judged(outcome, case.message)
    yield from (Judged("none", text) for text in noise_texts(comparison))
