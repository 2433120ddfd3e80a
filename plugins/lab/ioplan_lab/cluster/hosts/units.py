"""systemd units for a lab that stands: the scheduler, and the worker of each host."""

from __future__ import annotations

import getpass
import shlex
import sys

from ioplan.core.error_kinds import ClusterFault
from ioplan.core.text import did_you_mean
from ioplan.runner.lab.hosts import LabHost
from ioplan.runner.lab.lab import Lab
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs

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
