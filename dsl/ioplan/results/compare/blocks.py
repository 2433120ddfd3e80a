"""A comparison as blocks, and in the formats that these are written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ioplan.core.grouping import grouped
from ioplan.core.text import counted, printable
from ioplan.core.units import digits, metric_text, percent_text, ratio_text
from ioplan.records.session import Session
from ioplan.results.compare.comparison import (
    VERDICTS,
    Comparison,
    JudgedMetric,
    NoiseSummary,
    Row,
    RowVerdict,
    SideSummary,
)
from ioplan.results.compare.decision import (
    ASSUMED_PERCENT,
    MOST,
    OTHER_METHOD,
    UNKNOWN_NOISE,
)
from ioplan.results.compare.judge import Question, compare
from ioplan.results.compare.side import side_of
from ioplan.results.report.blocks import MARK, Judged, Table, Text, Tone
from ioplan.results.report.headlines.doubts import gravity
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.reader import Reader
from ioplan.results.report.remarks import text_kind
from ioplan.results.report.sentences import place_text
from ioplan.results.report.writers import markdown as markdown_of
from ioplan.results.store.store import Store

TONES: dict[RowVerdict, Tone] = {
    "worse": "bad",
    "better": "good",
    "suspected": "warning",
    "equal": "soft",
    "inconclusive": "warning",
    "ratio": "plain",
}
ALL_CELLS, MISSING = "All cells", "missing cells"
PHRASES: dict[RowVerdict, str] = {
    "suspected": "gives a suspicion only",
    "inconclusive": "is inconclusive",
    "ratio": "gives ratios only",
}
"""Of rows that have no verdict yet."""
COUNTED: dict[RowVerdict, str] = {"ratio": "as a ratio only"}
"""What stands behind a count, where this is not the verdict itself."""
MOST_ROWS = 400
"""So many rows of a test are shown."""
MOST_NAMED = 8
MOST_ALTERNATIONS = 5


def blocks(
    comparison: Comparison, everything: bool = False, reasons: bool = False
) -> Iterator[Text | Table]:
    """Heading, sides, tables, one sentence, and what to know besides.

    Equal rows, and more than a person reads, are shown with `everything`; `reasons` is
    a column of why rows have their verdict.
    """
    yield Text(heading(comparison), "strong")
    yield Text(_side_text("BASE", comparison.base), "soft")
    yield Text(_side_text("NEW ", comparison.new), "soft")
    yield from (Text(difference, "warning") for difference in comparison.differences)
    if comparison.all_cells:
        columns = _all_cells_columns(comparison)
        yield _table(ALL_CELLS, columns, comparison.all_cells, reasons)
    for test, group in groupby(comparison.rows, key=lambda row: row.test):
        rows = [row for row in group if everything or row.verdict != "equal"]
        by_verdict = sorted(rows, key=lambda row: row.verdict == "inconclusive")
        chosen = {id(row) for row in by_verdict[: None if everything else MOST_ROWS]}
        shown = [row for row in rows if id(row) in chosen]
        if shown:
            yield _table(test, _columns(comparison, shown), shown, reasons)
        if more := len(rows) - len(shown):
            yield Text(f"{more:,} more rows: add --all, or --format json", "soft")
    yield Text(sentence(comparison), "strong")
    most = len(comparison.missing) if everything else MOST_NAMED
    for text in _named("", comparison.missing, most):
        yield Text(text, "bad", MISSING)
    yield from map(Text, _notes(comparison))


def heading(comparison: Comparison) -> str:
    """Which drive is compared with which, or on which drive."""
    base, new = _drive_text(comparison.base), _drive_text(comparison.new)
    if comparison.is_of_drives:
        return f"{new} compared with {base}"
    return f"NEW compared with BASE on {new}"


def _drive_text(side: SideSummary) -> str:
    return ", ".join(drive.lstrip(":") for drive in side.drives) or side.target


def _side_text(name: str, side: SideSummary) -> str:
    what = f"plan {side.plan}, drive {_drive_text(side)}, backend {side.backend}"
    return f"{name} {', '.join(side.sessions)}: {what}"


# Tables.

Columns = dict[str, list[str]]
NUMERIC = ("base", "new", "change", "ratio", "95 % interval")


def _table(
    title: str, columns: Columns, judged: Sequence[JudgedMetric], reasons: bool
) -> Table:
    if reasons:
        columns = columns | {"reason": [row.why for row in judged]}
    columns = {name: texts for name, texts in columns.items() if any(texts)}
    verdicts = [Text(row.verdict, TONES[row.verdict]) for row in judged]
    cells = zip(*([*map(Text, texts)] for texts in columns.values()), strict=True)
    return Table(
        title,
        ("", *columns),
        tuple((verdict, *row) for verdict, row in zip(verdicts, cells, strict=True)),
        frozenset(at for at, name in enumerate(columns, 1) if name in NUMERIC),
    )


def _columns(comparison: Comparison, rows: Sequence[Row]) -> Columns:
    return {
        "cell": [place_text(row.cell, row.step) for row in rows],
        "metric": [row.metric for row in rows],
        "base": [_value_text(row, row.base, row.base_doubts) for row in rows],
        "new": [_value_text(row, row.new, row.new_doubts) for row in rows],
        **_changes(comparison, rows),
    }


def _value_text(row: Row, value: float | None, doubts: Sequence[str]) -> str:
    mark = f" {MARK}" * (value is not None and bool(doubts))
    return metric_text(value, row.unit) + mark


def _all_cells_columns(comparison: Comparison) -> Columns:
    rows = comparison.all_cells
    return {
        "metric": [row.metric for row in rows],
        **_changes(comparison, rows),
        "cells": [
            f"{row.same_way} of {row.cells} {'lower' if row.ratio < 1 else 'higher'}"
            for row in rows
            if row.ratio
        ],
    }


def _changes(comparison: Comparison, rows: Sequence[JudgedMetric]) -> Columns:
    name, change_text, end_text = "change", percent_change, _signed
    if comparison.is_of_drives or comparison.is_single:
        name, change_text, end_text = "ratio", ratio_text, ratio_text
    ends = [(row.low, row.high) if row.low and row.high else () for row in rows]
    return {
        name: ["–" if row.ratio is None else change_text(row.ratio) for row in rows],
        "95 % interval": [" … ".join(map(end_text, pair)) for pair in ends],
    }


def percent_change(ratio: float) -> str:
    return f"{_signed(ratio)} %"


def _signed(ratio: float) -> str:
    change = (ratio - 1) * 100
    if abs(change) < 0.05:
        return "0.0"
    text = f"{change:+.1f}" if abs(change) < 99.95 else digits(change)
    return text if text[0] in "+-" else f"+{text}"


# The sentence, and what to know besides.


def sentence(comparison: Comparison) -> str:
    """The verdicts in one sentence; where nothing is decided, what would decide it."""
    groups = _open_groups(comparison.rows)
    is_same = len(groups) == 1 and len(groups[0]) == len(comparison.rows)
    if is_same and not comparison.missing:
        phrase = PHRASES[groups[0][0].verdict]
        return f"{heading(comparison)} {phrase}: {_open_text(comparison, groups[0])}"
    usual = () if comparison.is_of_drives else ("worse", "better", "equal")
    counts = [
        f"{count} {COUNTED.get(verdict, verdict)}"
        for verdict in VERDICTS
        if (count := comparison.count(verdict)) or verdict in usual
    ]
    if comparison.missing:
        counts.append(f"{counted(len(comparison.missing), 'cell')} missing")
    equal = f"; changes below {comparison.threshold_percent:g} % count as equal"
    equal *= bool(comparison.count("equal"))
    return f"{heading(comparison)}: {', '.join(counts)}{equal}"


def _open_groups(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows without a verdict, or with a suspected one, by the reason.

    Of those that are doubted alike the gravest is the first.
    """

    def kind(row: Row) -> tuple[str, str]:
        return row.verdict, text_kind(row.why) if row.is_doubted else row.why

    open_rows = [row for row in rows if row.verdict in PHRASES]
    groups = grouped(open_rows, key=kind).values()
    return [sorted(own, key=_doubt) for own in groups]


