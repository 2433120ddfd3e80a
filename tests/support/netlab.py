"""A lab on one machine: hosts are network namespaces, drives are loop devices."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from labs import MIB, loop_device, tell

from ioplan.lab.hosts import WORKER_PORT

PREFIX = "10.77.0"
PORT, SSH_PORT = 8786, 22
NUMBERS = count()
"""Several labs of a process differ."""


def _reason() -> str:
    if os.geteuid():
        return "root"
    if not shutil.which("ip"):
        return "ip of iproute2"
    made = subprocess.run(
        ["ip", "netns", "add", f"iop{os.getpid()}"], capture_output=True, check=False
    )
    if made.returncode:
        return "network namespaces"
    tell("ip", "netns", "del", f"iop{os.getpid()}")
    return ""


MISSING = _reason()
NEEDS_NETNS = [
    pytest.mark.machine,
    pytest.mark.skipif(
        bool(MISSING), reason=f"LEFT OUT: a lab of namespaces needs {MISSING}"
    ),
]


@dataclass
class Place:
    """A host: what it has of its own."""

    name: str
    space: str
    address: str
    folder: Path
    more: dict[str, str] = field(default_factory=dict)
    """Of the environment of its programs."""

    def command(self, *words: str | Path) -> list[str]:
        """A program on this host."""
        return [*self.reach, *map(str, words)]

    @property
    def reach(self) -> list[str]:
        own = {
            "XDG_STATE_HOME": self.folder / "state",
            "XDG_CONFIG_HOME": self.folder / "config",
            "IOPLAN_STORE": self.store,
        }
        said = [f"{name}={value}" for name, value in (own | self.more).items()]
        return ["ip", "netns", "exec", self.space, "env", *said]

    @property
    def store(self) -> Path:
        return self.folder / "data" / "results.db"

    def pid(self, service: str) -> int:
        """The process of its worker or scheduler."""
        return int((self.folder / f"state/ioplan/{service}.lock").read_text())

    def kill(self, service: str) -> None:
        os.kill(self.pid(service), signal.SIGKILL)

    def ioplan(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Call ioplan there."""
        return subprocess.run(
            self.command(sys.executable, "-m", "ioplan.cli", *words),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def begin(self, *words: str | Path) -> subprocess.Popen[str]:
        """Call it, and do not wait."""
        return subprocess.Popen(
            self.command(sys.executable, "-m", "ioplan.cli", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@dataclass
class NetLab:
    """The coordinator where commands are typed, and the hosts."""

    coordinator: Place
    hosts: dict[str, Place]
    folder: Path
    file: Path
    overwrite: list[str] = field(default_factory=list)

    def close_ports(self) -> None:
        """Let in what dsl/keys.md says that a firewall must, and nothing else."""
        if not shutil.which("iptables"):
            return
        _close_ports(self.coordinator, f"{PREFIX}.0/24", PORT)
        for host in self.hosts.values():
            _close_ports(host, self.coordinator.address, WORKER_PORT, SSH_PORT)

    def cut(self, host: str) -> None:
        """Pull the plug of its network."""
        self._link(host, "down")

    def mend(self, host: str) -> None:
        self._link(host, "up")

    def _link(self, host: str, how: str) -> None:
        tell("ip", "-n", self.coordinator.space, "link", "set", f"to-{host}", how)

    def run(self, plan: Path, target: str, *words: str) -> list[str | Path]:
        """The words of `ioplan run` on a group."""
        said = ["run", plan, "--lab", self.file, "--target", target, *words]
        return [*said, *self.overwrite]


def _close_ports(place: Place, source: str, *ports: int) -> None:
    add = ("ip", "netns", "exec", place.space, "iptables", "-A", "INPUT")
    tell(*add, "-i", "lo", "-j", "ACCEPT")
    tell(*add, "-m", "conntrack", "--ctstate", "ESTABLISHED", "-j", "ACCEPT")
    for port in ports:
        tell(*add, "-p", "tcp", "-s", source, "--dport", str(port), "-j", "ACCEPT")
    tell(*add, "-j", "DROP")


@contextmanager
def netlab(
    folder: Path, *names: str, more: dict[str, dict[str, str]] | None = None
) -> Iterator[NetLab]:
    """Hosts with a drive each. All is given back, whatever happens.

    `more` is what the environment of a host has besides.
    """
    with ExitStack() as stack:
        coordinator = _place(stack, folder, "coordinator", 1)
        hosts = {
            name: _place(stack, folder, name, number)
            for number, name in enumerate(names, 11)
        }
        for name, variables in (more or {}).items():
            hosts[name].more.update(variables)
        _wire(coordinator, hosts)
        lab = NetLab(coordinator, hosts, folder, folder / "lab.toml")
        lines = [f'scheduler = "tls://{coordinator.address}:{PORT}"']
        for name, host in hosts.items():
            lines += [f"[hosts.{name}]", f'address = "{host.address}"']
            lines += [
                f'python = "{sys.executable}"',
                f"reach = {json.dumps(host.reach)}",
            ]
        for host in hosts:
            lines += _drive(stack, lab, host, f"{host}-drive")
        lines += ["[groups]", 'all = ["*"]']
        lab.file.write_text("\n".join([*lines, ""]))
        stack.callback(_end_all, coordinator, hosts)
        yield lab


def _drive(stack: ExitStack, lab: NetLab, host: str, name: str) -> list[str]:
    backing = lab.folder / f"{name}.img"
    with backing.open("xb") as file:
        file.truncate(16 * MIB)
    stack.enter_context(loop_device(backing))
    lab.overwrite += ["--overwrite", str(backing)]
    lines = [f"[targets.{name}]", f'host = "{host}"', f'backing_file = "{backing}"']
    return [*lines, "writable = true"]


def _place(stack: ExitStack, folder: Path, name: str, number: int) -> Place:
    place = Place(
        name,
        f"iop{os.getpid()}-{next(NUMBERS)}-{name}",
        f"{PREFIX}.{number}",
        folder / name,
    )
    place.folder.mkdir()
    tell("ip", "netns", "add", place.space)
    stack.callback(_remove, place)
    tell("ip", "-n", place.space, "link", "set", "lo", "up")
    return place


def _remove(place: Place) -> None:
    tell("ip", "netns", "del", place.space)


def _wire(coordinator: Place, hosts: dict[str, Place]) -> None:
    """All on one switch, which is at the coordinator."""
    ip = ("ip", "-n", coordinator.space)
    tell(*ip, "link", "add", "switch", "type", "bridge")
    tell(*ip, "link", "set", "switch", "up")
    tell(*ip, "address", "add", f"{coordinator.address}/24", "dev", "switch")
    for name, host in hosts.items():
        end = ("peer", "name", "eth0", "netns", host.space)
        tell(*ip, "link", "add", f"to-{name}", "type", "veth", *end)
        tell(*ip, "link", "set", f"to-{name}", "master", "switch")
        tell(*ip, "link", "set", f"to-{name}", "up")
        there = ("ip", "-n", host.space)
        tell(*there, "address", "add", f"{host.address}/24", "dev", "eth0")
        tell(*there, "link", "set", "eth0", "up")


def _end_all(coordinator: Place, hosts: dict[str, Place]) -> None:
    """Whatever still runs in a namespace of ours."""
    for place in (coordinator, *hosts.values()):
        for _ in range(50):
            pids = tell("ip", "netns", "pids", place.space).split()
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if not pids:
                break
            time.sleep(0.1)


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    """Until it is true; what it is then."""
    deadline_s = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline_s, "it did not come about"
        time.sleep(0.1)
    return found
