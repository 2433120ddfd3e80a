"""Erasing by a program that the lab names, such as a drive maker's own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from contextlib import suppress

from ioplan.backends import BackendError
from ioplan.lab.entry import DEVICE, PurgeCommand
from ioplan.lab.target import Target

SHOWN = 300
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def commanded(target: Target, said: PurgeCommand) -> str:
    """Run it to its end, however long that takes. Raises BackendError, OSError."""
    words = [word.replace(DEVICE, target.facts.path) for word in said.command]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=(target.fd,),  # while it goes on, the target stays locked
        preexec_fn=_die_with_us,  # noqa: PLW1509  a system call, and no lock
    ) as program:
        try:
            output, _ = program.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    if program.returncode:
        text = output.decode(errors="replace").strip()[-SHOWN:]
        raise BackendError(
            f"cannot purge {target.facts.path}: {words[0]} ended with "
            f"{program.returncode}, and said: {text or 'nothing'}"
        )
    return f"erased by {words[0]}"


def _die_with_us() -> None:
    """Nothing is erased for somebody who is not there any more."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
