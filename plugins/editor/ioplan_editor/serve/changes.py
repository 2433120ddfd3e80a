"""What changes a text: layout, names, corrections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from ioplan_editor.fix.fixes import Edit, fixes, formatting
from ioplan_editor.look.references import (
    RenameError,
    renamable,
    renaming,
)
from ioplan_editor.serve import wire
from ioplan_editor.serve.server import at, server
from ioplan_editor.serve.wire import Rows, uri_of

Made = TypeVar("Made")


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


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
    document, rows, offset = at(params)
    found = _or_refused(lambda: renamable(document, offset))
    return rows.of(found.span) if found else None


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    document, _, offset = at(params)
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


@server.thread()
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
