"""Commands of plug-ins: the entry-point group `ioplan.commands`.

An entry point is a tuple of `Command` and `Group`, in a module that imports nothing but
`ioplan.cli.interface`: help and completion read it at each start. The functions that it
names are imported when they are called. README: `examples/worst_command`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from ioplan.cli.display.output import print_message
from ioplan.cli.interface.declare import Command, Entry, Group
from ioplan.core.version import entry_values

GROUP = "ioplan.commands"


def with_plugins(core: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The core's commands, and those of plug-ins in the order of their names.

    One that cannot be loaded, or has the name of another command, is left out with a
    message: no plug-in stops or replaces a command of the core.
    """
    known = {one.name: one for one in core}
    for name, entries in loaded(GROUP):
        if not all(isinstance(one, Command | Group) for one in entries):
            _left_out(name, "it is no tuple of Command and Group")
            continue
        for entry in entries:
            if entry.name in known:
                _left_out(name, f"there is a command `{entry.name}` already")
            known.setdefault(entry.name, entry)
    return tuple(known.values())


def loaded(group: str) -> Iterator[tuple[str, Any]]:
    """The entry points of a group by name; a message for one that cannot be loaded."""
    for name, value in sorted(entry_values(group).items()):
        module, _, attribute = value.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except Exception as error:
            _left_out(name, f"{type(error).__name__}: {error}")
        else:
            yield name, found


@cache
def _left_out(name: str, why: str) -> None:
    """Say it once, however many groups the plug-in is in."""
    print_message(f"warning: commands of the plug-in {name!r} are left out: {why}")
