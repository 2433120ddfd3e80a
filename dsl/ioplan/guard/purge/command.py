"""Erasing by a program that the lab names, such as a drive maker's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ioplan.backends import BackendError
from ioplan.guard.purge import supervisor
from ioplan.guard.target import Target
from ioplan.target_entry import DEVICE, PurgeCommand

SHOWN = 300
KEEPER = (sys.executable, "-IS", str(Path(supervisor.__file__)))
"""By its file and without packages: it starts at once, wherever ioplan lies."""


def commanded(target: Target, said: PurgeCommand) -> str:
    """Run it to its end, however long that takes. Raises BackendError, OSError."""
    words = [word.replace(DEVICE, target.facts.path) for word in said.command]
    end, lifeline = os.pipe()
    with (
        os.fdopen(end, "rb") as watched,
        subprocess.Popen(
            [*KEEPER, *words],
            stdin=watched,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(target.fd,),  # while it goes on, the target stays locked
        ) as keeper,
        os.fdopen(lifeline, "wb"),  # closed, it ends all that was started
    ):
        output, _ = keeper.communicate()
    if keeper.returncode:
        text = output.decode(errors="replace").strip()[-SHOWN:]
        raise BackendError(
            f"cannot purge {target.facts.path}: {words[0]} ended with "
            f"{keeper.returncode}, and said: {text or 'nothing'}"
        )
    return f"erased by {words[0]}"
