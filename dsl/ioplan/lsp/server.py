"""The language server: what editors ask, passed on to the features."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ioplan import __version__
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.plan import FULL
from ioplan.language.quantity import QuantityError, parse
from ioplan.language.syntax.source import Span
from ioplan.lsp import wire
from ioplan.lsp.completion import completions
from ioplan.lsp.document import TERABYTE, Document, Workspace
from ioplan.lsp.edits import Edit, formatting
from ioplan.lsp.fixes import fixes
from ioplan.lsp.hints import hints, lenses
from ioplan.lsp.hover import hover
from ioplan.lsp.outline import folds, outline
from ioplan.lsp.place import Place
from ioplan.lsp.references import (
    RenameError,
    definition,
    references,
    renamable,
    renaming,
)
from ioplan.lsp.rehearsal import rehearsal
from ioplan.lsp.signature import signature
from ioplan.lsp.tokens import SORTS, tokens
from ioplan.lsp.wire import Rows, uri_of

CHECK_AFTER_S = 0.05
"""A check waits so long for the next key."""
REHEARSE = "ioplan.rehearse"
Made = TypeVar("Made")
ByFile = dict[Path, list[Diagnostic]]


class Server(LanguageServer):
    """A workspace, and what was last said of its files."""

    def __init__(self) -> None:
        super().__init__("ioplan", __version__)
        self.files = Workspace()
        self.uris: dict[Path, str] = {}
        self.found: dict[Path, ByFile] = {}
        self.changes, self.shows_tables = 0, False
        self.told: set[Path] = set()
        self.waiting: asyncio.TimerHandle | None = None

    def document(self, uri: str) -> Document:
        """The text of an address."""
        return self.files.document(path_of(uri))

    def changed(self, uri: str) -> None:
        """A text is another one; what it is worth is told soon."""
        path = path_of(uri)
        self.uris[path] = uri
        self.files.open(path, self.workspace.get_text_document(uri).source)
        self.check_soon()

    def check_soon(self) -> None:
        """Check all open texts when no key comes any more."""
        self.changes += 1
        if self.waiting:
            self.waiting.cancel()
        loop = asyncio.get_running_loop()
        self.waiting = loop.call_later(CHECK_AFTER_S, self._begin)

    def _begin(self) -> None:
        """In a thread, so that what is asked meanwhile is answered."""
        self.waiting = None
        loop, change = asyncio.get_running_loop(), self.changes
        documents = [self.files.document(path) for path in self.files.texts]
        checked = loop.run_in_executor(None, self._checked, documents)
        checked.add_done_callback(lambda done: self._tell(done.result(), change))

    def _checked(self, documents: list[Document]) -> dict[Path, ByFile]:
        return {one.path: self._by_file(one) for one in documents}

    def _tell(self, found: dict[Path, ByFile], change: int) -> None:
        """Tell of each file what is wrong with it, or not any more."""
        if change != self.changes:
            return  # a later check tells it
        self.found = found
        named = {path for by_file in found.values() for path in by_file}
        for path in self.told | named:
            self._publish(path)
        self.told = named

    def _by_file(self, document: Document) -> ByFile:
        by_file: ByFile = {document.path: []}
        for one in document.diagnostics:
            path = document.path_of(one.span.source) or document.path
            by_file.setdefault(path, []).append(one)
        return by_file

    def _publish(self, path: Path) -> None:
        """A file that is open tells of itself; another one all that use it."""
        own = self.found.get(path)
        told = [own] if own is not None else [*self.found.values()]
        found = dict.fromkeys(one for by_file in told for one in by_file.get(path, ()))
        uri = self.uris.get(path) or uri_of(path)
        diagnostics = [wire.diagnostic(one) for one in found]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def configure(self, options: Any) -> None:
        """`profile` and `capacity` for what plans cost, and who shows rehearsals."""
        known = options if isinstance(options, dict) else {}
        self.shows_tables = bool(known.get("showsTables", self.shows_tables))
        self.files.profile = str(known.get("profile") or FULL)
        self.files.capacity_bytes = _capacity(known.get("capacity"))
        self.files.forget()


def _capacity(text: object) -> int:
    try:
        found = parse(str(text)) if text else None
    except QuantityError:
        found = None
    return (
        int(found.value) if found and found.kind == "size" and found.value else TERABYTE
    )


def path_of(uri: str) -> Path:
    """The file of an address, as the checker calls it."""
    return Path(to_fs_path(uri) or uri).resolve()


server = Server()


@server.feature(lsp.INITIALIZE)
def _initialize(params: lsp.InitializeParams) -> None:
    server.configure(params.initialization_options)
    folders = params.workspace_folders or []
    roots = [folder.uri for folder in folders] or [params.root_uri or ""]
    server.files.roots = [path_of(uri) for uri in roots if uri]


@server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
def _configured(params: lsp.DidChangeConfigurationParams) -> None:
    settings = params.settings
    server.configure(settings.get("ioplan") if isinstance(settings, dict) else None)
    server.check_soon()


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


@server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def _watched(params: lsp.DidChangeWatchedFilesParams) -> None:
    server.files.forget()
    server.check_soon()


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    server.files.close(path)
    server.check_soon()


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.CompletionOptions(trigger_characters=[" ", '"', ".", ",", "/"]),
)
def _completion(params: lsp.CompletionParams) -> lsp.CompletionList:
    document, rows, offset = _at(params)
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
    document, rows, offset = _at(params)
    found = hover(document, offset)
    return wire.hover(found, rows) if found else None


@server.feature(
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
    lsp.SignatureHelpOptions(trigger_characters=[" ", ","]),
)
def _signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    document, _, offset = _at(params)
    found = signature(document, offset)
    return wire.signature(found) if found else None


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def _formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    return [rows.edit(one) for one in formatting(document)]


@server.feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
def _range_formatting(params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit]:
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    start, end = rows.offset(params.range.start), rows.offset(params.range.end)
    return [rows.edit(one) for one in formatting(document, start, end)]


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
    document, _, offset = _at(params)
    found = definition(document, offset)
    return _location(*found) if found else None


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    document, _, offset = _at(params)
    return [_location(*one) for one in references(document, offset)]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def _highlights(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    document, rows, offset = _at(params)
    found = references(document, offset)
    own = (span for path, span in found if path == document.path)
    return [lsp.DocumentHighlight(rows.of(span)) for span in own]


def _location(path: Path, span: Span) -> lsp.Location:
    uri = server.uris.get(path) or uri_of(path)
    return lsp.Location(uri, Rows(span.source).of(span))


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
    document, rows, offset = _at(params)
    found = _or_refused(lambda: renamable(document, offset))
    return rows.of(found.span) if found else None


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    document, _, offset = _at(params)
    found = _or_refused(lambda: renaming(document, offset, params.new_name))
    return _workspace_edit(found)


def _or_refused(do: Callable[[], Made]) -> Made:
    """What cannot be done is told in the editor's own way."""
    try:
        return do()
    except RenameError as error:
        raise JsonRpcInvalidParams(str(error)) from None


