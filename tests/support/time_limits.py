"""No test outlasts its limit, and none swallows SIGTERM.

pytest-timeout raises in a test whose time is over, and SIGTERM stops the session as
Ctrl-C does: fixtures clear away what was started. Who does not end by that, as it waits
for a process or has handlers of its own, loses all processes that it has started, and
some seconds later its own life.
"""

import ctypes
import faulthandler
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

GRACE_S = 8.0
"""For the fixtures; once for those of the test, and once more without processes."""
PR_SET_PDEATHSIG = 1


def pytest_configure(config):
    if hasattr(config, "workerinput"):  # of pytest-xdist: it ends with its controller
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    config.pluginmanager.register(Limits(config), "limits-of-tests")


class Limits:
    """What is due, and when, in this process."""

    def __init__(self, config):
        self.config = config
        self.stderr = os.dup(2)  # what is captured is lost at such an end
        self.steps = []
        self.own_signals = 0
        self.session = None
        self.ours, self.pythons = socket.socketpair()
        self.pythons.setblocking(False)
        signal.signal(signal.SIGTERM, _interrupt)
        # what a shell starts in the background ignores it, and so would our programs
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(self.pythons.fileno(), warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=_leave_signals)
        sys.addaudithook(self._notice_own_signal)
        threading.Thread(target=self._watch_signals, daemon=True).start()

    def pytest_sessionstart(self, session):
        self.session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item, settings):
        self.steps = self._end_after(settings.timeout)

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self, item):
        for step in self.steps:
            step.cancel()

    def _end_after(self, delay_s):
        """First the processes of a test, then this one."""
        steps = [
            threading.Timer(delay_s + GRACE_S, kill_descendants),
            threading.Timer(delay_s + 2 * GRACE_S, self._exit),
        ]
        for step in steps:
            step.daemon = True
            step.start()
        return steps

    def _exit(self):
        os.write(self.stderr, b"\na test did not end by itself; it was here:\n")
        faulthandler.dump_traceback(self.stderr)
        kill_descendants()
        os._exit(1)

    def _watch_signals(self):
        """SIGTERM counts also where a test handles it, as `ioplan run` in-process."""
        while numbers := self.ours.recv(64):
            for _ in range(numbers.count(signal.SIGTERM)):
                self._stop()

    def _stop(self):
        if self.own_signals:
            self.own_signals -= 1
        elif self.session:
            self.session.shouldstop = "SIGTERM"
            self._end_after(0)
            if self.config.pluginmanager.hasplugin("dsession"):  # its workers
                _signal_all(_children(os.getpid()), signal.SIGTERM)

    def _notice_own_signal(self, event, arguments):
        if event == "os.kill" and arguments == (os.getpid(), signal.SIGTERM):
            self.own_signals += 1


def _interrupt(number, frame):
    raise KeyboardInterrupt


def _leave_signals():
    """What is forked is its own, and ends by SIGTERM as any program."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def kill_descendants():
    """All processes that this one has started, and theirs, at once."""
    _signal_all(_descendants(os.getpid()), signal.SIGKILL)


def _signal_all(pids, number):
    for pid in list(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _descendants(pid):
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid):
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            yield from map(int, file.read_text().split())
