"""What a command is: a function by its name, and the words that it takes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Kind = Literal["text", "path", "output", "folder", "number", "integer", "flag"]
PATHS = ("path", "output", "folder")
"""A path that is read, a file that is written, and a folder in which files are."""


class Parameter(NamedTuple):
    """A word of the command line; the function takes its value as `key`.

    An option has `names`, the long one first; without any it is told by its place.
    `metavar` stands for the value in help. A value that is not given is `default`, or
    an empty list where `many` may be given.
    """

    key: str
    metavar: str = ""
    help: str = ""
    kind: Kind = "text"
    default: Any = None
    many: bool = False
    required: bool = False
    values: str = ""
    """What a shell completes it to: words with | between them, or a kind of them."""
    names: tuple[str, ...] = ()
    hidden: bool = False

    def empty(self) -> Any:
        """The value where none is given."""
        if self.many:
            return []
        return False if self.kind == "flag" else self.default


def option(name: str, help: str = "", metavar: str = "", **more: Any) -> Parameter:
    """An option by its names, as in `-o --output`; its key is the long one's."""
    names = tuple(sorted(name.split(), key=len, reverse=True))
    key = more.pop("key", names[0].lstrip("-").replace("-", "_"))
    return Parameter(key=key, metavar=metavar, help=help, names=names, **more)


def flag(name: str, help: str = "", **more: Any) -> Parameter:
    """An option without a value."""
    return option(name, help, kind="flag", **more)


HELP = flag("--help -h", "Show this message and exit.")


class Command(NamedTuple):
    """A command; `call` is the function that does it, as `module:function`.

    `extra` is the extra of ioplan that has all of its libraries. What does I/O, looks
    at devices, or has other hosts do so, needs Linux. One that is `foreign` takes the
    options of another program as arguments, in their order.
    """

    name: str
    summary: str
    call: str
    parameters: tuple[Parameter, ...] = ()
    hidden: bool = False
    examples: tuple[str, ...] = ()
    extra: str = ""
    needs_linux: bool = False
    foreign: bool = False

    @property
    def options(self) -> tuple[Parameter, ...]:
        """What it takes by name, in the order of help."""
        return (*(one for one in self.parameters if one.names), HELP)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """What it takes by place."""
        return tuple(one for one in self.parameters if not one.names)


class Group(NamedTuple):
    """Commands under one name; `usual` is the one that is meant where none is named."""

    name: str
    summary: str
    entries: tuple[Command | Group, ...]
    own_options: tuple[Parameter, ...] = ()
    examples: tuple[str, ...] = ()
    usual: str = ""

    @property
    def options(self) -> tuple[Parameter, ...]:
        """What stands before the name of a command."""
        return (*self.own_options, HELP)

    def named(self, word: str) -> Command | Group | None:
        """The entry of that name."""
        return next((one for one in self.entries if one.name == word), None)

    @property
    def shown(self) -> tuple[Command | Group, ...]:
        """The entries that people call."""
        return tuple(one for one in self.entries if not getattr(one, "hidden", False))


Entry = Command | Group
