"""Child processes: ended in order or by force, and gone when their owner is gone."""

import signal
import subprocess
import sys
import time

import pytest
from started import ends, is_running

from ioplan.core.child import OwnedProcess

pytestmark = pytest.mark.slow

STUBBORN = "trap '' TERM; echo ready >&2; while :; do sleep 0.05; done"


def until(holds):
    """Whether it comes to hold soon."""
    deadline = time.monotonic() + 5
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def shell(script):
    return OwnedProcess(["sh", "-c", script])


def test_it_ends_in_order():
    with shell(
        "trap 'exit 7' TERM; echo ready >&2; while :; do sleep 0.01; done"
    ) as it:
        assert until(lambda: "ready" in it.error_text())
        assert it.wait(0.01) is None and it.is_running
        assert it.end() == 7 and not it.is_running


def test_what_ignores_sigterm_is_killed(monkeypatch):
    monkeypatch.setattr(OwnedProcess, "grace_s", 0.2)
    with shell(STUBBORN) as it:
        assert until(lambda: "ready" in it.error_text())
        assert it.end() is None and it.code == -signal.SIGKILL


def test_what_it_has_started_ends_with_it():
    with shell("sleep 100 & echo $! >&2; wait") as it:
        assert until(lambda: it.error_text().endswith("\n"))
        grandchild = int(it.error_text())
        assert is_running(grandchild)
    assert ends(grandchild, 5)


def test_looking_at_its_errors_does_not_disturb_them():
    command = ["sh", "-c", "echo one >&2; read _; echo two >&2"]
    with OwnedProcess(command, stdin=subprocess.PIPE) as it:
        assert until(lambda: it.error_text() == "one\n")
        assert it.popen.stdin
        it.popen.stdin.close()
        assert it.finish() == 0
        assert it.error_text() == "one\ntwo\n"


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(FileNotFoundError):
        OwnedProcess(["/no/such/program"])


OWNER = """
import sys, time
from ioplan.core.child import OwnedProcess
it = OwnedProcess(["sleep", "100"])
print(it.popen.pid, flush=True)
time.sleep(100)
"""


def test_it_does_not_outlive_a_killed_owner():
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        pid = int(owner.stdout.readline())
        assert is_running(pid)
        owner.kill()
    assert ends(pid, 5)
