"""An ioplan in a process of its own, to which something happens while it runs."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from sight import WORDS


class Started:
    """`ioplan run … --json` under way."""

    def __init__(self, *arguments, **environment):
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ioplan.cli", "run", *arguments, *WORDS, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def until(self, kind, times=1):
        """Wait until it has said so."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1]["type"] == kind:
                times -= 1
                if not times:
                    return
        raise AssertionError(f"it ended before {kind}: {self.process.stderr.read()}")

    def end(self):
        """Wait for its end; returns the exit code."""
        assert self.process.stdout and self.process.stderr
        # `communicate` would leave out what `until` has read and not yet taken.
        self.lines += [json.loads(line) for line in self.process.stdout]
        self.said = self.process.stderr.read()
        return self.process.wait(60)

    @property
    def backend(self):
        """The process that does the I/O."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        found = [f.read_text().split() for f in tasks.glob("*/children")]
        children = [int(pid) for pids in found for pid in pids]
        (child,) = (one for one in children if name_of(one) in ("ioplan-engine", "fio"))
        return child


def name_of(pid):
    """The name of its program; others note the end of a session that is killed."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


@contextmanager
def started(*arguments, **environment):
    """One that does not outlive the block."""
    made = Started(*arguments, **environment)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def is_running(pid):
    """Whether a process still does anything."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends(pid, most_s):
    """Whether it ends in that time."""
    deadline_s = time.monotonic() + most_s
    while is_running(pid) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return not is_running(pid)
