"""The answers to what a shell asks, to complete a word.

A shell sets `_IOPLAN_COMPLETE` to `complete_SHELL`, and `COMP_WORDS` to the words so
far: one a line in bash, else as typed. `COMP_CWORD` is the index of the word to
complete, without it the last one. The scripts that ask are in `shell_scripts`.
"""

from __future__ import annotations

import os

from ioplan.cli.interface.declare import Entry, Group

VARIABLE = "_IOPLAN_COMPLETE"


def answers(shell: str, top: Group) -> str:
    """What the word could become, as the shell wants to read it."""
    words, word = _asked()
    known = _candidates(words, top, options=word.startswith("-"))
    found = [one for one in known if one[0].startswith(word)]
    return "".join(f"{_answer(shell, *one)}\n" for one in found)


def _asked() -> tuple[list[str], str]:
    """The words before the one to complete, and that one."""
    text = os.environ.get("COMP_WORDS", "")
    words = text.split("\n") if "\n" in text else [*text.split(), ""]
    if text and not text[-1].isspace() and "\n" not in text:
        words.pop()
    at = os.environ.get("COMP_CWORD", "")
    last = int(at) if at.isdigit() else len(words) - 1
    return words[1:last], words[last] if last < len(words) else ""


def _candidates(words: list[str], top: Group, options: bool) -> list[tuple[str, str]]:
    """Options or commands that may follow some words, each with what it is for."""
    entry: Entry = top
    for word in words:
        if isinstance(entry, Group):
            known = {one.name: one for one in entry.entries}
            entry = known.get(word, entry)
    takes = {name: one for one in entry.options for name in one.names}
    if words and words[-1] in takes and takes[words[-1]].kind != "flag":
        return []  # its value
    if options:
        return [(one.names[0], one.help) for one in entry.options if not one.hidden]
    names = entry.shown if isinstance(entry, Group) else ()
    return [(one.name, one.summary) for one in names]


def _answer(shell: str, name: str, help: str) -> str:
    if shell == "zsh":
        return f"{name}:{help}"
    return f"{name}\t{help}" if shell == "fish" else name
