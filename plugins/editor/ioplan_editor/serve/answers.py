"""What is asked of a text."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp

from ioplan.language import Span
from ioplan_editor.complete.completion import completions
from ioplan_editor.complete.place import Place
from ioplan_editor.complete.signature import signature
from ioplan_editor.look.hover import hover
from ioplan_editor.look.outline import folds, outline
from ioplan_editor.look.references import (
    definition,
    references,
)
from ioplan_editor.look.tokens import SORTS, tokens
from ioplan_editor.serve import wire
from ioplan_editor.serve.server import at, server
from ioplan_editor.serve.wire import Rows, uri_of


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.CompletionOptions(trigger_characters=[" ", '"', ".", ",", "/"]),
)
def _completion(params: lsp.CompletionParams) -> lsp.CompletionList:
    document, rows, offset = at(params)
    place = Place(document.text, offset)
    word = place.start, offset, place.end_before
    if place.in_text() is not None:
        word = offset - len(place.in_text() or ""), offset, offset
    snippets = _takes_snippets()
    found = enumerate(completions(document, offset))
    items = [wire.completion(one, rows, word, n, snippets) for n, one in found]
    return lsp.CompletionList(
        is_incomplete=any(c.isdigit() for c in place.word), items=items
    )


def _takes_snippets() -> bool:
    text = server.client_capabilities.text_document
    item = text.completion.completion_item if text and text.completion else None
    return bool(item and item.snippet_support)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
    document, rows, offset = at(params)
    found = hover(document, offset)
    return wire.hover(found, rows) if found else None


@server.feature(
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
    lsp.SignatureHelpOptions(trigger_characters=[" ", ","]),
)
def _signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    document, _, offset = at(params)
    found = signature(document, offset)
    return wire.signature(found) if found else None


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
    document, _, offset = at(params)
    found = definition(document, offset)
    return _location(*found) if found else None


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    document, _, offset = at(params)
    return [_location(*one) for one in references(document, offset)]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def _highlights(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    document, rows, offset = at(params)
    found = references(document, offset)
    own = (span for path, span in found if path == document.path)
    return [lsp.DocumentHighlight(rows.of(span)) for span in own]


def _location(path: Path, span: Span) -> lsp.Location:
    uri = server.uris.get(path) or uri_of(path)
    return lsp.Location(uri, Rows(span.source).of(span))


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = server.document(params.text_document.uri)
    return wire.symbols(outline(document), Rows(document.source))


@server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
def _folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    return [wire.fold(one) for one in folds(server.document(params.text_document.uri))]


@server.feature(
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
    lsp.SemanticTokensLegend(token_types=list(SORTS), token_modifiers=[]),
)
def _semantic_tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    document = server.document(params.text_document.uri)
    return wire.semantic_tokens(tokens(document), Rows(document.source))
