"""What is on a device: partition tables, file systems, members of arrays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from ioplan.runner.devices.device import single_line

WIPEFS = "wipefs"
TIMEOUT_S = 60


class SignatureError(Exception):
    """The device could not be examined; the text says why and what to do."""


def signatures(fd: int) -> list[str]:
    """What util-linux's wipefs finds on the open device, in order of offset.

    It gets the descriptor, not a path, so that it cannot examine another device
    than the one that is open here. Raises SignatureError.
    """
    program = _program()
    path = f"/proc/self/fd/{fd}"
    done = _run([program, "--json", "--", path], fd)
    try:
        rows = json.loads(done or '{"signatures": []}')["signatures"]
    except (ValueError, KeyError, TypeError) as error:
        raise SignatureError(f"cannot parse the output of {WIPEFS}: {error}") from error
    return list(dict.fromkeys(map(_described, rows)))


def _program() -> str:
    """The path of `wipefs`, also from folders outside an ordinary user's PATH."""
    places = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    found = shutil.which(WIPEFS, path=places)
    if found is None:
        raise SignatureError(
            f"the program {WIPEFS} is required to examine the device; install "
            "util-linux"
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
            timeout=TIMEOUT_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SignatureError(f"cannot examine the device: {error}") from error
    if done.returncode:
        why = single_line(done.stderr).removeprefix(f"{WIPEFS}: ")
        raise SignatureError(f"cannot examine the device: {why}")
    return done.stdout


def _described(row: dict[str, Any]) -> str:
    kind = single_line(str(row.get("type") or "something"))
    label = single_line(str(row.get("label") or ""))
    return f"{kind} {label!r}" if label else kind
