"""What lies on a device: partition tables, file systems, and members of arrays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from ioplan.devices.device import printable

WIPEFS = "wipefs"
MOST_S = 60


class Unknown(Exception):
    """It could not be looked at; the text says why and what to do."""


def signatures(fd: int) -> list[str]:
    """What util-linux finds on the open device, in the order of their places.

    The program gets the descriptor, not a path, so that it cannot look at
    another device than the one that is held. Raises Unknown.
    """
    program = _program()
    path = f"/proc/self/fd/{fd}"
    done = _run([program, "--json", "--", path], fd)
    try:
        rows = json.loads(done or '{"signatures": []}')["signatures"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unknown(f"{WIPEFS} answers what ioplan cannot read: {error}") from error
    return list(dict.fromkeys(_words(row) for row in rows))


def _program() -> str:
    """Also where an ordinary user's search path does not lead."""
    places = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    found = shutil.which(WIPEFS, path=places)
    if found is None:
        raise Unknown(
            f"there is no program {WIPEFS} to see what is on the device; install "
            f"util-linux"
        )
    return found


def _run(command: list[str], fd: int) -> str:
    try:
        done = subprocess.run(
            command,
            pass_fds=(fd,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MOST_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unknown(f"cannot look at what is on the device: {error}") from error
    if done.returncode:
        why = printable(done.stderr).removeprefix(f"{WIPEFS}: ")
        raise Unknown(f"cannot look at what is on the device: {why}")
    return done.stdout


def _words(row: dict[str, Any]) -> str:
    kind = printable(str(row.get("type") or "something"))
    label = printable(str(row.get("label") or ""))
    return f"{kind} {label!r}" if label else kind