def _workspace_edit(changes: dict[Path, list[Edit]]) -> lsp.WorkspaceEdit:
    made: dict[str, list[lsp.TextEdit]] = {}
    for path, edits in changes.items():
        rows = Rows(server.files.document(path).source)
        uri = server.uris.get(path) or uri_of(path)
        made[uri] = [rows.edit(one) for one in edits]
    return lsp.WorkspaceEdit(changes=made)


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
)
def _code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    start, end = rows.offset(params.range.start), rows.offset(params.range.end)
    return [
        lsp.CodeAction(
            title=fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[wire.diagnostic(fix.diagnostic)],
            is_preferred=True,
            edit=_workspace_edit({document.path: [*fix.edits]}),
        )
        for fix in fixes(document, start, end)
    ]


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


@server.thread()
@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def _inlay_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """In a thread: a plan of many cells takes half a second to cost."""
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    start, end = rows.offset(params.range.start), rows.offset(params.range.end)
    return [
        lsp.InlayHint(rows.position(one.offset), one.text, padding_left=True)
        for one in hints(document, start, end)
    ]


@server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
def _lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    document = server.document(params.text_document.uri)
    rows, uri = Rows(document.source), params.text_document.uri
    return [
        lsp.CodeLens(
            rows.range(one.span_start, one.span_end),
            lsp.Command("rehearse", REHEARSE, arguments=[uri, one.title]),
        )
        for one in lenses(document)
    ]


@server.command(REHEARSE)
async def _rehearse(uri: str, title: str) -> str:
    """The table is returned, for editors that show it; others show the message."""
    table = await rehearsal(server.document(uri), title)
    if not server.shows_tables:
        message = lsp.ShowMessageParams(lsp.MessageType.Info, table)
        server.window_show_message(message)
    return table


def _at(params: Any) -> tuple[Document, Rows, int]:
    """The document, and the offset of the position that is asked for."""
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    return document, rows, rows.offset(params.position)


def serve() -> None:
    """Answer on standard input and output until the editor ends."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)  # a tree has many nodes, and no circles
    server.start_io()
