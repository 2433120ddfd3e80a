"""`ioplan lab keys`: who has keys of the lab, new ones, and an end to old ones."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path

from ioplan.cli import (
    HELD,
    RUN_FAILED,
    Terminal,
    UsageError,
    listing,
    print_line,
    print_message,
)
from ioplan.core import did_you_mean
from ioplan.runner import Lab, LabHost, read_lab
from ioplan_lab.cluster.hosts import lifecycle
from ioplan_lab.cluster.keys.authority import Authority, short
from ioplan_lab.cluster.keys.enrolment import enrol, greet, take_keys
from ioplan_lab.cluster.keys.issued import latest
from ioplan_lab.programs import PROGRAMS


def show(json: bool) -> None:
    """List the last certificate of each peer."""
    authority = Authority.open()
    found = list(latest().values())
    if json:
        rows = [one.model_dump(mode="json") | {"state": one.state} for one in found]
        sys.stdout.write(f"{json_text.dumps(rows, indent=2)}\n")
        return
    cells = (
        (one.title, one.serial[:16], f"{one.ends_at:%Y-%m-%d}", one.state)
        for one in found
    )
    console = Terminal(highlight=False)
    console.print(listing(("for", "serial", "valid until", "state"), cells))
    facts = authority.facts
    console.print(
        f"authority {short(facts.authority)}, made {facts.made_at:%Y-%m-%d}, "
        f"valid until {facts.ends_at:%Y-%m-%d}",
        soft_wrap=True,
    )


def renew(hosts: Sequence[str], lab: Path | None) -> int:
    """Give hosts, or all, new keys; without a host's name the desk's, too."""
    found = read_lab(lab)
    known = _known(found, hosts)
    Authority.open()
    if not hosts:
        address = lifecycle.scheduler_of(found)
        lifecycle.renew_own_keys(address, PROGRAMS, print_line)
    return _enrol(found, known, renew=True)


def take_over(hosts: Sequence[str], lab: Path | None) -> int:
    """Give hosts of another desk keys of this one."""
    found = read_lab(lab)
    code = _enrol(found, _known(found, hosts), take_over=True)
    print_line(f"to start their workers: ioplan lab up {' '.join(hosts)}")
    return code


def _enrol(lab: Lab, hosts: Sequence[str], **how: bool) -> int:
    """In parallel. Returns the exit code."""

    def one(name: str, host: LabHost) -> None:
        said = enrol(name, host, PROGRAMS, **how).text
        print_line(f"{name}: {said or 'its keys are kept'}")

    faults = lifecycle.on_each_host(lifecycle.some_hosts(lab, hosts), one)
    for error in faults.values():
        print_message(f"error: {error}")
    return RUN_FAILED if faults else HELD


def revoke(hosts: Sequence[str], lab: Path | None) -> None:
    """End the keys of hosts, whether or not they can be reached."""
    authority = Authority.open()
    for name in hosts:
        if authority.of_host(name) is None:
            raise UsageError(f"no keys were given to a host {name!r}")
    for name in hosts:
        ended = authority.revoke(name)
        print_line(f"{name}: {len(ended)} certificates end now")
    address = lifecycle.scheduler_of(read_lab(lab))
    lifecycle.renew_own_keys(address, PROGRAMS, print_line)


def _known(lab: Lab, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if name not in lab.hosts:
            near = did_you_mean(name, lab.hosts)
            raise UsageError(f"the lab has no host {name!r}{near}")
    return names or list(lab.hosts)


def greet_host() -> None:
    """Whose keys this host has, for `lab up` on another one."""
    print(json_text.dumps(greet(json_text.load(sys.stdin))))


def take_host_keys() -> None:
    """Store this host's keys, for `lab up` on another one."""
    print(json_text.dumps(take_keys(json_text.load(sys.stdin))))
