"""The features' answers as the protocol has them: positions by row and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from ioplan.language import HOLE, Diagnostic, Source, Span
from ioplan_editor.complete.keywords import Completion
from ioplan_editor.complete.signature import Signature
from ioplan_editor.fix.fixes import Edit
from ioplan_editor.look.hover import Hover
from ioplan_editor.look.outline import Fold, Outlined
from ioplan_editor.look.tokens import SORTS, Coloured

SYMBOLS = {
    "plan": lsp.SymbolKind.File,
    "test": lsp.SymbolKind.Method,
    "use": lsp.SymbolKind.Module,
    "param": lsp.SymbolKind.Constant,
    "trace": lsp.SymbolKind.File,
    "workload": lsp.SymbolKind.Function,
    "precondition": lsp.SymbolKind.Class,
    "profile": lsp.SymbolKind.Namespace,
    "part": lsp.SymbolKind.Field,
    "statement": lsp.SymbolKind.Property,
}
COMPLETIONS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "clause": lsp.CompletionItemKind.Property,
    "value": lsp.CompletionItemKind.Unit,
    "param": lsp.CompletionItemKind.Constant,
    "trace": lsp.CompletionItemKind.File,
    "workload": lsp.CompletionItemKind.Function,
    "precondition": lsp.CompletionItemKind.Class,
    "metric": lsp.CompletionItemKind.EnumMember,
    "chart": lsp.CompletionItemKind.EnumMember,
    "file": lsp.CompletionItemKind.File,
    "axis": lsp.CompletionItemKind.Variable,
    "field": lsp.CompletionItemKind.Field,
    "operator": lsp.CompletionItemKind.Operator,
}


class Rows:
    """Places of one text, as offsets and as rows with columns of UTF-16 units."""

    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text
        self.starts = source.line_starts

    def position(self, offset: int) -> lsp.Position:
        """Row and column from 0."""
        row = bisect_right(self.starts, offset) - 1
        return lsp.Position(row, _units(self.text[self.starts[row] : offset]))

    def offset(self, position: lsp.Position) -> int:
        """The offset; what lies behind a row's end is its end."""
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        row = self.source.line(position.line + 1)
        if row.isascii():
            return start + min(position.character, len(row))
        units = row.encode("utf-16-le")[: 2 * position.character]
        return start + len(units.decode("utf-16-le", "ignore"))

    def range(self, start: int, end: int) -> lsp.Range:
        """From one offset to another."""
        return lsp.Range(self.position(start), self.position(end))

    def of(self, span: Span) -> lsp.Range:
        """A span of this text."""
        return self.range(span.start, span.end)

    def edit(self, edit: Edit) -> lsp.TextEdit:
        """A change of this text."""
        return lsp.TextEdit(self.range(edit.start, edit.end), edit.text)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def uri_of(path: Path) -> str:
    """The address of a file."""
    return from_fs_path(str(path)) or ""


def diagnostic(found: Diagnostic) -> lsp.Diagnostic:
    """What is wrong, with its help on a row of its own."""
    rows = Rows(found.span.source)
    start, end = found.span.start, max(found.span.end, found.span.start + 1)
    error = found.severity == "error"
    return lsp.Diagnostic(
        range=rows.range(start, min(end, len(rows.text))),
        message=f"{found.message}\nhelp: {found.help}" if found.help else found.message,
        severity=lsp.DiagnosticSeverity.Error
        if error
        else lsp.DiagnosticSeverity.Warning,
        source="ioplan",
    )


def hover(found: Hover, rows: Rows) -> lsp.Hover:
    """Markdown."""
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown)
    return lsp.Hover(content, rows.of(found.span))


def completion(
    one: Completion, rows: Rows, word: tuple[int, int, int], order: int, snippets: bool
) -> lsp.CompletionItem:
    """A proposal; `word` are the ends of what it replaces, and where a comma goes."""
    start, offset, comma = word
    plain = one.text.split("\n", maxsplit=1)[0]  # a block is an editor's to fill in
    text = _snippet(one.template) if snippets else plain
    return lsp.CompletionItem(
        label=one.label,
        kind=COMPLETIONS.get(one.sort, lsp.CompletionItemKind.Text),
        detail=one.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.about)
        if one.about
        else None,
        sort_text=f"{order:04}",
        filter_text=one.label,
        text_edit=lsp.TextEdit(rows.range(start, offset), text),
        additional_text_edits=[lsp.TextEdit(rows.range(comma, comma), ",")]
        if one.comma
        else None,
        insert_text_format=lsp.InsertTextFormat.Snippet
        if snippets
        else lsp.InsertTextFormat.PlainText,
    )


def _snippet(template: str) -> str:
    """Braces end a snippet's hole, and so are escaped outside of holes."""
    parts, last = [], 0
    for hole in HOLE.finditer(template):
        parts += [re.sub(r"([$\\}])", r"\\\1", template[last : hole.start()])]
        parts += [hole[0]]
        last = hole.end()
    return "".join([*parts, re.sub(r"([$\\}])", r"\\\1", template[last:])])


def symbols(found: Iterable[Outlined], rows: Rows) -> list[lsp.DocumentSymbol]:
    """The outline."""
    return [
        lsp.DocumentSymbol(
            name=one.title,
            kind=SYMBOLS[one.sort],
            range=rows.of(one.span),
            selection_range=rows.of(one.name),
            detail=one.about or None,
            children=symbols(one.parts, rows),
        )
        for one in found
    ]


def fold(one: Fold) -> lsp.FoldingRange:
    """A range of rows."""
    kind = lsp.FoldingRangeKind.Comment if one.is_comment else None
    return lsp.FoldingRange(one.first, one.last, kind=kind)


def semantic_tokens(found: Iterable[Coloured], rows: Rows) -> lsp.SemanticTokens:
    """Five numbers for each word, its place relative to the word before."""
    return lsp.SemanticTokens(list(_numbers(found, rows)))


def _numbers(found: Iterable[Coloured], rows: Rows) -> Iterator[int]:
    row = column = 0
    for one in found:
        at = rows.position(one.start)
        text = rows.text[one.start : one.start + one.length].split("\n")[0]
        yield at.line - row
        yield at.character - (column if at.line == row else 0)
        yield from (_units(text), SORTS.index(one.sort), 0)
        row, column = at.line, at.character


def signature(found: Signature) -> lsp.SignatureHelp:
    """The forms, each with the same documentation."""
    about = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.about)
    forms = [lsp.SignatureInformation(form, about) for form in found.forms]
    return lsp.SignatureHelp(forms, found.active)
