"""Prints the man page, out of the commands' own help and the tables of the language.

python editors/make/man.py > ~/.local/share/man/man1/ioplan.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan import __version__
from ioplan.cli.interface.declare import Command, Group, Parameter
from ioplan.cli.interface.table import IOPLAN
from ioplan.cli.shell.help import usage
from ioplan.language.clause_table import CLAUSES
from ioplan.language.statement_table import ITEMS, PREPARES, STATEMENTS, TIMING

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
CODE = re.compile(r"`([^`]*)`")
TABLES = {
    "FILE": ITEMS,
    "PRECONDITION": PREPARES,
    "TEST": STATEMENTS,
    "HOW LONG": TIMING,
}


def page() -> str:
    """The page in the language of man pages."""
    return "\n".join([*_head(), *_commands(), *_language(), *_tail(), ""])


def _head() -> Iterator[str]:
    yield f'.TH IOPLAN 1 "" "ioplan {__version__}" "ioplan"'
    yield from (".SH NAME", f"ioplan \\- {plain(IOPLAN.summary)}")
    yield from (".SH SYNOPSIS", ".B ioplan", ".I COMMAND", "[OPTIONS] [ARGUMENTS]")


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS"
    for path, command in _entries(("ioplan",), IOPLAN):
        yield from (f".SS {plain(' '.join(path[1:]))}", plain(command.summary))
        yield from (".PP", f".B {plain(usage(path, command))}")
        for parameter in (*command.arguments, *command.options):
            yield from (".TP", f".B {plain(_named(parameter))}", plain(parameter.help))


def _entries(
    path: tuple[str, ...], group: Group
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """All commands that people call, each with the words that lead to it."""
    for entry in group.shown:
        here = (*path, entry.name)
        if isinstance(entry, Group):
            yield from _entries(here, entry)
        else:
            yield here, entry


def _named(parameter: Parameter) -> str:
    names = ", ".join(getattr(parameter, "names", ()))
    return " ".join(part for part in (names, parameter.metavar) if part)


def _language() -> Iterator[str]:
    """Items, statements and clauses, as the reference has them."""
    for title, table in TABLES.items():
        yield f".SH {title}"
        for form, meaning in (
            (f, m) for entry in table for f, m in entry.forms.items()
        ):
            yield from (".TP", f".B {plain(form)}", plain(meaning))
    yield ".SH CLAUSES"
    for clause in CLAUSES:
        if clause.reference:
            form, meaning, default = clause.reference
            yield from (".TP", f".B {plain(form)}", plain(meaning))
            yield f"Default: {plain(default)}." if default else "."


def _tail() -> Iterator[str]:
    yield from (".SH FILES", ".TP", ".I *.ioplan", "Plans and libraries of names.")


def plain(text: str) -> str:
    """A text without marks of documents, in which nothing is a request of man's."""
    flat = CODE.sub(r"\1", LINK.sub(r"\1", text)).replace("\\", "\\e")
    return re.sub(r"^([.'])", r"\\&\1", flat.replace("-", "\\-"))


if __name__ == "__main__":
    print(page(), end="")
