"""Errors as the user sees them, and the exit code of each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ioplan.backends import BackendError
from ioplan.cli.display.terminal import say
from ioplan.core.error_kinds import Cause, CommandFault, ExplainedError
from ioplan.export.export import ExportError
from ioplan.guard.target import TargetError
from ioplan.lab.lab import LabError
from ioplan.language.errors.diagnostic import PlanError
from ioplan.store.errors import StoreError

HELD, EXPECTATION_FAILED, USAGE, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(ExplainedError):
    """The command line asks for something that cannot be."""

    kind = CommandFault.USAGE


EXPLAINED = (
    UsageError,
    TargetError,
    BackendError,
    LabError,
    ExportError,
    StoreError,
)


@contextmanager
def reported(as_json: bool = False) -> Iterator[None]:
    """Turn what goes wrong into one message and an exit code; no traceback.

    For programs also a line of JSON on standard output, with the error's name.
    """
    try:
        yield
    except PlanError as error:
        say(str(error))
        _print_json(as_json, CommandFault.PLAN, error)
        raise typer.Exit(USAGE) from None
    except EXPLAINED as error:
        say(f"error: {error}")
        _print_json(as_json, error.kind, error)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads on; Python must not complain either
        raise typer.Exit(0) from None
    except typer.Exit:
        raise
    except Exception as error:  # a defect of ioplan: said so, and in one line
        if os.environ.get("IOPLAN_DEBUG"):
            raise
        say(
            f"error: ioplan itself failed: {type(error).__name__}: {error}\n"
            f"set IOPLAN_DEBUG=1 to see where, and please report it"
        )
        _print_json(as_json, Cause.INTERNAL, error)
        raise typer.Exit(RUN_FAILED) from None


def _print_json(as_json: bool, kind: str, error: Exception) -> None:
    if as_json:
        print(json.dumps({"type": "error", "kind": kind, "text": str(error)}))
