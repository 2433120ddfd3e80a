"""A lab's background program on this host: the worker or the scheduler."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.hosts.programs import Programs
from ioplan.cluster.hosts.tls import tls_folder
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.system import fcntl
from ioplan.core.text import did_you_mean
from ioplan.lab.lab import Lab

STOP_S = 10


class Service:
    """At most one of each name. Its lock file has its process id; it has a log."""

    def __init__(self, name: str) -> None:
        folder = tls_folder().parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.name = name
        self.lock_file, self.log = folder / f"{name}.lock", folder / f"{name}.log"

    def start(self, program: str, words: Sequence[str]) -> bool:
        """Start a module with these arguments; False if it runs already."""
        fd = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
                )
            os.pwrite(fd, str(child.pid).encode().ljust(16), 0)
            return True
        finally:
            os.close(fd)

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


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


TEXT = """\
# /etc/systemd/system/ioplan-worker.service on {name}
[Unit]
Description=ioplan worker {name}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={command}
Restart=always
RestartSec=2
# a lane goes on when its worker is started anew; `ioplan cancel` ends lanes
KillMode=process
{user}
[Install]
WantedBy=multi-user.target
"""


def unit_of(lab: Lab, name: str, programs: Programs) -> str:
    """The text of a systemd unit for the worker of a host. Raises ClusterError."""
    host = lab.hosts.get(name)
    if host is None:
        near = did_you_mean(name, lab.hosts)
        text = f"the lab has no host {name!r}{near}"
        raise ClusterError(text, ClusterFault.UNKNOWN_HOST)
    if lab.scheduler is None:
        raise ClusterError("the lab has no scheduler", ClusterFault.NO_SCHEDULER)
    words = [host.python, "-m", programs.cli, "lab", "worker", "--name", name]
    words += ["--host", host.address or name, "--scheduler", lab.scheduler]
    words += ["--store", host.store] if host.store else []
    user = f"User={host.user}\n" if host.user else ""
    return TEXT.format(name=name, command=shlex.join(words), user=user)
