"""A lab on one machine: hosts are network namespaces, drives are loop devices.

`lab up` reaches them by ssh: each has a server of its own, all keys are the test's, and
nobody's ~/.ssh is read. The database that the lab shares may be one more host.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from postgres import Server, server

from ioplan.runner.lab.lab import WORKER_PORT
from targets import MIB, loop_device, sparse, tell, tmpfs

PREFIX = "10.77.0"
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
PORT, SSH_PORT = 8786, 22
NUMBERS = count()
"""Several labs of a process differ."""


def _reason() -> str:
    if os.geteuid():
        return "root"
    if not shutil.which("ip"):
        return "ip of iproute2"
    if not SSHD or not shutil.which("ssh"):
        return "ssh and sshd of OpenSSH"
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


DATABASE = f"{PREFIX}.9"
SSHD_CONFIG = """\
ListenAddress {host.address}
HostKey {host.folder}/host_key
AuthorizedKeysFile {folder}/desk_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
"""
SSH_CONFIG = """\
IdentityFile {folder}/desk_key
IdentitiesOnly yes
StrictHostKeyChecking yes
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile /dev/null
"""


class Place(Struct):
    """A host: what it has of its own."""

    name: str
    space: str
    address: str
    folder: Path
    more: dict[str, str] = {}
    """Of the environment of its programs."""
    sshd: int = 0

    def command(self, *words: str | Path) -> list[str]:
        """A program on this host."""
        return [*self.reach, *map(str, words)]

    @property
    def inside(self) -> list[str]:
        """A program in its namespace."""
        return ["ip", "netns", "exec", self.space]

    @property
    def reach(self) -> list[str]:
        return [*self.inside, "env", *self.environment]

    @property
    def environment(self) -> list[str]:
        own = {
            "XDG_STATE_HOME": self.folder / "state",
            "XDG_CONFIG_HOME": self.folder / "config",
            "IOPLAN_STORE": self.store,
        }
        return [f"{name}={value}" for name, value in (own | self.more).items()]

    @property
    def store(self) -> Path:
        return self.folder / "data" / "results.db"

    def pid(self, service: str) -> int:
        """The process of its worker or scheduler."""
        return int((self.folder / f"state/ioplan/{service}.lock").read_text())

    def sender(self) -> int:
        """The process that last sent what is in its outbox."""
        return int((self.folder / "data/results.db-outbox/sender").read_text())

    def runs(self, service: str) -> bool:
        """Whether that process is there."""
        return Path(f"/proc/{self.pid(service)}").exists()

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


class NetLab(Struct):
    """The coordinator where commands are typed, and the hosts."""

    coordinator: Place
    hosts: dict[str, Place]
    folder: Path
    file: Path
    overwrite: list[str] = []
    database: Server | None = None

    def close_ports(self) -> None:
        """Let in what docs/labs.md says that a firewall must, and nothing else."""
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

    def cut_from_database(self, host: str) -> None:
        """What goes to the database gets lost; all else goes on."""
        self._route(host, "add")

    def mend_to_database(self, host: str) -> None:
        self._route(host, "del")

    def _route(self, host: str, how: str) -> None:
        space, away = self.hosts[host].space, f"{DATABASE}/32"
        tell("ip", "-n", space, "route", how, "blackhole", away)

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
    folder: Path,
    *names: str,
    more: dict[str, dict[str, str]] | None = None,
    shared: bool = False,
    disks: dict[str, str] | None = None,
) -> Iterator[NetLab]:
    """Hosts with a drive each. All is given back, whatever happens.

    `more` is what the environment of a host has besides; with `shared` there is a
    PostgreSQL, on a host of its own, which gets the results; `disks` has the size of
    what hosts keep their results on, where that is small.
    """
    with ExitStack() as stack:
        coordinator = _place(stack, folder, "coordinator", 1)
        hosts = {
            name: _place(stack, folder, name, number)
            for number, name in enumerate(names, 11)
        }
        for name, variables in (more or {}).items():
            hosts[name].more.update(variables)
        disks = disks or {}
        for name in hosts.keys() & disks.keys():
            stack.enter_context(tmpfs(hosts[name].store.parent, disks[name]))
        database = [_place(stack, folder, "database", 9)] if shared else []
        _wire(coordinator, {one.name: one for one in (*hosts.values(), *database)})
        _serve_ssh(stack, folder, coordinator, hosts)
        lab = NetLab(coordinator, hosts, folder, folder / "lab.toml")
        lines = [f'scheduler = "tls://{coordinator.address}:{PORT}"']
        for place in database:
            there = server(place.inside, place.address, disks.get(place.name, ""))
            lab.database = stack.enter_context(there)
            lines += [f'results = "{lab.database.address}"']
        for name, host in hosts.items():
            lines += [f"[hosts.{name}]", f'address = "{host.address}"']
            lines += [f'python = "{sys.executable}"', 'user = "root"']
        for host in hosts:
            lines += _drive(stack, lab, host, f"{host}-drive")
        lines += ["[groups]", 'all = ["*"]']
        lab.file.write_text("\n".join([*lines, ""]))
        stack.callback(_end_all, coordinator, hosts)
        yield lab


def _drive(stack: ExitStack, lab: NetLab, host: str, name: str) -> list[str]:
    backing = sparse(lab.folder / f"{name}.img", 16 * MIB)
    stack.enter_context(loop_device(backing))
    lab.overwrite += ["--overwrite-data", str(backing)]  # of jobs that were killed, too
    lines = [f"[targets.{name}]", f'host = "{host}"', f'backing_file = "{backing}"']
    return [*lines, "writable = true", "cannot_see_users = true"]


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


def _serve_ssh(
    stack: ExitStack, folder: Path, coordinator: Place, hosts: dict[str, Place]
) -> None:
    """A server on each host, which the coordinator's ssh knows, and who may come in."""
    Path("/run/sshd").mkdir(exist_ok=True)  # where servers part with their rights
    _key(folder / "desk_key")
    known = []
    for host in hosts.values():
        _key(host.folder / "host_key")
        public = (host.folder / "host_key.pub").read_text()
        known.append(f"{host.address} {public}")
        config = host.folder / "sshd_config"
        config.write_text(SSHD_CONFIG.format(host=host, folder=folder))
        config.open("a").write(f"SetEnv {shlex.join(host.environment)}\n")
        words = [*host.inside, str(SSHD), "-D", "-e", "-f", str(config)]
        log = stack.enter_context((host.folder / "sshd.log").open("wb"))
        server = subprocess.Popen(words, stderr=log)
        host.sshd = server.pid
        stack.enter_context(_ended(server))
    (folder / "known_hosts").write_text("".join(known))
    config = folder / "ssh_config"
    config.write_text(SSH_CONFIG.format(folder=folder))
    ssh = folder / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    ssh.chmod(0o700)
    coordinator.more["PATH"] = f"{ssh.parent}:{os.environ['PATH']}"
    for host in hosts.values():
        wait_for(
            lambda host=host: "listening" in (host.folder / "sshd.log").read_text()
        )


def _key(file: Path) -> None:
    tell("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()


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
