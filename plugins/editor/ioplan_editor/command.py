"""`ioplan lsp`: the language server for editors."""

from __future__ import annotations

from ioplan.cli import UsageError
from ioplan.core import install_command


def serve_editor() -> None:
    """Answer an editor until it ends."""
    try:
        from ioplan_editor.serve.run import serve  # noqa: PLC0415  an extra has what it needs
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("pygls", "lsprotocol"):
            raise
        text = f"editors need {missing}: {install_command('lsp')}"
        raise UsageError(text) from None
    serve()
