"""A plan's text in its canonical look, every comment kept.

The words come from the syntax tree; the comments, and whether a blank line
stood before a line, from the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.errors.diagnostic import PlanError, too_deep
from ioplan.language.syntax import canonical, tree
from ioplan.language.syntax.layout import require_same_words
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Comment, Source, comments_of

WIDTH = 88
STEP = "  "
CONTINUED = "    "
TEST_COLUMNS, REPEAT_COLUMNS = 6, 4
LIST = re.compile(r"^(.*?\{) (.*?) (\}.*)$")


class Line(Struct, frozen=True):
    """A statement, an end of a block or a comment, and where it stood."""

    depth: int
    pieces: list[str]
    start: int
    end: int
    item: tree.Item | None = None
    opens: bool = False
    closes: bool = False
    comment: str = ""
    column: int = 0
    pad: int = 0
    blank: bool = False

    @property
    def rows(self) -> list[str]:
        """The statement, over several rows where it is long."""
        return wrapped(self.pieces, STEP * self.depth)

    @property
    def text(self) -> str:
        """The rows with the blank line before and the comment behind them."""
        before = "\n" if self.blank else ""
        return before + "\n".join(self.rows) + " " * self.pad + self.comment


class Lines(Struct, frozen=True):
    """The lines of a source, without its comments."""

    source: Source
    comments: list[Comment]
    made: list[Line] = []

    def add(
        self, node: tree.Node, pieces: list[str], depth: int, item: bool = False
    ) -> None:
        """A statement of one line."""
        of = node if item and isinstance(node, tree.Item) else None
        span = node.span
        self.made.append(Line(depth, pieces, span.start, span.end, of))

    def open(self, node: tree.Node, named: tree.Node, line: list[str], n: int) -> None:
        """The opening line of a block, up to its brace."""
        of = node if isinstance(node, tree.Item) else None
        end = self._brace(named.span.end)
        self.made.append(Line(n, line, node.span.start, end, of, opens=True))

    def close(self, node: tree.Node, depth: int) -> None:
        """The closing line of a block."""
        end = node.span.end
        self.made.append(Line(depth, ["}"], end - 1, end, closes=True))

    def _brace(self, start: int) -> int:
        """The end of the next `{` that is not part of a comment."""
        for comment in self.comments:
            if start <= comment.start:
                found = self.source.text.find("{", start, comment.start)
                if found >= 0:
                    return found + 1
                start = comment.end
        return self.source.text.index("{", start) + 1


def format_text(text: str, name: str = "plan.ioplan") -> str:
    """The text in its canonical look. Raises PlanError on syntax errors."""
    source = Source(name, text)
    file, errors = parse(source)
    if errors:
        raise PlanError(errors)
    return format_tree(source, file)


def format_tree(source: Source, file: tree.File) -> str:
    """Format a text that is parsed. Raises PlanError where it is too deep.

    Raises WordsChanged where, by a defect, the result would say something else.
    """
    try:
        written = _formatted(source, file)
    except RecursionError:
        raise PlanError([too_deep(source)]) from None
    require_same_words(source, written)
    return written


def _formatted(source: Source, file: tree.File) -> str:
    lines = Lines(source, comments_of(source.text))
    for item in file.items:
        _add_item(lines, item)
    placed = list(_with_comments(lines))
    spaced = list(_with_blanks(placed, source.text))
    return "\n".join([*(line.text for line in _aligned(spaced)), ""])


# statements


def _add_item(lines: Lines, node: tree.Item) -> None:
    opening = canonical.item(node)
    if isinstance(node, tree.Test):
        lines.open(node, node.title, opening, 0)
        for statement in node.statements:
            _add_statement(lines, statement, 1, TEST_COLUMNS)
    elif isinstance(node, tree.Precondition):
        lines.open(node, node.name, opening, 0)
        for step in node.steps:
            lines.add(step, canonical.prepare(step), 1)
    elif isinstance(node, tree.Profile):
        lines.open(node, node.name, opening, 0)
        for setting in node.settings:
            lines.add(setting, canonical.setting(setting), 1)
    elif isinstance(node, tree.Workload) and node.spec is None:
        lines.open(node, node.name, opening, 0)
        for stream in node.streams:
            lines.add(stream, canonical.stream(stream), 1)
    else:
        lines.add(node, opening, 0, item=True)
        return
    lines.close(node, 0)


def _add_statement(lines: Lines, node: tree.Statement, depth: int, width: int) -> None:
    text = canonical.statement(node, width)
    if not isinstance(node, tree.Repeat):
        lines.add(node, text, depth)
        return
    lines.open(node, node.times, text, depth)
    for step in node.steps:
        _add_statement(lines, step, depth + 1, REPEAT_COLUMNS)
    lines.close(node, depth)


# comments


def _with_comments(lines: Lines) -> Iterator[Line]:
    """Comments of their own row before the line that they stood before or in.

    One behind a line stays there.
    """
    waiting = lines.comments
    previous: Line | None = None
    for line in lines.made:
        mine = [c for c in waiting if c.start < line.end]
        waiting = waiting[len(mine) :]
        depth = line.depth + line.closes
        if mine and mine[0].trailing and previous and mine[0].start < line.start:
            previous, mine = _commented(previous, mine[0], lines.source), mine[1:]
        if previous:
            yield previous
        for comment in mine:
            yield _own_row(comment, depth, line)
        previous = line
    if waiting and waiting[0].trailing and previous:
        previous, waiting = _commented(previous, waiting[0], lines.source), waiting[1:]
    if previous:
        yield previous
    for comment in waiting:
        yield Line(0, [comment.text], comment.start, comment.end)


def _commented(line: Line, comment: Comment, source: Source) -> Line:
    column = source.position(comment.start)[1]
    return replace(line, comment=comment.text, column=column, end=comment.end)


def _own_row(comment: Comment, depth: int, line: Line) -> Line:
    """A comment from inside a statement moves to where the statement begins."""
    start, end = comment.start, comment.end
    if start >= line.start:
        start = end = line.start
    return Line(depth, [comment.text], start, end)


# blank lines


def _with_blanks(lines: list[Line], text: str) -> Iterator[Line]:
    """One blank line where there were any, and around items."""
    apart = _apart(lines)
    for index, line in enumerate(lines):
        before = lines[index - 1] if index else None
        if before is None or before.opens or line.closes:
            yield line
            continue
        stood = text[before.end : line.start].count("\n") > 1
        yield replace(line, blank=stood or index in apart)


def _apart(lines: list[Line]) -> set[int]:
    """Where an item ends that a blank line must follow."""
    apart: set[int] = set()
    ended, earlier = 0, None
    for index, line in enumerate(lines):
        if line.item is None:
            ended = index + 1 if line.closes and not line.depth else ended
            continue
        if earlier and not (_short(earlier) and _short(line.item)):
            apart.add(ended)
        ended, earlier = index + 1, line.item
    return apart


def _short(item: tree.Item) -> bool:
    """`use`, `param`, `on …` and `accept` may stand together."""
    return isinstance(
        item, tree.Use | tree.Trace | tree.Param | tree.Outcome | tree.Accept
    )


# columns


def _aligned(lines: list[Line]) -> Iterator[Line]:
    """Lines with their trailing comments; neighbours that were aligned stay so."""
    group: list[Line] = []
    for line in lines:
        if group and not (line.comment and line.column == group[0].column):
            yield from _at_one_column(group)
            group = []
        if line.comment:
            group.append(line)
        else:
            yield line
    yield from _at_one_column(group)


def _at_one_column(group: list[Line]) -> Iterator[Line]:
    lasts = [line.rows[-1] for line in group]
    width = max(map(len, lasts), default=0)
    for line, last in zip(group, lasts, strict=True):
        yield replace(line, pad=width - len(last) + 2)


def wrapped(pieces: list[str], indent: str) -> list[str]:
    """The rows of a statement: one, or as many as its width needs."""
    whole = indent + " ".join(pieces)
    alone = len(pieces) == 1 and ('"' in whole or whole.lstrip().startswith("#"))
    if len(whole) <= WIDTH or alone:
        return [whole]
    rows = [indent]
    for piece in pieces:
        _append(rows, piece, indent)
    return rows


def _append(rows: list[str], piece: str, indent: str) -> None:
    """Put a piece on the last row, or on a row of its own, or break its list."""
    fresh = rows[-1] == indent
    joined = rows[-1] + piece if fresh else f"{rows[-1]} {piece}"
    if len(joined) <= WIDTH:
        rows[-1] = joined
        return
    listed = LIST.match(piece)
    if listed and (fresh or len(indent + CONTINUED + piece) > WIDTH):
        _append_list(rows, joined[: -len(piece)], listed, indent)
    elif fresh:
        rows[-1] = joined
    else:
        rows.append(indent + CONTINUED + piece)


def _append_list(
    rows: list[str], before: str, listed: re.Match[str], indent: str
) -> None:
    """`sizes {`, its entries on rows of their own, and `}` with what follows."""
    rows[-1] = before + listed[1]
    inner = listed[2].replace(", ", ",\n").split("\n")
    rows += _filled(inner, indent + STEP)
    rows.append(indent + listed[3])


def _filled(pieces: list[str], indent: str) -> list[str]:
    rows = [indent + pieces[0]]
    for piece in pieces[1:]:
        if len(rows[-1]) + 1 + len(piece) <= WIDTH:
            rows[-1] += f" {piece}"
        else:
            rows.append(indent + piece)
    return rows
