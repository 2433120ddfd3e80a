"""Runs ioplan in a forked process, and kills it with SIGKILL at some instant."""

import json
import os
import signal
import sys
import time
import traceback

import ioplan.cli.commands.resume
import ioplan.cli.commands.run  # noqa: F401  once, and not in each process
from ioplan.cli import run

CPUCLOCK_SCHED = 2
"""Of Linux's posix-timers_types.h: with a process's number it names its clock."""


def nothing():
    """What a process does that is not disturbed."""


def real_time_s(pid):
    """What passes while a process does real I/O."""
    return time.monotonic()


def cpu_time_s(pid):
    """What passes while a process computes, however busy the machine is."""
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)


class Forked:
    """A call of the command line in a process of its own.

    It is forked, as starting Python would take longer than what is to be killed.
    What it prints (JSON lines) tells afterwards what it was doing.
    """

    def __init__(self, out, *arguments, arm=nothing):
        """`arm` is called in the process, before the command line is."""
        self.out, self.arm = out, arm
        self.code = None
        out.write_bytes(b"")  # it may be killed before it opens it
        self.pid = os.fork()
        if not self.pid:
            self._call([str(a) for a in arguments])

    def _call(self, arguments):
        code = 99
        try:
            os.setsid()
            fd = os.open(self.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(fd, 1)
            os.dup2(fd, 2)
            sys.stdout = os.fdopen(1, "w")
            sys.stderr = os.fdopen(2, "w")
            self.arm()
            code = run(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def begun(self):
        """Wait for its first word; False if it ended without one."""
        while not self.out.stat().st_size:
            if self.code is None:
                self.code = self.ended(os.WNOHANG)
            if self.code is not None:
                return False
            time.sleep(0.001)
        return True

    def kill_after(self, delay_s, clock):
        """Its exit code if it ended by itself; None once it is killed."""
        if self.code is not None:
            return self.code
        deadline_s = clock(self.pid) + delay_s
        while clock(self.pid) < deadline_s:
            if (code := self.ended(os.WNOHANG)) is not None:
                return code
            time.sleep(0.001)
        os.kill(self.pid, signal.SIGKILL)
        self.ended(0)
        return None

    def undisturbed(self, clock):
        """Wait for its end; its exit code, and how long it took."""
        began_s = now_s = clock(self.pid)
        while (code := self.ended(os.WNOHANG)) is None:
            now_s = clock(self.pid)
            time.sleep(0.001)
        return code, now_s - began_s

    def ended(self, options=0):
        """Its exit code; None while it goes on."""
        pid, status = os.waitpid(self.pid, options)
        return os.waitstatus_to_exitcode(status) if pid else None

    def doing(self):
        """What it was at when it was killed."""
        *lines, _torn = self.out.read_text().split("\n")
        events = [json.loads(line) for line in lines if line.startswith("{")]
        kinds = [e["type"] for e in events if e["type"] != "kept"]
        if not kinds:
            return "before the first step"
        if kinds[-1] in ("step", "progress"):
            last = next(e for e in reversed(events) if e["type"] == "step")
            return {"prepare": "preparing", "idle": "resting"}.get(
                last["what"], "in a run"
            )
        return "at the end" if kinds[-1] == "end" else "between runs"
