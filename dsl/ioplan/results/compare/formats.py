"""A comparison as annotations of GitHub Actions, one a line on standard output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ioplan.core.text import line, printable
from ioplan.results.compare.comparison import Comparison, Row, RowVerdict
from ioplan.results.compare.wording import (
    all_cells_text,
    base_text,
    cell_text,
    change_text,
    interval_text,
    new_text,
    notes,
    row_text,
    side_text,
    summary_text,
)

LEVELS: dict[RowVerdict, str] = {
    "worse": "error",
    "suspected": "warning",
    "better": "notice",
}
SKIPPED: tuple[RowVerdict, ...] = ("undecided", "suspected")
MISSING = "missing cells"
MOST_ROWS = 400
"""So many rows of a test are printed in a terminal."""
MAX_SHOWN = 10
"""GitHub shows ten of a level for each step, and drops the rest silently."""


def github(found: Comparison) -> str:
    """Errors for what is worse, notices for what is better, then the summary."""
    return "\n".join(_annotations(found)) + "\n"


def _annotations(found: Comparison) -> Iterator[str]:
    drives = found.subject == "drives"
    for text in found.differences:
        yield _command("warning", "measured otherwise", text)
    for one in found.all_cells:
        if one.verdict in LEVELS:
            message = f"{one.verdict}: {all_cells_text(one, drives)}"
            yield _command(LEVELS[one.verdict], "all cells", message)
    for cell in found.missing[:MAX_SHOWN]:
        yield _command("error", "missing cell", cell)
    for word, level in LEVELS.items():
        rows = [row for row in found.rows if row.verdict == word]
        most = MAX_SHOWN - (len(found.missing) if word == "worse" else 1)
        for row in rows[: max(most, 0)]:
            yield _command(level, _title(row), row_text(row, drives))
    for note in notes(found):
        yield _command("warning", "ioplan compare", note)
    yield _command("notice", "ioplan compare", summary_text(found))


def _title(row: Row) -> str:
    return f"{row.test} {cell_text(row)}".strip()


def _command(level: str, title: str, message: str) -> str:
    named = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={named}::{_escaped(message)}"


def _escaped(text: str) -> str:
    """Line ends cannot come through `printable`; percent signs can."""
    return printable(text).replace("%", "%25")


def junit(found: Comparison) -> bytes:
    """Worse is a failure, what is open is skipped, what was not measured an error."""
    root = Element("testsuites", name="ioplan compare")
    drives = found.subject == "drives"
    if found.all_cells:
        words = [one.verdict for one in found.all_cells]
        suite = _suite(root, "all cells", words)
        for one in found.all_cells:
            said = f"{one.verdict}: {all_cells_text(one, drives)}"
            _case(suite, "all cells", one.metric, one.verdict, said)
    for title, group in groupby(found.rows, key=lambda row: row.test):
        rows = list(group)
        suite = _suite(root, title, [row.verdict for row in rows])
        for row in rows:
            name = f"{cell_text(row)} {row.metric}".strip()
            _case(suite, row.test, name, row.verdict, row_text(row, drives))
    if found.missing:
        suite = _suite(root, MISSING, [], len(found.missing))
        for name in found.missing:
            attributes = {"classname": MISSING, "name": printable(name)}
            case = SubElement(suite, "testcase", attributes)
            SubElement(case, "error", message=printable(name))
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(
    root: Element, title: str, words: Sequence[RowVerdict], errors: int = 0
) -> Element:
    return SubElement(
        root,
        "testsuite",
        name=printable(title),
        tests=str(len(words) + errors),
        failures=str(words.count("worse")),
        errors=str(errors),
        skipped=str(sum(words.count(word) for word in SKIPPED)),
    )


def _case(
    suite: Element, class_: str, name: str, verdict: RowVerdict, text: str
) -> None:
    case = SubElement(
        suite, "testcase", classname=printable(class_), name=printable(name)
    )
    message = printable(text)
    if verdict == "worse":
        SubElement(case, "failure", message=message)
    elif verdict in SKIPPED:
        SubElement(case, "skipped", message=message)
    else:
        SubElement(case, "system-out").text = message


HEADINGS = (
    "verdict",
    "test",
    "cell",
    "metric",
    "base",
    "new",
    "change",
    "95 % interval",
)
MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@])")


def markdown(found: Comparison) -> str:
    """Rows that are not equal as a table, then the notes."""
    return "\n".join(_rows(found)) + "\n"


def _rows(found: Comparison) -> Iterator[str]:
    yield from (f"- **{_shown(text)}**" for text in found.differences)
    yield f"**{_shown(summary_text(found))}**"
    yield ""
    yield f"- {_shown(side_text('BASE', found.base))}"
    yield f"- {_shown(side_text('NEW', found.new))}"
    drives = found.subject == "drives"
    for one in found.all_cells:
        yield f"- **{one.verdict}**: {_shown(all_cells_text(one, drives))}"
    rows = [row for row in found.rows if row.verdict != "equal"]
    if rows:
        yield ""
        yield _joined(HEADINGS)
        yield _joined(("---",) * 4 + ("--:",) * 4)
        yield from (_joined(map(_shown, _cells(row, drives))) for row in rows)
    for number, note in enumerate(notes(found)):
        yield from ("",) if number == 0 else ()
        yield f"- {_shown(note)}"


def _cells(row: Row, drives: bool) -> tuple[str, ...]:
    return (
        row.verdict,
        row.test,
        cell_text(row),
        row.metric,
        base_text(row),
        new_text(row),
        change_text(row.ratio, drives),
        interval_text(row, drives),
    )


def _joined(cells: Iterator[str] | tuple[str, ...] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return MARKS.sub(r"\\\1", printable(text))


STYLES: dict[RowVerdict, str] = {
    "worse": "red",
    "better": "green",
    "suspected": "yellow",
    "equal": "dim",
    "undecided": "yellow",
    "ratio": "cyan",
}


def text(found: Comparison, everything: bool) -> Iterator[RenderableType]:
    """Each test with its rows; the equal ones only if asked for."""
    yield line(side_text("BASE", found.base))
    yield line(side_text("NEW ", found.new))
    for difference in found.differences:
        yield line(difference, "yellow")
    drives = found.subject == "drives"
    for one in found.all_cells:
        said = Text(f"{one.verdict}: ", style=STYLES[one.verdict])
        yield said.append_text(line(all_cells_text(one, drives), style="default"))
    for title, rows in groupby(found.rows, key=lambda row: row.test):
        shown = [row for row in rows if everything or row.verdict != "equal"]
        if shown:
            kept = shown if everything else _most_telling(shown)
            yield Rule(line(title, style="bold"), align="left", characters="─")
            yield _table(kept, drives)
            if left := len(shown) - len(kept):
                yield line(f"{left:,} more rows: add --all, or --format json", "dim")
    yield line(summary_text(found), style="bold")
    for note in notes(found):
        yield line(note)


def _most_telling(rows: Sequence[Row]) -> Sequence[Row]:
    """As many as somebody reads, in their order: what is decided comes before what
    is not."""
    ranked = sorted(rows, key=lambda row: row.verdict == "undecided")
    kept = set(map(id, ranked[:MOST_ROWS]))
    return [row for row in rows if id(row) in kept]


def _table(rows: Sequence[Row], drives: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("cell", overflow="fold")
    table.add_column("metric")
    for heading in ("base", "new", "ratio" if drives else "change", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            line(row.verdict, style=STYLES[row.verdict]),
            line(cell_text(row)),
            line(row.metric),
            base_text(row),
            new_text(row),
            change_text(row.ratio, drives),
            interval_text(row, drives),
        )
    return table
