"""The answers to what a shell asks, to complete a word.

A shell sets `_IOPLAN_COMPLETE` to `complete_SHELL`, and `COMP_WORDS` to the words so
far: one a line in bash, else as typed. `COMP_CWORD` is the index of the word to
complete, without it the last one. The scripts that ask are in `shell_scripts`.
"""

from __future__ import annotations

import os
import re

from ioplan.cli.interface.declare import Command, Entry, Group, Parameter

Values = dict[str, list[str]]
SPECIAL = re.compile(r"[^\w./=:,@%+~-]")
"""What bash would not take as a part of a word."""
VARIABLE = "_IOPLAN_COMPLETE"


def answers(shell: str, top: Group) -> str:
    """What the word could become, as the shell wants to read it."""
    words, word = _asked()
    entry, typed, asked = _read(words, top)
    word = word.replace("\\", "").strip("\"'")
    known: list[tuple[str, str]] = []
    if asked and (asked.names or not word.startswith("-")):
        known += _values(asked, typed, word)
    elif word.startswith("-"):
        known += [(one.names[0], one.help) for one in entry.options if not one.hidden]
    if isinstance(entry, Group) and not word.startswith("-"):
        known += [(one.name, one.summary) for one in entry.shown]
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
    word = words[last] if last < len(words) else ""
    before = [one for one in words[1:last] if one != "="]  # bash splits there
    return before, "" if word == "=" else word


def _read(words: list[str], top: Group) -> tuple[Entry, Values, Parameter | None]:
    """Which entry is called, its values so far, and whose value is to follow."""
    entry: Entry = top
    typed: Values = {}
    option: Parameter | None = None
    places: list[Parameter] = []
    for word in words:
        takes = {name: one for one in entry.options for name in one.names}
        name, equals, value = word.partition("=")
        if option:
            typed.setdefault(option.key, []).append(word)
            option = None
        elif name in takes:
            if equals:
                typed.setdefault(takes[name].key, []).append(value)
            elif takes[name].kind != "flag":
                option = takes[name]
        elif isinstance(entry, Group):
            entry = entry.named(word) or entry.named(entry.usual) or entry
            places = [] if isinstance(entry, Group) else list(entry.arguments)
        elif places:
            typed.setdefault(places[0].key, []).append(word)
            places = places if places[0].many else places[1:]
    if isinstance(entry, Group) and isinstance(
        usual := entry.named(entry.usual), Command
    ):
        places = list(usual.arguments)
    return entry, typed, option or (places[0] if places else None)


def _values(asked: Parameter, typed: Values, word: str) -> list[tuple[str, str]]:
    """What a value may be."""
    if "|" in asked.values:
        return [(one, "") for one in asked.values.split("|")]
    if not asked.values:
        return []
    from ioplan.cli.shell.completion_values import Typed, values_of  # noqa: PLC0415

    return values_of(asked.values, Typed(word, typed))


def _answer(shell: str, name: str, help: str) -> str:
    help = help.split("\n", maxsplit=1)[0]
    if shell == "zsh":
        return f"{name.replace(':', chr(92) + ':')}:{help}"
    return f"{name}\t{help}" if shell == "fish" else SPECIAL.sub(r"\\\g<0>", name)
