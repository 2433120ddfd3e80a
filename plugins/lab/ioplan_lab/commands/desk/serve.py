"""`ioplan lab serve`: the desk as a service."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from ioplan.cli import UsageError, print_line, print_message
from ioplan.core import needed
from ioplan.results.store import Store, default_path
from ioplan.runner import default_path as default_lab
from ioplan.runner import read_lab
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.commands.desk.working import working
from ioplan_lab.commands.jobs.executor import connect
from ioplan_lab.desk.calls import Calls
from ioplan_lab.desk.database import desk_folder
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.people.oidc import Provider, read_settings
from ioplan_lab.desk.people.people import People
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.running import Running
from ioplan_lab.desk.start.simulated_lab import simulated_lab
from ioplan_lab.desk.web.app import create_app
from ioplan_lab.desk.web.headers import is_address, own_names
from ioplan_lab.desk.web.server import Place, check, serve
from ioplan_lab.programs import PROGRAMS

FIRST = "admin"


def serve_desk(
    *,
    listen: str,
    tls: bool,
    certificate: Path | None,
    key: Path | None,
    names: list[str],
    oidc: Path | None,
    lab: Path | None,
    store: Path | None,
) -> None:
    """Serve until ended. Raises UsageError, DeskError, LabError, StoreError."""
    host, port = _listen(listen)
    if tls and not certificate:
        certificate, key = _own_certificate(host, names)
    place = Place(host, port, certificate, key)
    check(place)
    provider = Provider(read_settings(oidc)) if oidc else None
    local = store or default_path()
    _serve(place, tuple(names), provider, lab or default_lab(), local)


def _own_certificate(host: str, names: list[str]) -> tuple[Path, Path]:
    """For all that browsers may call this host. Raises DeskError, ClusterError."""
    known = {*own_names(), *names, "127.0.0.1"}
    if is_address(host) and not ip_address(host).is_unspecified:
        known.add(host)
    with needed("--tls needs", "lab", UsageError):
        from ioplan_lab.desk.web.own_certificate import own_certificate  # noqa: PLC0415

    made = own_certificate(desk_folder(), known)
    print_line(f"to trust its certificate, add to the browser: {made.authority}")
    return made.certificate, made.key


def _listen(word: str) -> tuple[str, int]:
    host, colon, port = word.rpartition(":")
    if not colon or not host or not port.isdecimal() or not int(port) < 65536:
        raise UsageError(
            f"--listen takes HOST:PORT, such as 127.0.0.1:8780, not {word!r}"
        )
    return host.strip("[]"), int(port)


def _serve(
    place: Place,
    names: tuple[str, ...],
    provider: Provider | None,
    lab: Path | None,
    local: Path,
) -> None:
    results = read_lab(lab).results
    with ExitStack() as stack:
        database = stack.enter_context(desk_database(lab))
        found = stack.enter_context(Store.at(results or local))
        desk = Desk(
            store=found,
            place=results or str(local),
            lab_file=lab or simulated_lab(desk_folder()),
            folder=desk_folder(),
            database=database,
            running=Running(local, connect),
            calls=Calls(PROGRAMS.cli, {"IOPLAN_STORE": str(local)}),
            names=names,
            tls=place.tls,
            oidc=provider,
            simulated=lab is None,
        )
        stack.callback(desk.running.close)
        work = working(database, desk.lab_file, local, desk.sample)
        serve(create_app(desk), place, partial(_ready, desk.people), work)


def _ready(people: People, url: str) -> None:
    """Where it is; and at first, with what to sign in."""
    print_line(f"the desk is at {url}")
    if not people.everyone():
        token = people.add(FIRST, Role.ADMIN)
        print_message(f"{FIRST} is its first admin; this token is shown only once:")
        print_line(token)
    sys.stdout.flush()
