"""A systemd unit for a worker, where a lab is to stand by itself."""

from __future__ import annotations

import shlex

from ioplan.cluster.errors import ClusterError
from ioplan.lab.lab import Lab
from ioplan.suggest import did_you_mean

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


def unit_of(lab: Lab, name: str) -> str:
    """The text of the unit. Raises ClusterError."""
    host = lab.hosts.get(name)
    if host is None or lab.scheduler is None:
        near = did_you_mean(name, lab.hosts)
        what = "scheduler" if host else f"host {name!r}{near}"
        raise ClusterError(f"the lab has no {what}")
    words = [host.python, "-m", "ioplan.cli", "lab", "worker", "--name", name]
    words += ["--host", host.address or name, "--scheduler", lab.scheduler]
    words += ["--store", host.store] if host.store else []
    user = f"User={host.user}\n" if host.user else ""
    return TEXT.format(name=name, command=shlex.join(words), user=user)
