"""`ioplan new`: a plan to begin with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ioplan.cli.commands.author.templates import BY_NAME, TEMPLATES, Template
from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import opened
from ioplan.core.text import did_you_mean
from ioplan.language.syntax.formatter import format_text

SUFFIX = ".ioplan"


def new_plan(file: Path | None, template: str | None, title: str | None) -> None:
    """Write a plan of a template; at a terminal, what is not said is asked."""
    chosen = _template(template) if template else _asked_template()
    path = file or Path(f"{chosen.name}{SUFFIX}")
    if not path.suffix:
        path = path.with_suffix(SUFFIX)
    if title is None:
        title = _default_title(path)
        title = _asked(f"title [{title}]: ") or title if _can_ask() else title
    _write(path, _filled(chosen, path, title))
    print_line(f"{path} is written; ioplan check {path} checks it")


def _filled(template: Template, path: Path, title: str) -> str:
    if '"' in title or "\\" in title or "\n" in title:
        raise UsageError("a title has no quotes and no backslashes")
    text = template.text.format(title=title)
    return format_text(text.replace("FILE", path.name), str(path))


def _default_title(path: Path) -> str:
    words = path.stem.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def _template(name: str) -> Template:
    if name not in BY_NAME:
        raise UsageError(
            f"unknown template {name!r}{did_you_mean(name, BY_NAME)}; there are: "
            f"{', '.join(BY_NAME)}"
        )
    return BY_NAME[name]


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked_template() -> Template:
    """The one that fits the question; the first where nobody can be asked."""
    if not _can_ask():
        names = "\n".join(f"  {one.name:<12} {one.question}" for one in TEMPLATES)
        first = TEMPLATES[0].name
        print_message(f"note: the template is {first}; --template chooses:\n{names}")
        return TEMPLATES[0]
    print_message("What do you want to know?")
    for number, one in enumerate(TEMPLATES, 1):
        print_message(f"  {number}  {one.question}")
    said = _asked("number or name [1]: ") or "1"
    if said.isdecimal() and 1 <= int(said) <= len(TEMPLATES):
        return TEMPLATES[int(said) - 1]
    return _template(said)


def _asked(question: str) -> str:
    print_message(question, end="")
    return sys.stdin.readline().strip()


def _write(path: Path, text: str) -> None:
    """Never over anything."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already; name another file")
    with opened(path) as file:
        file.write(text.encode())
