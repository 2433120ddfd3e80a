"""What is open, and how it is set up."""

from __future__ import annotations

from lsprotocol import types as lsp

from ioplan_editor.serve.server import path_of, server


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
