"""Pages of help, and the words of a call that cannot be.

Written by hand, as every library for it takes longer to import than a page may take.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

from ioplan.cli.interface.declare import Command, Entry, Group, Parameter

NARROWEST, WIDEST, USUAL = 60, 100, 80
BOLD, DIM, CYAN, GREEN, YELLOW, RED = "1", "2", "1;36", "1;32", "1;33", "31"
Row = list[tuple[str, str]]
"""Cells, each with its style; the last one is as wide as there is room."""


class Page:
    """Lines for one terminal: as wide as it is, in colours if it has them."""

    def __init__(self, out: TextIO) -> None:
        self.width = max(NARROWEST, min(_columns(), WIDEST))
        self.coloured = out.isatty() and not os.environ.get("NO_COLOR")
        self.lines: list[str] = []

    def styled(self, text: str, style: str) -> str:
        """The text in a style."""
        plain = not (self.coloured and style and text)
        return text if plain else f"\x1b[{style}m{text}\x1b[0m"

    def add(self, text: str, style: str = "") -> None:
        """A paragraph, and a blank line behind it."""
        rows = wrapped(text, self.width - 2)
        self.lines += [f" {self.styled(row, style)}" for row in rows] + [""]

    def box(self, title: str, rows: list[Row], style: str = DIM) -> None:
        """Rows in columns, with a frame around them."""
        inside = self.width - 4
        head = f"╭─ {title} {'─' * (self.width - len(title) - 5)}╮"
        self.lines.append(self.styled(head, style))
        side = self.styled("│", style)
        for cells in _aligned(rows, inside):
            blanks = " " * (inside - sum(len(text) for text, _ in cells))
            text = "".join(self.styled(text, style) for text, style in cells)
            self.lines.append(f"{side} {text}{blanks} {side}")
        self.lines.append(self.styled(f"╰{'─' * (self.width - 2)}╯", style))

    def __str__(self) -> str:
        return "\n".join([*self.lines, ""])


def help_page(path: tuple[str, ...], entry: Entry, out: TextIO) -> str:
    """What a command or a group is for, and what it takes."""
    page = Page(out)
    page.lines.append("")
    page.add(f"Usage: {usage(path, entry)}", BOLD)
    page.add(entry.summary)
    if isinstance(entry, Command) and entry.arguments:
        page.box("Arguments", [_argument(one) for one in entry.arguments])
    page.box("Options", _options(entry))
    if isinstance(entry, Group):
        rows = [[(one.name, CYAN), (one.summary, "")] for one in entry.shown]
        page.box("Commands", rows)
    if entry.examples:
        page.lines.append("")
        page.lines += [f"   {page.styled(one, CYAN)}" for one in entry.examples]
    return str(page)


def error_page(text: str, path: tuple[str, ...], entry: Entry, out: TextIO) -> str:
    """What is wrong with a call, and where its help is."""
    page = Page(out)
    page.lines.append(f"Usage: {usage(path, entry)}")
    page.lines.append(f"Try '{' '.join(path)} -h' for help.")
    page.box("Error", [[(text, "")]], RED)
    return str(page)


def usage(path: tuple[str, ...], entry: Entry) -> str:
    """A call in one line."""
    words = [*path, "[OPTIONS]"]
    if isinstance(entry, Group):
        return " ".join([*words, "COMMAND [ARGS]..."])
    for one in entry.arguments:
        word = f"{one.metavar}..." if one.many else one.metavar
        words.append(word if one.required else f"[{word}]")
    return " ".join(words)


def _argument(one: Parameter) -> Row:
    return [("*" if one.required else " ", RED), (one.metavar, CYAN), (_about(one), "")]


def _options(entry: Entry) -> list[Row]:
    known = [one for one in entry.options if not one.hidden]
    starred = any(one.required for one in known)
    return [
        [
            *([("*" if one.required else " ", RED)] if starred else []),
            (one.names[0], CYAN),
            (one.names[1] if one.names[1:] else "", GREEN),
            (_metavar(one), YELLOW),
            (_about(one), ""),
        ]
        for one in known
    ]


def _metavar(one: Parameter) -> str:
    usual = {"flag": "", "path": "FILE", "number": "NUMBER", "integer": "NUMBER"}
    return one.metavar or usual.get(one.kind, "TEXT")


def _about(one: Parameter) -> str:
    default = "" if one.default is None else f"[default: {one.default}]"
    return " ".join(filter(None, (one.help, "[required]" * one.required, default)))


def _aligned(rows: list[Row], width: int) -> list[Row]:
    """Cells under each other; what does not fit goes on in the next line."""
    columns = list(zip(*rows, strict=True))
    widths = [max(len(text) for text, _ in cells) + 2 for cells in columns[:-1]]
    widths = [0 if width == 2 else width for width in widths]  # a column without words
    room = width - sum(widths)
    found: list[Row] = []
    for *first, (text, style) in rows:
        padded = [(t.ljust(w), s) for (t, s), w in zip(first, widths, strict=True)]
        empty = [(" " * w, "") for w in widths]
        for number, row in enumerate(wrapped(text, room)):
            found.append([*(empty if number else padded), (row, style)])
    return found


def wrapped(text: str, width: int) -> list[str]:
    """Lines that end between words; a word that is too long is cut."""
    rows = [""]
    for word in text.split():
        left = word
        while len(left) > width:
            rows += [left[:width]]
            left = left[width:]
        together = f"{rows[-1]} {left}".lstrip()
        rows[-1:] = [together] if len(together) <= width else [rows[-1], left]
    return rows[1:] if not rows[0] and rows[1:] else rows


def _columns() -> int:
    width = os.environ.get("COLUMNS", "")
    if width.isdigit() and int(width):
        return int(width)
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        try:
            return os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            continue
    return USUAL