def _doubt(row: Row) -> tuple[int, float]:
    return min(map(gravity, (*row.base_doubts, *row.new_doubts)), default=(0, 0.0))


def _open_text(comparison: Comparison, rows: Sequence[Row]) -> str:
    first, why = rows[0], rows[0].why
    if why == UNKNOWN_NOISE and comparison.is_single:
        why = "1 session a side"
    is_closed = first.verdict == "suspected" or why == OTHER_METHOD or first.is_doubted
    if is_closed or not any(row.ratio for row in rows):
        return why
    needed = sorted(row.sessions_needed or MOST + 1 for row in rows)
    count = needed[(len(needed) - 1) // 2]
    is_half = needed[0] != needed[-1]
    if count > MOST:
        more = f"it takes more than {MOST} runs a side to decide"
        return f"{why}; {more}{' for half of them' * is_half}"
    many = f"run each side {count} times, in turn ({alternating(count)})"
    return f"{why}; {many}{', to decide half of them' * is_half}"


def alternating(count: int) -> str:
    """The order in which so many sessions a side are run: ABABAB."""
    more = "…" if count > MOST_ALTERNATIONS else ""
    return "AB" * min(count, MOST_ALTERNATIONS) + more


def _notes(comparison: Comparison) -> Iterator[str]:
    yield from noise_texts(comparison)
    for rows in _open_groups(comparison.rows):
        if len(rows) < len(comparison.rows) or comparison.missing:
            verdict = COUNTED.get(rows[0].verdict, rows[0].verdict)
            yield f"{len(rows)} {verdict}: {_open_text(comparison, rows)}"
    if any(row.why == UNKNOWN_NOISE and row.ratio for row in comparison.rows):
        yield (
            "the number of sessions that would decide assumes a run-to-run variation "
            f"of {ASSUMED_PERCENT:g} %"
        )
    yield from _consecutive_texts(comparison)
    yield from dict.fromkeys(
        f"{row.test} {place_text(row.cell, row.step)}: {row.why}"
        for row in comparison.rows
        if row.why and row.verdict == "worse"
    )
    remarks = Counter(remark for row in comparison.rows for remark in row.remarks)
    for remark, count in remarks.items():
        yield f"{counted(count, 'row')}: {remark}"
    if comparison.base.finished:
        yield from _named("BASE has no ", comparison.only_new, MOST_NAMED)


def noise_texts(comparison: Comparison) -> Iterator[str]:
    """How much sessions differ, by which sessions, and how much drives differ."""
    by_source = grouped(comparison.noise, key=lambda noise: noise.source)
    for source, same in by_source.items():
        if sizes := _sizes(same, "session_percent"):
            yield f"run-to-run variation: {sizes}, from {source}"
        elif sizes := _sizes(same, "run_percent"):
            yield f"runs of a session differ by {sizes}; sessions differ by more"
    drives = _sizes(comparison.noise, "drive_percent")
    if drives and comparison.is_of_drives:
        yield f"drives of one model differ by {drives}"


def _sizes(noise: Iterable[NoiseSummary], name: str) -> str:
    sizes = ((own.metric, getattr(own, name)) for own in noise)
    texts = (f"{percent_text(size)} ({metric})" for metric, size in sizes if size)
    return ", ".join(texts)


def _consecutive_texts(comparison: Comparison) -> Iterator[str]:
    """Sides that ran one after the other count for less than they have."""
    present = [len(side.sessions) for side in (comparison.base, comparison.new)]
    units = [(row.base_sessions, row.new_sessions) for row in comparison.rows]
    counts = [max(own) for own in zip((0, 0), *units, strict=True)]
    if counts < present:
        yield (
            f"{present[0]} + {present[1]} sessions count as {counts[0]} + {counts[1]}: "
            "consecutive ones of a side may have drifted together; run the sides in "
            f"turn ({alternating(max(present))})"
        )


def _named(prefix: str, cells: Iterable[str], most: int) -> Iterator[str]:
    names = list(dict.fromkeys(cells))
    return (prefix + text for text in first_lines(names, most, "{:,} more cells"))


# Markdown, JUnit's XML, and annotations of GitHub.


def markdown(comparison: Comparison) -> str:
    """The sentence first, for a pull request."""
    _heading, *parts = blocks(comparison)
    first = sorted(parts, key=lambda part: getattr(part, "tone", "") != "strong")
    return markdown_of(first)


class Case(NamedTuple):
    """A row of a table, or a missing cell, as one line."""

    suite: str
    name: str
    verdict: str
    tone: Tone
    message: str


def _cases(parts: Iterable[Text | Table]) -> Iterator[Case]:
    """`worse: base 601k, new 480k, change -20.1 %` of rows, then missing cells."""
    for part in parts:
        if isinstance(part, Text):
            if part.link == MISSING:
                yield Case(MISSING, part.text, MISSING, part.tone, part.text)
            continue
        for verdict, *row in part.rows:
            cells = zip(part.headings[1:], row, strict=True)
            texts = {name: cell.text for name, cell in cells if cell.text}
            names = (texts.pop(name, "") for name in ("cell", "metric"))
            name = " ".join(filter(None, names))
            message = f"{verdict.text}: {', '.join(map(' '.join, texts.items()))}"
            yield Case(part.title, name, verdict.text, verdict.tone, message)


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
    _, *parts = blocks(comparison, everything=True, reasons=True)
    lines = [
        ("warning" if part.tone == "warning" else "notice", "ioplan compare", part.text)
        for part in parts
        if isinstance(part, Text) and part.tone not in ("soft", "bad")
    ]
    for case in sorted(_cases(parts), key=lambda case: case.verdict != MISSING):
        if level := LEVELS.get(case.verdict):
            title = f"{case.suite} {case.name}".removesuffix(f" {case.message}")
            lines.append((level, title, case.message))
    count, text = Counter[str](), ""
    for level, title, message in lines:
        count[level] += 1
        if count[level] <= MAX_SHOWN:
            name = _github(title).replace(":", "%3A").replace(",", "%2C")
            text += f"::{level} title={name}::{_github(message)}\n"
    return text


def _github(message: str) -> str:
    """Line ends cannot come through `printable`; percent signs can."""
    return printable(message).replace("%", "%25")


ELEMENTS: dict[Tone, str] = {"bad": "failure", "warning": "skipped"}
COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def junit(comparison: Comparison) -> bytes:
    """Worse is a failure, what is not decided is skipped, a missing cell an error."""
    root = Element("testsuites", name="ioplan compare")
    parts = blocks(comparison, everything=True, reasons=True)
    for title, group in groupby(_cases(parts), key=lambda case: case.suite):
        cases, suite = list(group), SubElement(root, "testsuite", name=printable(title))
        kinds = [
            "error" if case.verdict == MISSING else ELEMENTS.get(case.tone, "")
            for case in cases
        ]
        suite.set("tests", str(len(cases)))
        for kind, name in COUNTS.items():
            suite.set(name, str(kinds.count(kind)))
        for case, kind in zip(cases, kinds, strict=True):
            named = {"classname": printable(title), "name": printable(case.name)}
            element, message = SubElement(suite, "testcase", named), case.message
            if kind:
                SubElement(element, kind, message=printable(message))
            else:
                SubElement(element, "system-out").text = printable(message)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


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
    for case in _cases(blocks(comparison, everything=True)):
        where = f"{ALL_CELLS}, {case.name}: " * (case.suite == ALL_CELLS)
        if where or case.suite == MISSING:
            outcome = OUTCOMES.get(case.tone, "undecided")
            yield Judged(outcome, where + case.message)
    yield from (Judged("none", text) for text in noise_texts(comparison))
