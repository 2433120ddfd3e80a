"""A lab's background program on this host: the worker or the scheduler."""

from __future__ import annotations

import getpass
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ioplan.core import ClusterFault, did_you_mean, fcntl
from ioplan.core.state_folder import state_folder
from ioplan.runner import Lab, LabHost
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service_log import log

# systemd units for a lab that stands: the scheduler, and the worker of each host.

UNIT_FILE = "/etc/systemd/system/ioplan-worker.service"
TEXT = """\
# /etc/systemd/system/ioplan-{what}.service on {where}
[Unit]
Description=ioplan {what}{name}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={command}
Restart=always
RestartSec=5
{more}{user}
[Install]
WantedBy=multi-user.target
"""
LANES = """\
# lanes continue when their worker is restarted; `ioplan cancel` stops lanes
KillMode=process
"""


def worker_words(name: str, host: LabHost, scheduler: str) -> list[str]:
    """The arguments of a host's worker."""
    words = ["lab", "worker", "--name", name, "--host", host.address or name]
    words += ["--port", str(host.worker_port), "--scheduler", scheduler]
    return words + (["--store", host.store] if host.store else [])


def worker_unit(lab: Lab, name: str, programs: Programs) -> str:
    """The text of a unit for the worker of a host. Raises ClusterError."""
    host = lab.hosts.get(name)
    if host is None:
        near = did_you_mean(name, lab.hosts)
        text = f"the lab has no host {name!r}{near}"
        raise ClusterError(text, ClusterFault.UNKNOWN_HOST)
    words = worker_words(name, host, _scheduler(lab))
    return TEXT.format(
        what="worker",
        where=name,
        name=f" {name}",
        command=shlex.join([host.python, "-m", programs.cli, *words]),
        more=LANES,
        user=f"User={host.user}\n" if host.user else "",
    )


def scheduler_unit(lab: Lab, programs: Programs) -> str:
    """The text of a unit for the scheduler, on this machine. Raises ClusterError."""
    words = [sys.executable, "-m", programs.cli, "lab", "scheduler"]
    return TEXT.format(
        what="scheduler",
        where="the coordinator",
        name="",
        command=shlex.join([*words, "--at", _scheduler(lab)]),
        more="",
        user=f"User={getpass.getuser()}\n",
    )


def _scheduler(lab: Lab) -> str:
    if lab.scheduler is None:
        raise ClusterError("the lab has no scheduler", ClusterFault.NO_SCHEDULER)
    return lab.scheduler


STOP_S = 10
HELD = "IOPLAN_SERVICE_LOCK"
"""The number of the lock's open file, for a program that starts itself anew."""
LOG_BYTES = 1 << 20
"""The most bytes of the log, and of the one before it, which is kept beside it."""


class Service:
    """At most one of each name. Its lock file has its process id; it has a log."""

    def __init__(self, name: str) -> None:
        folder = state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.name = name
        self.lock_file, self.log = folder / f"{name}.lock", folder / f"{name}.log"

    def start(self, program: str, words: Sequence[str]) -> bool:
        """Start a module with these arguments; False if it runs already."""
        fd = self._opened()
        try:
            if not _try_lock(fd):
                return False
            command = [sys.executable, "-m", program, *words]
            with self.log.open("ab") as log:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(fd,),
                    start_new_session=True,
                    cwd="/",
                    env=os.environ | {HELD: str(fd)},
                )
            _write_pid(fd, child.pid)
            return True
        finally:
            os.close(fd)

    def be(self) -> None:
        """Be the one of this name, in this process, and after it starts itself anew.

        Waits while another one runs: one that systemd has started takes over then.
        """
        if self._is_handed_down():
            return
        fd = self._opened()
        if not _try_lock(fd):
            log(f"a {self.name} runs here already: waiting for its end")
            fcntl.flock(fd, fcntl.LOCK_EX)
        os.set_inheritable(fd, True)
        os.environ[HELD] = str(fd)
        _write_pid(fd, os.getpid())

    def _is_handed_down(self) -> bool:
        """Whether who started this process holds the lock for it."""
        with suppress(KeyError, ValueError, OSError):
            held = os.fstat(int(os.environ[HELD]))
            return os.path.samestat(held, self.lock_file.stat())
        return False

    def _opened(self) -> int:
        return os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_up(self) -> bool:
        """Whether its process exists."""
        if not self.lock_file.exists():
            return False
        fd = os.open(self.lock_file, os.O_RDWR | os.O_CLOEXEC)
        try:
            return not _try_lock(fd)
        finally:
            os.close(fd)

    def stop(self) -> bool:
        """End it; False if it was not running."""
        if not self.is_up():
            return False
        pid = int(self.lock_file.read_text())
        deadline_s = time.monotonic() + STOP_S
        number = signal.SIGTERM
        while self.is_up():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            time.sleep(0.1)
            if time.monotonic() > deadline_s:
                number = signal.SIGKILL
        return True

    def log_end(self, lines: int = 5) -> str:
        """The last lines of its log."""
        with suppress(OSError):
            text = Path(self.log).read_text(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def bound_log(self) -> None:
        """Begin a new log if this process writes to the log and it is full."""
        with suppress(OSError):
            now = os.fstat(sys.stderr.fileno())
            if now.st_size < LOG_BYTES or not os.path.samestat(now, self.log.stat()):
                return
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
            with self.log.open("ab") as log:
                for old in (1, 2):
                    os.dup2(log.fileno(), old)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_pid(fd: int, pid: int) -> None:
    os.pwrite(fd, str(pid).encode().ljust(16), 0)
