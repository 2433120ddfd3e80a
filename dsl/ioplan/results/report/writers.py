"""Blocks in the terminal, and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table as RichTable

from ioplan.core.text import line, printable
from ioplan.results.report.blocks import Line, Table, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "soft": "dim",
    "strong": "bold",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
}
NEW_LINE = "\n"
MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@])")
"""What Markdown would take for markup."""


def terminal(blocks: Iterable[Line | Table]) -> Iterator[RenderableType]:
    """Lines and tables, 80 columns wide if their texts are."""
    for block in blocks:
        if not isinstance(block, Table):
            yield line(block.text, STYLES[block.tone])
            continue
        if block.title:
            yield title_line(block.title)
        yield _rich_table(block)


def title_line(title: str) -> Rule:
    return Rule(line(title, STYLES["strong"]), align="left", characters="─")


def _rich_table(block: Table) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for at, heading in enumerate(block.headings):
        if at in block.numeric:
            table.add_column(line(heading), justify="right", no_wrap=True)
        else:
            table.add_column(line(heading), overflow="fold")
    for row in block.rows:
        table.add_row(*(line(cell.text, STYLES[cell.tone]) for cell in row))
    return table


def markdown(blocks: Iterable[Line | Table]) -> str:
    """Paragraphs of what is strong, lists of other texts, and tables."""
    written, was_item = "", True
    for text in map(_markdown, blocks):
        is_item = text.startswith("- ")
        written += f"{'' if is_item and was_item else NEW_LINE}{text}\n"
        was_item = is_item
    return written.lstrip()


def _markdown(block: Line | Table) -> str:
    if not isinstance(block, Table):
        text = escaped(block.text)
        return f"**{text}**" if block.tone == "strong" else f"- {text}"
    columns = range(len(block.headings))
    lines = [f"**{escaped(block.title)}**", ""] if block.title else []
    lines.append(_joined(block.headings))
    lines.append(_joined(["--:" if at in block.numeric else "---" for at in columns]))
    lines += [_joined([escaped(cell.text) for cell in row]) for row in block.rows]
    return NEW_LINE.join(lines)


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return MARKS.sub(r"\\\1", printable(text))
