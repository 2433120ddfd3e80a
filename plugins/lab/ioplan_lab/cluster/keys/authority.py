"""The lab's own authority, at the desk: it signs a certificate for each peer.

It is two: one for those who command, the scheduler and the desk, and one for hosts. A
host believes the first one only, so that another host can neither command it nor be
taken for the scheduler: TLS refuses it before a byte of a message is read.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ioplan.core import ClusterFault, fcntl
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.keys import certificates
from ioplan_lab.cluster.keys.certificates import Facts, Pair, facts_of
from ioplan_lab.cluster.keys.identity import (
    CLIENTS,
    OWN,
    SERVERS,
    Identity,
    Texts,
    keys_folder,
    write_private,
)
from ioplan_lab.cluster.keys.issued import (
    Issued,
    Role,
    authority_folder,
    keep_issued,
    latest,
    read_issued,
)

CONTROL, HOSTS, REVOKED = "control.pem", "hosts.pem", "revoked.pem"


class Authority:
    """What is in the folder `authority` of the keys; only the desk has one."""

    def __init__(self) -> None:
        self.folder = authority_folder()
        self.control, self.hosts = (
            _pair(self.folder / one) for one in (CONTROL, HOSTS)
        )
        self.facts = facts_of(self.control.certificate)

    @classmethod
    def open(cls) -> Authority:
        """The one that is here. Raises ClusterError."""
        if not cls.exists():
            raise ClusterError(
                f"there is no authority of a lab in {keys_folder()}: run `ioplan lab "
                "up` once, as this user",
                ClusterFault.NO_KEYS,
            )
        return cls()

    @classmethod
    def open_or_make(cls) -> Authority:
        """The one that is here; made if there is none. Raises OSError, OutputError."""
        with _locked():
            if not cls.exists():
                _make()
        return cls()

    @classmethod
    def exists(cls) -> bool:
        """Whether this is a desk."""
        return (authority_folder() / CONTROL).is_file()

    def owns(self, authority: str) -> bool:
        """Whether this desk has made it."""
        return authority == self.facts.authority

    # ---- what was issued

    def of_host(self, name: str) -> Issued | None:
        """The last one of a host."""
        return latest().get(("host", name))

    def issue(self, name: str, role: Role, names: Iterable[str]) -> Texts:
        """New keys for a peer at these names and addresses, with whom it believes."""
        signer = self.hosts if role == "host" else self.control
        pair = certificates.sign(signer, name, role, names)
        facts = facts_of(pair.certificate)
        made = Issued(
            name=name,
            role=role,
            serial=facts.serial,
            names=facts.names,
            made_at=facts.made_at,
            ends_at=facts.ends_at,
        )
        with _locked():
            keep_issued([*read_issued(), made])
        return {OWN: pair.text} | self.believed(role)

    def revoke(self, name: str) -> list[Issued]:
        """End all certificates of a host; the ones that were not ended before."""
        now = datetime.now(UTC)
        with _locked():
            known = read_issued()
            ended = [one for one in known if (one.role, one.name) == ("host", name)]
            ended = [one for one in ended if one.revoked_at is None]
            change = {"revoked_at": now}
            known = [
                one.model_copy(update=change) if one in ended else one for one in known
            ]
            keep_issued(known)
            gone = [one for one in known if one.revoked_at and one.ends_at > now]
            lists = [certificates.revocations(self.control, ())]
            lists += [
                certificates.revocations(self.hosts, [one.serial for one in gone])
            ]
            write_private(self.folder / REVOKED, "".join(lists))
        return ended

    # ---- who believes whom

    def believed(self, role: Role) -> Texts:
        """Whom a peer lets in, and whom it connects to."""
        control, hosts = self.control.certificate, self.hosts.certificate
        revoked = (self.folder / REVOKED).read_text()
        if role == "host":
            return {CLIENTS: control, SERVERS: control}
        both = control + hosts + revoked
        return {CLIENTS: both, SERVERS: both if role == "desk" else hosts + revoked}

    def fits(self, facts: Facts, role: Role, name: str, names: Iterable[str]) -> bool:
        """Whether a certificate is the last one of this peer, for these names."""
        last = latest().get((role, name))
        return bool(
            last
            and last.serial == facts.serial
            and not last.revoked_at
            and not last.is_near_end
            and set(names) <= set(facts.names)
        )

    def equip(
        self, role: Role, names: Iterable[str] = (), *, renew: bool = False
    ) -> bool:
        """Give the desk or the scheduler, on this machine, what they need.

        Returns whether anything changed. Raises OSError, OutputError.
        """
        here, names = Identity(role), list(names)
        facts = facts_of(here.certificate()) if here.exists and not renew else None
        if facts is None or not self.fits(facts, role, role, names):
            here.save(self.issue(role, role, names))
            return True
        texts = here.texts()
        if texts == texts | self.believed(role):
            return False
        here.save(texts | self.believed(role))
        return True

    def server_pair(self, names: Iterable[str]) -> Pair:
        """A new key and certificate for a TLS server at these names and addresses.

        No peer of the lab takes it for one of them.
        """
        text = self.issue("web", "web", names)[OWN]
        end = text.index("-----BEGIN PRIVATE KEY")
        return Pair(text[:end], text[end:])


def _make() -> None:
    name = f"{getpass.getuser()}@{socket.gethostname()}"
    control, hosts = (
        certificates.make_authority(f"{what} of {name}")
        for what in ("control", "hosts")
    )
    lists = [certificates.revocations(pair, ()) for pair in (control, hosts)]
    write_private(authority_folder() / REVOKED, "".join(lists))
    write_private(authority_folder() / HOSTS, hosts.text)
    write_private(authority_folder() / CONTROL, control.text)


@contextmanager
def _locked() -> Iterator[None]:
    """Against other threads and programs."""
    folder = authority_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _pair(path: Path) -> Pair:
    text = path.read_text()
    end = text.index("-----BEGIN PRIVATE KEY")
    return Pair(text[:end], text[end:])


def short(authority: str) -> str:
    """An authority's identifier, as people compare it: its first 4 bytes."""
    return ":".join(authority[at : at + 2] for at in range(0, 8, 2))
