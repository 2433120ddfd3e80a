"""Calling ioplan on a host of the lab, by ssh or the lab's own command."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any

from ioplan.core import ClusterFault
from ioplan.runner import LabHost
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs

ANSWER_S = 30
"""A host that accepts the connection, and hangs, holds nobody up for longer."""


def call_host(
    name: str,
    host: LabHost,
    programs: Programs,
    command: str,
    request: Any = None,
    timeout_s: float = ANSWER_S,
) -> dict[str, Any]:
    """Run `ioplan lab COMMAND` there; request and answer are JSON.

    Raises ClusterError.
    """
    words = [host.python, "-m", programs.cli, "lab", command]
    done = _run(name, host, words, json.dumps(request).encode(), timeout_s)
    return _answer(name, host, done)


def run_there(
    name: str,
    host: LabHost,
    words: Sequence[str],
    given: bytes = b"",
    timeout_s: float = ANSWER_S,
) -> str:
    """Run a program there, with this on its standard input; what it prints.

    Raises ClusterError, also if it fails.
    """
    done = _run(name, host, words, given, timeout_s)
    if done.returncode:
        raise _failed(name, host, done, "")
    return done.stdout


def _run(
    name: str, host: LabHost, words: Sequence[str], given: bytes, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    if not host.reach:
        words = [shlex.quote(word) for word in words]  # ssh passes them to a shell
    try:
        done = subprocess.run(
            [*host.command(name), *words],
            input=given,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        text = f"the host {name} did not answer within {timeout_s:.0f} s"
        raise ClusterError(text, ClusterFault.HOST_UNREACHABLE) from error
    except OSError as error:
        text = f"the host {name} cannot be reached: {error}"
        raise ClusterError(text, ClusterFault.HOST_UNREACHABLE) from error
    said = (one.decode(errors="replace") for one in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *said)


def _answer(
    name: str, host: LabHost, done: subprocess.CompletedProcess[str]
) -> dict[str, Any]:
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.returncode == 0 and isinstance(answer, dict):
        return answer
    help = f"is ioplan[lab] installed for {host.python} there?"
    raise _failed(name, host, done, help)


def _failed(
    name: str, host: LabHost, done: subprocess.CompletedProcess[str], help: str
) -> ClusterError:
    lines = (done.stderr or done.stdout).strip().splitlines()
    reason = lines[-1] if lines else f"exit code {done.returncode}"
    if done.returncode == 255:
        help = f"test it with: {shlex.join(host.command(name))} true"
    return ClusterError(
        "; ".join(filter(None, [f"the host {name} does not answer: {reason}", help])),
        ClusterFault.HOST_UNREACHABLE,
    )
