"""Hosts and a database as network namespaces, whose links can be cut. Needs root."""

import os
import shlex
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from targets import tell, wait_for

DATABASE = "db"
PREFIX = "10.78.0"
NUMBERS = count()


def _lacking():
    if os.geteuid():
        return "root"
    if not shutil.which("ip"):
        return "ip of iproute2"
    space = f"iop{os.getpid()}"
    made = subprocess.run(
        ["ip", "netns", "add", space], capture_output=True, check=False
    )
    if made.returncode:
        return "network namespaces"
    tell("ip", "netns", "del", space)
    return ""


LACKING = _lacking()
NEEDS_NETNS = [
    pytest.mark.machine,
    pytest.mark.skipif(
        bool(LACKING), reason=f"LEFT OUT: a lab of namespaces needs {LACKING}"
    ),
]


class Links:
    """A switch in the database's namespace, and a cable to each host."""

    address = f"{PREFIX}.1"

    def __init__(self, spaces):
        self.spaces = spaces

    def reach(self, name):
        """The words before a program that is to run there."""
        return ["ip", "netns", "exec", self.spaces[name]]

    def address_of(self, host):
        return f"{PREFIX}.{list(self.spaces).index(host) + 10}"

    def cut(self, host):
        """Pull the plug: nothing is said to anybody."""
        tell("ip", "-n", self.spaces[DATABASE], "link", "set", f"to-{host}", "down")

    def mend(self, host):
        tell("ip", "-n", self.spaces[DATABASE], "link", "set", f"to-{host}", "up")


@contextmanager
def host_links(*hosts):
    """All is given back, whatever happens."""
    number = next(NUMBERS)
    spaces = {name: f"iol{os.getpid()}-{number}-{name}" for name in (DATABASE, *hosts)}
    with ExitStack() as stack:
        for space in spaces.values():
            tell("ip", "netns", "add", space)
            stack.callback(tell, "ip", "netns", "del", space)
            tell("ip", "-n", space, "link", "set", "lo", "up")
        wire(spaces, hosts)
        yield Links(spaces)


def wire(spaces, hosts):
    database = ("ip", "-n", spaces[DATABASE])
    tell(*database, "link", "add", "switch", "type", "bridge")
    tell(*database, "link", "set", "switch", "up")
    tell(*database, "address", "add", f"{Links.address}/24", "dev", "switch")
    for number, name in enumerate(hosts, 11):
        cable, end = f"to-{name}", ("eth0", "netns", spaces[name])
        tell(*database, "link", "add", cable, "type", "veth", "peer", "name", *end)
        tell(*database, "link", "set", cable, "master", "switch")
        tell(*database, "link", "set", cable, "up")
        host = ("ip", "-n", spaces[name])
        tell(*host, "address", "add", f"{PREFIX}.{number}/24", "dev", "eth0")
        tell(*host, "link", "set", "eth0", "up")


# ssh into the hosts

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
NEEDS_SSHD = [
    *NEEDS_NETNS,
    pytest.mark.skipif(
        not (SSHD and shutil.which("ssh")),
        reason="LEFT OUT: hosts that run together need ssh and sshd of OpenSSH",
    ),
]
SSHD_CONFIG = """\
ListenAddress {address}
HostKey {own}/host_key
AuthorizedKeysFile {folder}/key.pub
SetEnv {env}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
"""
SSH_CONFIG = """\
IdentityFile {folder}/key
IdentitiesOnly yes
StrictHostKeyChecking yes
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile /dev/null
"""


@contextmanager
def ssh_served(links, folder, hosts):
    """A sshd in each host, with its environment; the folder of a ssh that gets in."""
    Path("/run/sshd").mkdir(exist_ok=True)  # where servers part with their rights
    make_key(folder / "key")
    with ExitStack() as stack:
        known = []
        for host, env in hosts.items():
            own, address = folder / host, links.address_of(host)
            make_key(own / "host_key")
            known.append(f"{address} {(own / 'host_key.pub').read_text()}")
            named = shlex.join(f"{name}={value}" for name, value in env.items())
            config = own / "sshd_config"
            config.write_text(
                SSHD_CONFIG.format(address=address, own=own, folder=folder, env=named)
            )
            log = stack.enter_context((own / "sshd.log").open("wb"))
            words = [*links.reach(host), str(SSHD), "-D", "-e", "-f", str(config)]
            server = subprocess.Popen(words, stderr=log)
            stack.callback(server.wait)
            stack.callback(server.kill)
        (folder / "known_hosts").write_text("".join(known))
        (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder))
        (ssh := folder / "bin" / "ssh").parent.mkdir()
        ssh.write_text(
            f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n'
        )
        ssh.chmod(0o700)
        for host in hosts:
            log_file = folder / host / "sshd.log"
            wait_for(lambda log_file=log_file: "listening" in log_file.read_text())
        yield ssh.parent


def make_key(file):
    tell("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
