"""How soon `ioplan lsp` answers, of a plan of some 500 lines.

    python tests/benchmarks/editor.py

A key is a change of the text. What is said of it comes after a pause in which the next
key could have come, which is not counted. CPU is the server's own time, whatever else
the machine does.
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
from typing import NamedTuple

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from ioplan_editor.serve.server import CHECK_AFTER_S
from ioplan_editor.serve.wire import uri_of

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

    def __init__(
        self, client: LanguageClient, path: Path, text: str, told: asyncio.Event
    ) -> None:
        self.client, self.version, self.told = client, 1, told
        self.document = lsp.TextDocumentIdentifier(uri_of(path))
        self.pid = client._server.pid if client._server else 0
        end = text.rindex("run ")
        row = text.count("\n", 0, end)
        self.position = lsp.Position(row, end - text.rindex("\n", 0, end) - 1)

    def key(self, text: str = " ", gone: int = 0) -> None:
        """Some characters more, or less."""
        self.version += 1
        end = lsp.Position(self.position.line, self.position.character + gone)
        where = lsp.Range(self.position, end)
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.document.uri)
        change = lsp.TextDocumentContentChangePartial(where, text)
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(document, [change])
        )

    async def told_after(self, text: str, gone: int = 0) -> None:
        """What is said after a key."""
        self.told.clear()
        self.key(text, gone)
        await self.told.wait()

    def requests(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """What an editor asks after a key."""
        at, client, document = (
            (self.document, self.position),
            self.client,
            self.document,
        )
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
        }


class Took(NamedTuple):
    """Milliseconds until the answer, and of the server's CPU time."""

    real: float
    cpu: float


def cpu_ms(pid: int) -> float:
    """What all threads of a process have run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1e6


async def timed(editor: Editor, do: Callable[[], Awaitable[object]]) -> Took:
    """From the question to its answer."""
    cpu, began = cpu_ms(editor.pid), time.perf_counter()
    await do()
    return Took((time.perf_counter() - began) * 1e3, cpu_ms(editor.pid) - cpu)


async def measured(editor: Editor) -> dict[str, list[Took]]:
    """All latencies, each request after a key of its own, and once more."""
    found: dict[str, list[Took]] = {}
    pause_ms = CHECK_AFTER_S * 1e3

    async def note(name: str, do: Callable[[], Awaitable[object]], less: float) -> None:
        took = await timed(editor, do)
        found.setdefault(name, []).append(Took(took.real - less, took.cpu))

    for _ in range(TIMES):
        await note("an error", lambda: editor.told_after("x "), pause_ms)
        await note("no error", lambda: editor.told_after("", gone=2), pause_ms)
        for name, ask in editor.requests().items():
            editor.key()
            await note(f"{name} after a key", ask, 0)
            await note(name, ask, 0)
            await asyncio.sleep(2 * CHECK_AFTER_S)
    return found


async def main() -> None:
    text = long_plan()
    client = LanguageClient("benchmark", "1")
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "long.ioplan"
        path.write_text(text)
        told = asyncio.Event()
        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda _: told.set())
        await client.start_io(sys.executable, "-m", "ioplan.cli", "lsp")
        editor = Editor(client, path, text, told)
        await client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=uri_of(path.parent))
        )
        item = lsp.TextDocumentItem(editor.document.uri, "ioplan", 1, text)
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await editor.told.wait()
        found = await measured(editor)
        await client.shutdown_async(None)
        client.exit(None)
    print(f"{text.count(chr(10))} lines, {TIMES} times each, ms")
    print("| answer | median | slowest | CPU |\n|---|---|---|---|")
    for name, all_of in sorted(found.items()):
        real, cpu = zip(*all_of, strict=True)
        print(f"| {name} | {median(real):.0f} | {max(real):.0f} | {median(cpu):.1f} |")


if __name__ == "__main__":
    asyncio.run(main())
