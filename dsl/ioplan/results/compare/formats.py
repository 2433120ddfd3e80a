"""A comparison in the terminal, in Markdown, JUnit's XML and annotations of GitHub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
from ioplan.results.report.blocks import Table, Text, Tone
from ioplan.results.report.documents import Judged
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store


def text(comparison: Comparison, everything: bool) -> Iterator[RenderableType]:
    """For the terminal; equal rows only with `everything`."""
    return writers.terminal(blocks(comparison, everything))


def markdown(comparison: Comparison) -> str:
    """The heading and the sentence first, for a pull request."""
    ordered = sorted(
        blocks(comparison), key=lambda b: getattr(b, "tone", "") != "strong"
    )
    return writers.markdown(ordered)


def _row_text(table: Table, row: Sequence[Text]) -> str:
    """`worse: base 601k, new 480k, change -20.1 %`."""
    texts = (
        f"{heading} {cell.text}"
        for heading, cell in zip(table.headings, row, strict=True)
        if heading not in ("", "cell", "metric") and cell.text
    )
    return f"{row[0].text}: {', '.join(texts)}"


def _row_name(table: Table, row: Sequence[Text]) -> str:
    cells = zip(table.headings, row, strict=True)
    return " ".join(c.text for name, c in cells if name in ("cell", "metric")).strip()


LEVELS = {"worse": "error", "suspected": "warning", "better": "notice"}
TEXT_LEVELS: dict[Tone, str] = {
    "bad": "error",
    "warning": "warning",
    "plain": "notice",
    "strong": "notice",
}
MAX_SHOWN = 10
"""GitHub shows ten of a level for each step, and drops others silently."""


def github(comparison: Comparison) -> str:
    """Errors for what is worse or missing, warnings, notices; the sentence first."""
    shown = Counter[str]()
    lines = []
    for level, title, message in _annotations(
        list(blocks(comparison, True, reasons=True))[1:]
    ):
        shown[level] += 1
        if shown[level] <= MAX_SHOWN:
            lines.append(f"::{level} title={title}::{message}")
    return "\n".join(lines) + "\n"


def _annotations(parts: Sequence[Text | Table]) -> Iterator[tuple[str, str, str]]:
    """Texts come before the rows, of which there may be too many."""
    for part in parts:
        if isinstance(part, Text) and part.tone in TEXT_LEVELS:
            title = part.link or "ioplan compare"
            yield TEXT_LEVELS[part.tone], _github(title), _github(part.text)
    for table in (part for part in parts if isinstance(part, Table)):
        for row in table.rows:
            if level := LEVELS.get(row[0].text):
                title = _github(f"{table.title} {_row_name(table, row)}")
                title = title.replace(":", "%3A").replace(",", "%2C")
                yield level, title, _github(_row_text(table, row))


def _github(text: str) -> str:
    """Line ends cannot come through `printable`; percent signs can."""
    return printable(text).replace("%", "%25")


ELEMENTS: dict[Tone, str] = {"bad": "failure", "warning": "skipped"}


def junit(comparison: Comparison) -> bytes:
    """Worse is a failure, what is not decided is skipped, a missing cell an error."""
    root = Element("testsuites", name="ioplan compare")
    parts = list(blocks(comparison, everything=True, reasons=True))
    for part in parts:
        if isinstance(part, Table):
            _suite(root, part.title, [_case(part, row) for row in part.rows])
    missing = [
        (part.text, "error", part.text)
        for part in parts
        if isinstance(part, Text) and part.link == MISSING
    ]
    if missing:
        _suite(root, MISSING, missing)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(table: Table, row: Sequence[Text]) -> tuple[str, str, str]:
    kind = ELEMENTS.get(row[0].tone, "")
    return _row_name(table, row), kind, _row_text(table, row)


def _suite(root: Element, title: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Test cases by name, with an element of a kind and a message."""
    count = Counter(kind for _, kind, _ in rows)
    suite = SubElement(
        root,
        "testsuite",
        name=printable(title),
        tests=str(len(rows)),
        failures=str(count["failure"]),
        errors=str(count["error"]),
        skipped=str(count["skipped"]),
    )
    for name, kind, message in rows:
        attributes = {"classname": printable(title), "name": printable(name)}
        case = SubElement(suite, "testcase", attributes)
        if kind:
            SubElement(case, kind, message=printable(message))
        else:
            SubElement(case, "system-out").text = printable(message)


# The lines of a report of two sides.

MOST_RUNS = 3000
"""A report of more runs does not wait for the other sessions to be read."""
OUTCOMES: dict[Tone, str] = {"bad": "failed", "good": "held", "soft": "held"}


def compared(store: Store, sessions: Sequence[Session]) -> tuple[Judged, ...]:
    """The lines on two sides; none if the sessions are not of two.

    The first session, or all on the first of two targets, are the base. Raises
    StoreError.
    """
    sides = _sides(sessions)
    if not sides or sum(store.count(session.id) for session in sessions) > MOST_RUNS:
        return ()
    base, new = (side_of(store, side) for side in sides)
    comparison = compare(Reader(store), base, new, Question())
    return tuple(_lines(comparison)) if comparison.rows else ()


def _sides(sessions: Sequence[Session]) -> tuple[list[Session], list[Session]] | None:
    targets = list(dict.fromkeys(session.target for session in sessions))
    if len(targets) == 2:
        base, new = ([s for s in sessions if s.target == target] for target in targets)
        return base, new
    return ([sessions[0]], [sessions[1]]) if len(sessions) == 2 else None


def _lines(comparison: Comparison) -> Iterator[Judged]:
    yield Judged("none", sentence(comparison))
    yield from (Judged("undecided", text) for text in comparison.differences)
    for block in blocks(comparison):
        if isinstance(block, Text) and block.link == MISSING:
            yield Judged("failed", block.text)
        elif isinstance(block, Table) and block.title == ALL_CELLS:
            for row in block.rows:
                text = f"{ALL_CELLS}, {_row_name(block, row)}: {_row_text(block, row)}"
                yield Judged(OUTCOMES.get(row[0].tone, "undecided"), text)
    yield from (Judged("none", text) for text in noise_texts(comparison))
