"""Giving a host its keys, over ssh, without taking a host away from another desk."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from ioplan.core import ClusterFault
from ioplan.runner import LabHost
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service import Service
from ioplan_lab.cluster.hosts.ssh import call_host
from ioplan_lab.cluster.keys.authority import Authority, short
from ioplan_lab.cluster.keys.certificates import facts_of
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.cluster.keys.issued import Issued

Outcome = Literal["kept", "first", "renewed", "taken over"]
SAID: dict[Outcome, str] = {
    "kept": "",
    "first": "has its keys",
    "renewed": "has new keys",
    "taken over": "has keys of this desk now",
}


class Enrolled(Struct, frozen=True):
    """What became of a host's keys."""

    host: str
    outcome: Outcome
    issued: Issued

    @property
    def text(self) -> str:
        """For a person; empty where all is as it was."""
        said = SAID[self.outcome]
        return said and f"{said}, until {self.issued.ends_at:%Y-%m-%d}"


def enrol(
    name: str,
    host: LabHost,
    programs: Programs,
    *,
    renew: bool = False,
    take_over: bool = False,
) -> Enrolled:
    """Give a host its keys, unless it has them and they last.

    It makes the desk's authority if there is none. A worker that runs starts anew by
    itself once it has other keys. Raises ClusterError: of a host with another desk's
    keys, unless `take_over`; of one whose keys were revoked, unless `renew`; and if it
    cannot be reached.
    """
    authority = Authority.open_or_make()
    last = authority.of_host(name)
    if last and last.revoked_at and not renew:
        raise ClusterError(
            f"the keys of {name} were revoked on {last.revoked_at:%Y-%m-%d}; "
            f"`ioplan lab keys renew {name}` gives it new ones",
            ClusterFault.KEYS_REVOKED,
        )
    there = call_host(name, host, programs, "greet", {"address": host.address or name})
    is_ours = _check_owner(name, authority, there["authority"], take_over)
    names = _names(name, host, there["addresses"])
    outcome = _outcome(authority, name, names, there, renew, is_ours)
    if outcome != "kept":
        texts = authority.issue(name, "host", names)
        request = {"keys": texts, "instead_of": there["authority"]}
        call_host(name, host, programs, "take-keys", request)
    issued = authority.of_host(name)
    assert issued
    return Enrolled(name, outcome, issued)


def check_owner(name: str, host: LabHost, programs: Programs) -> None:
    """Raises ClusterError of a host that is known to be another desk's."""
    request = {"address": host.address or name}
    try:
        there = call_host(name, host, programs, "greet", request)
    except ClusterError:
        return  # a broken installation, which is mended next
    _check_owner(name, Authority.open_or_make(), there["authority"], False)


def _check_owner(name: str, authority: Authority, there: str, take_over: bool) -> bool:
    """Whether the host is this desk's, or nobody's."""
    if not there or authority.owns(facts_of(there).authority):
        return True
    if not take_over:
        found = facts_of(there)
        raise ClusterError(
            f"{name} belongs to another desk: its keys are of authority "
            f"{short(found.authority)}, made "
            f"{found.made_at:%Y-%m-%d}{_by(found.name)}; this desk's is "
            f"{short(authority.facts.authority)}. `ioplan lab keys take-over {name}` "
            "moves it to this desk",
            ClusterFault.OTHER_DESK,
        )
    return False


def _by(name: str) -> str:
    _, _, who = name.partition(" of ")
    return f" by {who}" if who else ""


def _outcome(
    authority: Authority,
    name: str,
    names: Sequence[str],
    there: dict[str, Any],
    renew: bool,
    is_ours: bool,
) -> Outcome:
    if not is_ours:
        return "taken over"
    if not there["certificate"]:
        return "first"
    fits = authority.fits(facts_of(there["certificate"]), "host", name, names)
    return "kept" if fits and not renew else "renewed"


def _names(name: str, host: LabHost, there: Sequence[str]) -> list[str]:
    """What its certificate is for: its address, and what that means here, or there.

    dask connects by the number of an address, whatever the lab calls it.
    """
    address = host.address or name
    return sorted({address, *(addresses_of(address) or there)})


def addresses_of(address: str) -> list[str]:
    """The numbers of a name here; none if it is not known."""
    with suppress(OSError):
        found = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)
        return sorted({str(one[4][0]).partition("%")[0] for one in found})
    return []


# ---- on the host


def greet(request: dict[str, Any]) -> dict[str, Any]:
    """Whose keys this host has, its address here, and what its worker said last.

    No secret is told.
    """
    here = Identity("host")
    return {
        "authority": here.authority(),
        "certificate": here.certificate(),
        "addresses": addresses_of(request["address"]),
        "worker": Service("worker").log_end(1),
    }


def take_keys(request: dict[str, Any]) -> dict[str, Any]:
    """Store this host's keys. Raises ClusterError if another desk was faster."""
    here = Identity("host")
    if here.authority() != request["instead_of"]:
        text = "another desk has given it keys just now; try again"
        raise ClusterError(text, ClusterFault.OTHER_DESK)
    here.save(request["keys"])
    return {"taken": True}
