"""Erasing by a program that the lab names, such as a drive maker's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ioplan.backends import BackendError
from ioplan.runner.guard.purge import supervisor
from ioplan.runner.guard.target import Target
from ioplan.target_entry import DEVICE, PurgeCommand

OUTPUT_CHARS = 300
SUPERVISOR = (sys.executable, "-IS", str(Path(supervisor.__file__)))
"""As a file and without packages: so it starts fast, wherever ioplan is installed."""


def run_command(target: Target, purge: PurgeCommand) -> str:
    """Run it to its end, however long that takes. Raises BackendError, OSError."""
    words = [word.replace(DEVICE, target.facts.path) for word in purge.command]
    read_end, write_end = os.pipe()
    with (
        os.fdopen(read_end, "rb") as lifeline,
        subprocess.Popen(
            [*SUPERVISOR, *words],
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(target.fd,),  # the target stays locked while the program runs
        ) as process,
        os.fdopen(write_end, "wb"),  # closed, it ends all that was started
    ):
        output, _ = process.communicate()
    if process.returncode:
        text = output.decode(errors="replace").strip()[-OUTPUT_CHARS:]
        raise BackendError(
            f"cannot purge {target.facts.path}: {words[0]} exited with "
            f"{process.returncode}: {text or 'no output'}"
        )
    return f"erased by {words[0]}"
