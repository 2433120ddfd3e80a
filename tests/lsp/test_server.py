"""The server itself, over its standard input and output."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

LIBRARY = "workload mixed = random 8KiB 70/30\n"
PLAN = """use "lib.ioplan" as lib
param run_time = 3s
test "T\N{GRINNING FACE}" {
  run lib.mixed,   qd 8 for run_time
  vary read in 0%, 100%
  expect p99 < 2ns
}
test "U" { run random 4kb 100/0 for 1s }
"""
SERVER = ClientServerConfig(server_command=[sys.executable, "-m", "ioplan.cli", "lsp"])


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """A plan and its library."""
    folder = tmp_path_factory.mktemp("plans").resolve()
    (folder / "lib.ioplan").write_text(LIBRARY)
    (folder / "plan.ioplan").write_text(PLAN)
    return folder / "plan.ioplan"


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def client(lsp_client: LanguageClient, plan: Path) -> AsyncIterator[None]:
    """Visual Studio Code, to the server."""
    options = {"profile": "full"}
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            root_uri=plan.parent.as_uri(),
            initialization_options=options,
        )
    )
    lsp_client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(plan.as_uri(), "ioplan", 1, PLAN)
        )
    )
    await lsp_client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    yield
    await lsp_client.shutdown_session()


def at(plan, word):
    """The parameters of a request for a place."""
    before = PLAN[: PLAN.index(word)]
    column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return {
        "text_document": lsp.TextDocumentIdentifier(plan.as_uri()),
        "position": lsp.Position(before.count("\n"), column),
    }


async def test_diagnostics_as_one_types(client: LanguageClient, plan: Path) -> None:
    (found,) = client.diagnostics[plan.as_uri()]
    assert found.message.startswith("unknown unit 'kb'")
    assert found.range.start == lsp.Position(7, 22)


async def test_hover(client: LanguageClient, plan: Path) -> None:
    found = await client.text_document_hover_async(lsp.HoverParams(**at(plan, "qd 8")))
    assert found and "outstanding" in found.contents.value


async def test_completion(client: LanguageClient, plan: Path) -> None:
    params = lsp.CompletionParams(**at(plan, "mixed"))
    found = await client.text_document_completion_async(params)
    labels = {one.label: one for one in found.items}
    edit = labels["lib.mixed"].text_edit
    assert isinstance(edit, lsp.TextEdit)
    assert (edit.range.start.character, edit.range.end.character) == (6, 10)


async def test_definition_and_rename(client: LanguageClient, plan: Path) -> None:
    where = at(plan, "mixed")
    found = await client.text_document_definition_async(lsp.DefinitionParams(**where))
    assert isinstance(found, lsp.Location) and found.uri.endswith("lib.ioplan")
    params = lsp.RenameParams(**where, new_name="blend")
    edit = await client.text_document_rename_async(params)
    assert edit and edit.changes and len(edit.changes) == 2


async def test_formatting(client: LanguageClient, plan: Path) -> None:
    params = lsp.DocumentFormattingParams(
        lsp.TextDocumentIdentifier(plan.as_uri()), lsp.FormattingOptions(2, True)
    )
    edits = await client.text_document_formatting_async(params)
    assert edits and any("run    lib.mixed, qd 8" in one.new_text for one in edits)


async def test_an_action_does_what_the_help_says(
    client: LanguageClient, plan: Path
) -> None:
    document = lsp.TextDocumentIdentifier(plan.as_uri())
    (wrong,) = client.diagnostics[plan.as_uri()]
    context = lsp.CodeActionContext([wrong])
    params = lsp.CodeActionParams(document, wrong.range, context)
    found = await client.text_document_code_action_async(params)
    assert found and [one.title for one in found] == ["write 4KiB"]


async def test_colours_symbols_and_folds(client: LanguageClient, plan: Path) -> None:
    document = lsp.TextDocumentIdentifier(plan.as_uri())
    tokens = await client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(document)
    )
    assert tokens and len(tokens.data) % 5 == 0
    symbols = await client.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(document)
    )
    assert symbols and [one.name for one in symbols][:2] == ["lib", "run_time"]
    folds = await client.text_document_folding_range_async(
        lsp.FoldingRangeParams(document)
    )
    assert folds and (folds[0].start_line, folds[0].end_line) == (2, 5)


async def test_an_edit_is_checked_and_a_closed_text_is_silent(
    client: LanguageClient, plan: Path
) -> None:
    uri = plan.as_uri()
    change = lsp.TextDocumentContentChangeWholeDocument(PLAN.replace("4kb", "4KiB"))
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(2, uri), [change]
        )
    )
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert all("kb" not in one.message for one in client.diagnostics[uri])
