"""Blocks in the terminal, and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table as RichTable

from ioplan.core.text import line, printable
from ioplan.results.report.blocks import Table, Text, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "soft": "dim",
    "strong": "bold",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
}
MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@])")
"""What Markdown would take for markup."""


def terminal(blocks: Iterable[Text | Table]) -> Iterator[RenderableType]:
    """Lines and tables, 80 columns wide if their texts are."""
    for block in blocks:
        if isinstance(block, Text):
            yield line(block.text, STYLES[block.tone])
            continue
        if block.title:
            title = line(block.title, STYLES["strong"])
            yield Rule(title, align="left", characters="─")
        yield _rich_table(block)


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


def markdown(blocks: Iterable[Text | Table]) -> str:
    """Paragraphs of what is strong, lists of other texts, and tables."""
    parts: list[list[str]] = []
    is_list = False
    for block in blocks:
        if isinstance(block, Table):
            title = [f"**{escaped(block.title)}**", ""] if block.title else []
            parts.append([*title, *_markdown_table(block)])
        elif block.tone == "strong":
            parts.append([f"**{escaped(block.text)}**"])
        elif is_list:
            parts[-1].append(f"- {escaped(block.text)}")
            continue
        else:
            parts.append([f"- {escaped(block.text)}"])
            is_list = True
            continue
        is_list = False
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _markdown_table(table: Table) -> Iterator[str]:
    yield _joined(table.headings)
    yield _joined(
        ["--:" if at in table.numeric else "---" for at in range(len(table.headings))]
    )
    for row in table.rows:
        yield _joined([escaped(cell.text) for cell in row])


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return MARKS.sub(r"\\\1", printable(text))
