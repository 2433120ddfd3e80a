"""What a process takes, and what several take in turn."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TypeVar

IOPLAN = Path(sys.executable).with_name("ioplan")
T = TypeVar("T")


class Used(NamedTuple):
    """CPU time in user and kernel, memory at most, and what was printed."""

    cpu_s: float
    real_s: float
    peak_mb: float
    out: str


def used(*words: str | Path, given: str = "", **more: str) -> Used:
    """Of a process and those that it waited for, run to its end; `more` is environment.

    Python compiles what it imports, as an installer does. Raises SystemExit.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with ExitStack() as stack:
        stdin, stdout, stderr = (
            stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)
        )
        stdin.write(given)
        stdin.seek(0)
        files = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        began_s = time.monotonic()
        process = subprocess.Popen(words, env=env | more, **files)
        _, status, usage = os.wait4(process.pid, 0)
        real_s = time.monotonic() - began_s
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        if process.returncode:
            raise SystemExit(f"{words}: {process.returncode}\n{stderr.read()}")
        cpu_s = usage.ru_utime + usage.ru_stime
        return Used(cpu_s, real_s, usage.ru_maxrss / 1024, stdout.read())


def in_turn(rounds: int, *calls: Callable[[], T]) -> list[list[T]]:
    """What each gives in each round: A B C, then C B A, and so on."""
    rows = []
    for number in range(rounds):
        turn = 1 if number % 2 == 0 else -1
        rows.append([call() for call in calls[::turn]][::turn])
    return rows
