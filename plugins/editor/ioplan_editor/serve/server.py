"""The server: a workspace, and what was last said of its files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ioplan.core import __version__
from ioplan.language import FULL, Diagnostic
from ioplan_editor.document import Document, Workspace
from ioplan_editor.serve import wire
from ioplan_editor.serve.wire import Rows, uri_of

CHECK_AFTER_S = 0.05
"""A check waits so long for the next key."""
ByFile = dict[Path, list[Diagnostic]]


class Server(LanguageServer):
    """A workspace, and what was last said of its files."""

    def __init__(self) -> None:
        super().__init__("ioplan", __version__)
        self.files = Workspace()
        self.uris: dict[Path, str] = {}
        self.found: dict[Path, ByFile] = {}
        self.changes = 0
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
        """`profile`: the one in which plans are checked."""
        known = options if isinstance(options, dict) else {}
        self.files.profile = str(known.get("profile") or FULL)
        self.files.forget()


def path_of(uri: str) -> Path:
    """The file of an address, as the checker calls it."""
    return Path(to_fs_path(uri) or uri).resolve()


server = Server()


def at(params: Any) -> tuple[Document, Rows, int]:
    """The document, and the offset of the position that is asked for."""
    document = server.document(params.text_document.uri)
    rows = Rows(document.source)
    return document, rows, rows.offset(params.position)
