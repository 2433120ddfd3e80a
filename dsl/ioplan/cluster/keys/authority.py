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
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.keys import certificates
from ioplan.cluster.keys.certificates import Facts, Pair, Role, facts_of
from ioplan.cluster.keys.identity import (
    CLIENTS,
    OWN,
    SERVERS,
    Identity,
    Texts,
    keys_folder,
    shared_authority,
    write_private,
)
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.model import Model
from ioplan.core.system import fcntl

CONTROL, HOSTS, REVOKED, ISSUED = (
    "control.pem",
    "hosts.pem",
    "revoked.pem",
    "issued.json",
)
NEAR_END = timedelta(days=60)
"""`lab up` renews what ends sooner, and other commands say so."""


class Issued(Model):
    """A certificate that was signed. Times are of UTC."""

    name: str
    role: Role
    serial: str
    names: tuple[str, ...]
    made_at: datetime
    ends_at: datetime
    revoked_at: datetime | None = None

    @property
    def state(self) -> str:
        """In a word or two."""
        if self.revoked_at:
            return f"revoked {self.revoked_at:%Y-%m-%d}"
        if self.ends_at < datetime.now(UTC):
            return "ended"
        return "ends soon" if self.is_near_end else "valid"

    @property
    def is_near_end(self) -> bool:
        """It has ended, or soon will."""
        return self.ends_at - datetime.now(UTC) < NEAR_END


ALL_ISSUED = TypeAdapter(list[Issued])


class Authority:
    """What is in the folder `authority` of the keys; only the desk has one."""

    def __init__(self) -> None:
        self.folder = keys_folder() / "authority"
        self.control, self.hosts = (
            _pair(self.folder / one) for one in (CONTROL, HOSTS)
        )
        self.facts = facts_of(self.control.certificate)

    @classmethod
    def open(cls) -> Authority:
        """The one that is here. Raises ClusterError."""
        if not cls.exists():
            raise ClusterError(
                f"there is no authority of a lab in {keys_folder()}: call `ioplan lab "
                f"up` once, as this user",
                ClusterFault.NO_KEYS,
            )
        return cls()

    @classmethod
    def open_or_make(cls) -> Authority:
        """The one that is here; made if there is none. Raises OSError, OutputError."""
        if not cls.exists():
            folder = keys_folder() / "authority"
            name = f"{getpass.getuser()}@{socket.gethostname()}"
            subjects = [f"{what} of {name}" for what in ("control", "hosts")]
            pairs = [certificates.make_authority(one) for one in subjects]
            lists = [certificates.revocations(pair, ()) for pair in pairs]
            write_private(folder / REVOKED, "".join(lists))
            write_private(folder / HOSTS, pairs[1].text)
            write_private(folder / CONTROL, pairs[0].text)
        return cls()

    @classmethod
    def exists(cls) -> bool:
        """Whether this is a desk."""
        return (keys_folder() / "authority" / CONTROL).is_file()

    def owns(self, authority: str) -> bool:
        """Whether this desk has made it, or had before each host had its own keys."""
        own = [self.control.certificate, shared_authority()]
        return authority in (facts_of(one).authority for one in own if one)

    # ---- what was issued

    def issued(self) -> list[Issued]:
        """All certificates, in the order in which they were made."""
        path = self.folder / ISSUED
        return ALL_ISSUED.validate_json(path.read_bytes()) if path.exists() else []

    def latest(self) -> dict[tuple[Role, str], Issued]:
        """The last one of each peer, by role and name."""
        return {(one.role, one.name): one for one in self.issued()}

    def of_host(self, name: str) -> Issued | None:
        """The last one of a host."""
        return self.latest().get(("host", name))

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
        with self._locked():
            self._keep([*self.issued(), made])
        return {OWN: pair.text} | self.believed(role)

    def revoke(self, name: str) -> list[Issued]:
        """End all certificates of a host; the ones that were not ended before."""
        now = datetime.now(UTC)
        with self._locked():
            known = self.issued()
            ended = [one for one in known if (one.role, one.name) == ("host", name)]
            ended = [one for one in ended if one.revoked_at is None]
            change = {"revoked_at": now}
            known = [
                one.model_copy(update=change) if one in ended else one for one in known
            ]
            self._keep(known)
            serials = [
                one.serial for one in known if one.revoked_at and one.ends_at > now
            ]
            lists = [certificates.revocations(self.control, ())]
            lists += [certificates.revocations(self.hosts, serials)]
            write_private(self.folder / REVOKED, "".join(lists))
        return ended

    def _keep(self, issued: list[Issued]) -> None:
        text = ALL_ISSUED.dump_json(issued, indent=1).decode()
        write_private(self.folder / ISSUED, text)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Against other threads and programs."""
        fd = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

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
        last = self.latest().get((role, name))
        return bool(
            last
            and last.serial == facts.serial
            and not last.revoked_at
            and not last.is_near_end
            and set(names) <= set(facts.names)
        )

    def equip(self, role: Role, names: Iterable[str] = ()) -> bool:
        """Give the desk or the scheduler, on this machine, what they need.

        Returns whether anything changed. Raises OSError, OutputError.
        """
        here, names = Identity(role), list(names)
        facts = facts_of(here.certificate()) if here.exists else None
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


def _pair(path: Path) -> Pair:
    text = path.read_text()
    end = text.index("-----BEGIN PRIVATE KEY")
    return Pair(text[:end], text[end:])


def short(authority: str) -> str:
    """An authority's identifier, as people compare it: its first 4 bytes."""
    return ":".join(authority[at : at + 2] for at in range(0, 8, 2))
