"""How soon `ioplan lsp` answers, of a plan of some 500 lines.

    python tests/benchmarks/editor.py

A key is a change of the text; the errors that follow it come after a pause in which
the next key could have come, which is not counted.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from ioplan.lsp.server import CHECK_AFTER_S
from ioplan.lsp.wire import uri_of

ROOT = Path(__file__).parents[2]
LINES, TIMES = 500, 30


def long_plan() -> str:
    """The review, its tests again and again under other titles."""
    text = (ROOT / "examples/review.ioplan").read_text("utf-8")
    tests, number = text[text.index('test "') :], 0
    while text.count("\n") < LINES:
        number += 1
        text += "\n" + re.sub(r'test "', f'test "{number} ', tests)
    return text


class Editor:
    """A client with the plan open; keys are typed into its last test."""

    def __init__(self, client: LanguageClient, path: Path, text: str) -> None:
        self.client, self.text, self.version = client, text, 1
        self.document = lsp.TextDocumentIdentifier(uri_of(path))
        self.told = asyncio.Event()
        end = text.rindex("run ")
        row = text.count("\n", 0, end)
        self.position = lsp.Position(row, end - text.rindex("\n", 0, end) - 1)

    def key(self) -> None:
        """One more blank, or one less."""
        self.version += 1
        where = lsp.Range(self.position, self.position)
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.document.uri)
        change = lsp.TextDocumentContentChangePartial(where, " ")
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(document, [change])
        )

    async def errors(self) -> None:
        """The errors after a key."""
        self.told.clear()
        self.key()
        await self.told.wait()

    def requests(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """What an editor asks after a key."""
        at, client, document = (
            (self.document, self.position),
            self.client,
            self.document,
        )
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(LINES * 2, 0))
        return {
            "completion": lambda: client.text_document_completion_async(
                lsp.CompletionParams(*at)
            ),
            "hover": lambda: client.text_document_hover_async(lsp.HoverParams(*at)),
            "signature": lambda: client.text_document_signature_help_async(
                lsp.SignatureHelpParams(*at)
            ),
            "definition": lambda: client.text_document_definition_async(
                lsp.DefinitionParams(*at)
            ),
            "symbols": lambda: client.text_document_document_symbol_async(
                lsp.DocumentSymbolParams(document)
            ),
            "colours": lambda: client.text_document_semantic_tokens_full_async(
                lsp.SemanticTokensParams(document)
            ),
            "layout": lambda: client.text_document_formatting_async(
                lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, True))
            ),
            "costs": lambda: client.text_document_inlay_hint_async(
                lsp.InlayHintParams(document, whole)
            ),
        }


async def timed(do: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    await do()
    return (time.perf_counter() - began) * 1e3


async def measured(editor: Editor) -> dict[str, list[float]]:
    """All latencies, each request after a key of its own, and once more."""
    found: dict[str, list[float]] = {}
    for _ in range(TIMES):
        found.setdefault("errors", []).append(
            await timed(editor.errors) - CHECK_AFTER_S * 1e3
        )
        for name, ask in editor.requests().items():
            editor.key()
            found.setdefault(f"{name} after a key", []).append(await timed(ask))
            found.setdefault(name, []).append(await timed(ask))
    return found


async def main() -> None:
    text = long_plan()
    client = LanguageClient("benchmark", "1")
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "long.ioplan"
        path.write_text(text)
        editor = Editor(client, path, text)
        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda _: editor.told.set()
        )
        await client.start_io(sys.executable, "-m", "ioplan.cli", "lsp")
        await client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=uri_of(path.parent))
        )
        item = lsp.TextDocumentItem(editor.document.uri, "ioplan", 1, text)
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await editor.told.wait()
        found = await measured(editor)
        await client.shutdown_async(None)
        client.exit(None)
    print(f"{text.count(chr(10))} lines, {TIMES} times each, ms: median, slowest")
    for name, values in sorted(found.items()):
        print(f"{name:24} {median(values):6.1f} {max(values):6.1f}")


if __name__ == "__main__":
    asyncio.run(main())
