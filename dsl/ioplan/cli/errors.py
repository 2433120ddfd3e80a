"""Errors as the user sees them."""

from __future__ import annotations

import json
import os

from ioplan.cli.display.output import print_message
from ioplan.cli.exit_codes import RUN_FAILED, USAGE
from ioplan.core.error_kinds import Cause, CommandFault, ExplainedError
from ioplan.language.errors.diagnostic import PlanError


class UsageError(ExplainedError):
    """The command line asks for something that cannot be."""

    kind = CommandFault.USAGE


def exit_code(error: Exception, as_json: bool) -> int:
    """Say in one message what went wrong, no traceback; the exit code.

    For programs also a line of JSON on standard output, with the error's name.
    """
    code, kind, text = USAGE, str(CommandFault.PLAN), str(error)
    if isinstance(error, ExplainedError):
        kind, text = error.kind, f"error: {error}"
    elif not isinstance(error, PlanError):  # a defect of ioplan: said so
        if os.environ.get("IOPLAN_DEBUG"):
            raise error
        code, kind = RUN_FAILED, str(Cause.INTERNAL)
        text = (
            f"error: ioplan itself failed: {type(error).__name__}: {error}\n"
            f"set IOPLAN_DEBUG=1 to see where, and please report it"
        )
    print_message(text)
    if as_json:
        print(json.dumps({"type": "error", "kind": kind, "text": str(error)}))
    return code
