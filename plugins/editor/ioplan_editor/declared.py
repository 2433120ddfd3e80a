"""The entry point of `ioplan.commands`: what the command line knows of the editor."""

from __future__ import annotations

from ioplan.cli import Command

COMMANDS = (
    Command(
        "lsp",
        "Run the language server for editors on standard input and output.",
        "ioplan_editor.command:serve_editor",
    ),
)
