"""The command `ioplan`. What a command needs is imported once it is called."""

from __future__ import annotations

import gc
import os
import sys

from ioplan.cli.exit_codes import INTERRUPTED


def tune_startup() -> None:
    """For the start of a process: imports are to take little time and memory.

    Garbage is collected once a command is imported, which makes none. What numpy is
    used for needs no thread on each CPU, which spins there before it sleeps. Pydantic
    looks for plugins of its own in all installed packages, unless it is told not to.
    """
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    """The entry point; Ctrl-C ends it in one line while it is still being imported."""
    tune_startup()
    try:
        from ioplan.cli.app import run  # noqa: PLC0415

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
