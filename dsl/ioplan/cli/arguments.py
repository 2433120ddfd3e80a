"""The words of a call: which command they name, and the values that they give it.

As usual elsewhere: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, `-qn VALUE`;
options may stand behind arguments, and `--` ends them.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ioplan.cli.interface.declare import HELP, PATHS, Command, Entry, Group, Parameter
from ioplan.core.retired import instead_of

NAMES = {"number": "number", "integer": "whole number"}


class Call(NamedTuple):
    """What is called, by which names, with values by the keys of its parameters."""

    path: tuple[str, ...]
    entry: Entry
    values: dict[str, Any]


class CallError(Exception):
    """A call that cannot be; `path` and `entry` are as far as it was understood."""

    def __init__(self, text: str, path: tuple[str, ...], entry: Entry) -> None:
        super().__init__(text)
        self.path, self.entry = path, entry


def parse(words: list[str], top: Group) -> Call:
    """What the words call: a command, or a group for its help. Raises CallError."""
    path: tuple[str, ...] = (top.name,)
    entry: Entry = top
    while True:
        entry = _meant(words, entry)
        reader = Reader(words, path, entry)
        if isinstance(entry, Command) or reader.values or not reader.rest:
            return Call(path, entry, reader.result())
        name, *words = reader.rest
        entry = _entry(name, path, entry)
        path = (*path, name)


def _meant(words: list[str], entry: Entry) -> Entry:
    """The usual command of a group, where the words name none and ask for no help."""
    if isinstance(entry, Command) or not (usual := entry.named(entry.usual)):
        return entry
    first = words[0] if words else ""
    return entry if entry.named(first) or first in HELP.names else usual


def _entry(name: str, path: tuple[str, ...], group: Group) -> Entry:
    if found := group.named(name):
        return found
    near = _near(name, [entry.name for entry in group.shown])
    meant = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
    meant = instead_of(path[1:], name) or meant
    raise CallError(f"No such command {name!r}.{meant}", path, group)


def _near(word: str, known: list[str]) -> list[str]:
    return get_close_matches(word, known)


class Reader:
    """Takes the options of one entry out of words."""

    def __init__(self, words: list[str], path: tuple[str, ...], entry: Entry) -> None:
        self.path, self.entry = path, entry
        self.options = {name: one for one in entry.options for name in one.names}
        self.values: dict[str, Any] = {}
        self.rest: list[str] = []
        self.words = list(words)
        while self.words:
            self._next()

    def _next(self) -> None:
        word = self.words.pop(0)
        if word == "--":
            self._end()
        elif word.startswith("--"):
            self._long(word)
        elif word.startswith("-") and len(word) > 1:
            self._short(word[1:])
        else:
            self.rest.append(word)
            if isinstance(self.entry, Group):  # what follows is the command's
                self._end()

    def _end(self) -> None:
        if getattr(self.entry, "foreign", False):  # it ends the other's options, too
            self.rest.append("--")
        self.rest += self.words
        self.words = []

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if self._is_foreign(name):
            self.rest.append(word)
            return
        option = self._option(name)
        if option.kind != "flag":
            self._put(option, value if equals else self._value(option, name))
        elif equals:
            raise self.error(f"Option {name!r} does not take a value.")
        else:
            self._set(option, True)

    def _short(self, letters: str) -> None:
        """One letter or several; the first that takes a value has what follows it."""
        name = f"-{letters[0]}"
        if self._is_foreign(name if len(letters) == 1 else f"-{letters}"):
            self.rest.append(f"-{letters}")
            return
        option = self._option(name)
        if option.kind != "flag":
            self._put(option, letters[1:] or self._value(option, name))
            return
        self._set(option, True)
        if letters[1:]:
            self._short(letters[1:])

    def _is_foreign(self, name: str) -> bool:
        """Whether it is an option of another program, which the command hands on."""
        return getattr(self.entry, "foreign", False) and name not in self.options

    def _option(self, name: str) -> Parameter:
        if name in self.options:
            return self.options[name]
        shown = [n for n, one in self.options.items() if not one.hidden]
        near = ", ".join(_near(name, shown)) if name.startswith("--") else ""
        meant = f" (Possible options: {near})" if near else ""
        if advice := instead_of(self.path[1:], name):
            meant = f".{advice}"
        raise self.error(f"No such option: {name}{meant}")

    def _value(self, option: Parameter, name: str) -> str:
        if not self.words:
            raise self.error(f"Option {name!r} requires an argument.")
        return self.words.pop(0)

    def _put(self, parameter: Parameter, word: str) -> None:
        name = shown(parameter)
        if advice := instead_of((*self.path[1:], name), word):
            raise self.error(f"Invalid value for {name!r}: {word!r}.{advice}")
        value = self._converted(parameter, word)
        if parameter.many:
            self.values.setdefault(parameter.key, []).append(value)
        else:
            self._set(parameter, value)

    def _set(self, parameter: Parameter, value: Any) -> None:
        """A second value would silently replace the first."""
        if parameter.key in self.values and parameter.key != HELP.key:
            raise self.error(f"Option {shown(parameter)!r} is given twice.")
        self.values[parameter.key] = value

    def _converted(self, parameter: Parameter, word: str) -> Any:
        if parameter.kind in PATHS:
            return Path(word)
        try:
            kinds = {"number": float, "integer": int}
            return kinds.get(parameter.kind, str)(word)
        except ValueError:
            raise self.error(
                f"Invalid value for {shown(parameter)!r}: {word!r} is not a "
                f"{NAMES[parameter.kind]}"
            ) from None

    def result(self) -> dict[str, Any]:
        """The value of each parameter. Raises CallError."""
        if isinstance(self.entry, Group) or self.values.get("help"):
            return self.values
        for argument in self.entry.arguments:
            while self.rest and (argument.many or argument.key not in self.values):
                self._put(argument, self.rest.pop(0))
        if self.rest:
            raise self.error(
                f"Got unexpected extra argument(s) ({' '.join(self.rest)})"
            )
        return {one.key: self._final(one) for one in self.entry.parameters}

    def _final(self, parameter: Parameter) -> Any:
        if parameter.key in self.values:
            return self.values[parameter.key]
        if parameter.required:
            kind = "option" if parameter.names else "argument"
            raise self.error(f"Missing {kind} {shown(parameter)!r}.")
        if parameter.kind in PATHS and parameter.default is not None:
            return self._converted(parameter, parameter.default)
        return parameter.empty()

    def error(self, text: str) -> CallError:
        """An error in this entry's words."""
        return CallError(text, self.path, self.entry)


def shown(parameter: Parameter) -> str:
    """A parameter as errors name it."""
    return parameter.names[0] if parameter.names else parameter.metavar
