"""Calling ioplan on a host of the lab, through ssh or what the lab has in its place."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

from ioplan.cluster.errors import ClusterError
from ioplan.lab.hosts import LabHost

MOST_S = 60


def called(name: str, host: LabHost, *words: str, told: Any = None) -> dict[str, Any]:
    """`ioplan lab WORDS` there, which answers in JSON. Raises ClusterError."""
    program = [host.python, "-m", "ioplan.cli", "lab", *words]
    if not host.reach:
        program = [shlex.quote(word) for word in program]  # ssh gives it to a shell
    command = [*host.command(name), *program]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=MOST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"the host {name} cannot be reached: {error}") from error
    return _answer(name, host, done)


def _answer(
    name: str, host: LabHost, done: subprocess.CompletedProcess[str]
) -> dict[str, Any]:
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if done.returncode == 0 and isinstance(found, dict):
        return found
    said = (done.stderr or done.stdout).strip().splitlines()
    reason = said[-1] if said else f"exit code {done.returncode}"
    help = f"is ioplan[lab] installed for {host.python} there?"
    if done.returncode == 255:
        help = f"try it by hand: {shlex.join(host.command(name))} true"
    raise ClusterError(f"the host {name} does not answer: {reason}; {help}")
