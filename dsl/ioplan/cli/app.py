"""The command line: from the words of a call to its exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from ioplan.cli.arguments import Call, CallError, parse
from ioplan.cli.display.output import encodable, print_message, unprintable
from ioplan.cli.exit_codes import HELD, INTERRUPTED, USAGE
from ioplan.cli.interface.declare import Command, Group
from ioplan.cli.interface.shared import JSON_LINES
from ioplan.cli.interface.table import IOPLAN, READ_STORES
from ioplan.cli.shell import completion
from ioplan.cli.shell.help import error_page, help_page
from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.extras import needed
from ioplan.core.system import ELSEWHERE, IS_LINUX


def run(words: list[str]) -> int:
    """Do what the words say; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a locale without µ is no failure
            stream.reconfigure(errors="replace")
    return _guarded(lambda: _run(words))


def _run(words: list[str]) -> int:
    if shell := os.environ.get(completion.VARIABLE, "").removeprefix("complete_"):
        sys.stdout.write(completion.answers(shell, IOPLAN))
        return HELD
    if word := unprintable(words):
        print_message(
            f"error: the argument {word!a} has characters that cannot be shown; rename"
        )
        return USAGE
    try:
        call = parse(words, IOPLAN)
    except CallError as error:
        text = error_page(str(error), error.path, error.entry, sys.stderr)
        sys.stderr.write(encodable(text, sys.stderr))
        return USAGE
    if isinstance(call.entry, Command) and "help" not in call.values:
        command, values = call.entry, call.values
        as_json = JSON_LINES in command.parameters and values[JSON_LINES.key]
        return _guarded(lambda: call_command(command, values), as_json)
    return _asked(call)


def call_command(command: Command, values: dict[str, Any]) -> int:
    """Import what does it, and do it."""
    if command.needs_linux and not IS_LINUX:
        text = f"ioplan {command.name} needs Linux; {ELSEWHERE}"
        raise ExplainedError(text, CommandFault.SYSTEM)
    module, _, name = command.call.partition(":")
    with _extra_of(command):
        function = getattr(import_module(module), name)
        if command.name not in READ_STORES:
            _collect_garbage()
        code: int | None = function(**values)
    return code or HELD


def _extra_of(command: Command) -> AbstractContextManager[None]:
    """A library of the command's extra that is not here is an error with its remedy."""
    if not command.extra:
        return nullcontext()
    what = f"`ioplan {command.name}` needs"
    return needed(
        what, command.extra, lambda text: ExplainedError(text, CommandFault.USAGE)
    )


def _collect_garbage() -> None:
    """From now on, but not in what was imported: that took a fifth of a short run."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _guarded(do: Callable[[], int], as_json: bool = False) -> int:
    """The exit code of what is done; what goes wrong is told in one message."""
    try:
        return do()
    except KeyboardInterrupt:
        print_message("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads on; Python must not complain either
        return HELD
    except Exception as error:
        from ioplan.cli.errors import exit_code  # noqa: PLC0415  help needs no errors

        return exit_code(error, as_json)


def _asked(call: Call) -> int:
    """Help, or what an option of `ioplan` itself asks for."""
    asked = call.values
    if "version" in asked:
        from ioplan.core.version import __version__  # noqa: PLC0415  takes as long as two Pythons

        sys.stdout.write(f"ioplan {__version__}\n")
    elif {"show_completion", "install_completion"} & asked.keys():
        from ioplan.cli.shell import shell_scripts  # noqa: PLC0415  rare

        show = "show_completion" in asked
        sys.stdout.write(shell_scripts.script() if show else shell_scripts.install())
    else:
        help = help_page(call.path, call.entry, sys.stdout)
        sys.stdout.write(encodable(help, sys.stdout))
    called_nothing = isinstance(call.entry, Group) and not asked
    return USAGE if called_nothing else HELD
