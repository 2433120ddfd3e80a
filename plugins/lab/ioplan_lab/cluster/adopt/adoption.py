"""Adopting hosts: what is there, what is to be done, and doing it."""

from __future__ import annotations

import io
import json
import re
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import TypeAdapter

from ioplan.core import ClusterFault, __version__
from ioplan.runner import Lab, LabHost
from ioplan.runner.guard import Surveyed
from ioplan_lab.cluster.adopt.look import Look, folder_of, look
from ioplan_lab.cluster.adopt.wheels import EXTRA, make_wheels
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.lifecycle import Faults, on_each_host
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service import UNIT_FILE, worker_unit
from ioplan_lab.cluster.hosts.ssh import call_host, run_there
from ioplan_lab.cluster.keys.enrolment import check_owner, enrol

if TYPE_CHECKING:
    from ioplan_lab.cluster.hosts.lifecycle import ProgressCallback


# Installing ioplan on a host over ssh: wheels as a tar on standard input.

INSTALL_S = 600
INSTALL = """\
set -eu
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
tar -xf - -C "$wheels"
{python} -m venv {clear} {folder}
{folder}/bin/python -m pip install --quiet --disable-pip-version-check --no-index \\
  --find-links "$wheels" --upgrade --force-reinstall {what} >&2
"""
LINK = """\
bin=/usr/local/bin
[ "$(id -u)" = 0 ] || bin=$HOME/.local/bin
mkdir -p "$bin"
case $(readlink "$bin/ioplan" || echo "$bin/ioplan") in
  {folder}/bin/ioplan) ;;
  *) [ -e "$bin/ioplan" ] || ln -sfn {folder}/bin/ioplan "$bin/ioplan" ;;
esac
"""
"""On the path; what an admin has put there stays."""
PUT_UNIT = f"""\
set -eu
cat > {UNIT_FILE}.part
mv {UNIT_FILE}.part {UNIT_FILE}
systemctl daemon-reload
systemctl enable --quiet ioplan-worker
systemctl restart ioplan-worker
"""


def bundled(wheels: Sequence[Path]) -> bytes:
    """The wheels as a tar."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for wheel in wheels:
            archive.add(wheel, arcname=wheel.name)
    return content.getvalue()


def install(
    name: str, host: LabHost, folder: str, look: Look, version: str, wheels: bytes
) -> None:
    """Make the folder, or renew what is in it. Raises ClusterError."""
    script = (INSTALL + LINK).format(
        python=shlex.quote(look.python_for_here()),
        clear="--clear" if look.folder == "own" and not look.same_python else "",
        folder=shlex.quote(folder),
        what=shlex.quote(f"ioplan[{EXTRA}]=={version}"),
    )
    run_there(name, host, ["sh", "-c", script], wheels, INSTALL_S)


def put_unit(name: str, host: LabHost, text: str) -> None:
    """Write the worker's unit and start it; lanes go on. Raises ClusterError."""
    run_there(name, host, ["sh", "-c", PUT_UNIT], text.encode())


WORD = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)"
    r"(=((?P<user>[^@=\s]+)@)?(?P<address>\[[^\]]+\]|[^:@=\s]+)(:(?P<port>\d+))?)?"
)
SURVEY_S = 120


def host_of(word: str, lab: Lab, folder: str) -> tuple[str, LabHost]:
    """NAME of the lab, or NAME[=[USER@]ADDRESS[:PORT]]. Raises ClusterError."""
    found = WORD.fullmatch(word)
    if not found:
        raise ClusterError(
            f"the host {word!r} is none; write NAME, or NAME=USER@ADDRESS:PORT",
            ClusterFault.UNKNOWN_HOST,
        )
    name, address = found["name"], (found["address"] or "").strip("[]")
    if name in lab.hosts:
        if address and address != lab.hosts[name].address:
            raise ClusterError(
                f"the lab has the host {name} at {lab.hosts[name].address or name}; "
                "change it in the lab file, or use another name",
                ClusterFault.UNKNOWN_HOST,
            )
        return name, lab.hosts[name]
    return name, LabHost(
        address=address or None,
        user=found["user"],
        port=int(found["port"]) if found["port"] else None,
        python=f"{folder}/bin/python",
    )


class Adoption(Struct, frozen=True):
    """What is to be done on a host. `unit` is the text to write; empty for none."""

    name: str
    host: LabHost
    found: Look
    unit: str
    is_new: bool

    @property
    def steps(self) -> list[str]:
        """For a person to agree to; none if all is up to date."""
        there = self.found.versions.get("ioplan")
        said = f" in place of {there}" if there else ""
        folder = str(Path(self.host.python).parents[1])
        steps = [f"install ioplan {__version__} in {folder}{said}"]
        steps = [] if self.found.up_to_date else steps
        steps += [f"write {UNIT_FILE}, and start it"] if self.unit else []
        steps += ["give it keys, and add it and its drives to the lab"] * self.is_new
        return steps


def adoptions(
    lab: Lab, hosts: Mapping[str, LabHost], programs: Programs, units: bool
) -> tuple[dict[str, Adoption], Faults]:
    """Look at all of them; returns also those that cannot be adopted, and why."""
    found: dict[str, Adoption] = {}
    whole = lab.model_copy(update={"hosts": {**lab.hosts, **hosts}})

    def look_at(name: str, host: LabHost) -> None:
        there = checked(name, host, programs)
        text = worker_unit(whole, name, programs)
        wanted = units and there.systemd and there.root and there.unit != text
        unit = text if wanted else ""
        found[name] = Adoption(name, host, there, unit, name not in lab.hosts)

    faults = on_each_host(_only(lab, hosts), look_at)
    return {name: found[name] for name in hosts if name in found}, faults


def checked(name: str, host: LabHost, programs: Programs) -> Look:
    """What is there, where ioplan is or can be installed. Raises ClusterError.

    Another desk's host is left alone, and lanes are not disturbed.
    """
    there = look(name, host, programs)
    if there.versions:
        check_owner(name, host, programs)
    if there.lanes and not there.up_to_date:
        raise ClusterError(
            f"{there.lanes} lanes run on {name}; wait for their end, or end them "
            f"with `ioplan cancel`",
            ClusterFault.LANES_RUNNING,
        )
    why = "" if there.up_to_date else there.fault(folder_of(host))
    if why:
        raise ClusterError(f"the host {name}: {why}", ClusterFault.INSTALL_FAILED)
    return there


def _only(lab: Lab, hosts: Mapping[str, LabHost]) -> Lab:
    return lab.model_copy(update={"hosts": dict(hosts)})


def install_on(
    lab: Lab,
    there: Mapping[str, tuple[LabHost, Look]],
    wheels: Sequence[Path],
    on_progress: ProgressCallback,
) -> Faults:
    """Install what is here on all that have something else."""
    old = {name: one for name, one in there.items() if not one[1].up_to_date}
    if not old:
        return {}
    with TemporaryDirectory(prefix="ioplan-wheels-") as folder:
        content = bundled(make_wheels(Path(folder), wheels))

    def put(name: str, host: LabHost) -> None:
        install(name, host, folder_of(host), old[name][1], __version__, content)
        on_progress(f"{name}: ioplan {__version__} is installed")

    return on_each_host(_only(lab, {name: one[0] for name, one in old.items()}), put)


def equip(
    lab: Lab,
    plans: Mapping[str, Adoption],
    programs: Programs,
    on_progress: ProgressCallback,
) -> Faults:
    """Keys, then the units, whose workers need them."""

    def give(name: str, host: LabHost) -> None:
        made = enrol(name, host, programs)
        if plans[name].unit:
            call_host(name, host, programs, "leave", {"store": host.store})
            put_unit(name, host, plans[name].unit)
        said = [made.text, "its unit is started" if plans[name].unit else ""]
        for text in filter(None, said):
            on_progress(f"{name}: {text}")

    return on_each_host(
        _only(lab, {name: one.host for name, one in plans.items()}), give
    )


def drives_of(
    lab: Lab, hosts: Mapping[str, LabHost], programs: Programs
) -> tuple[dict[str, list[Surveyed]], Faults]:
    """What `ioplan targets --json` says on each."""
    found: dict[str, list[Surveyed]] = {}

    def ask(name: str, host: LabHost) -> None:
        words = [host.python, "-m", programs.cli, "targets", "--json"]
        said = json.loads(run_there(name, host, words, timeout_s=SURVEY_S))
        found[name] = TypeAdapter(list[Surveyed]).validate_python(said)

    faults = on_each_host(_only(lab, hosts), ask)
    return {name: found[name] for name in hosts if name in found}, faults


# ---- another version on hosts that the lab has


def upgrades(lab: Lab, programs: Programs) -> tuple[dict[str, Look], Faults]:
    """What is on each host; one where lanes run is not touched."""
    found: dict[str, Look] = {}

    def look_at(name: str, host: LabHost) -> None:
        found[name] = checked(name, host, programs)

    faults = on_each_host(lab, look_at)
    return {name: found[name] for name in lab.hosts if name in found}, faults


def stop_workers(lab: Lab, found: Mapping[str, Look], programs: Programs) -> Faults:
    """Stop the workers, so that no lane begins while the packages are replaced."""

    def stop(name: str, host: LabHost) -> None:
        if found[name].unit and found[name].root:
            run_there(name, host, ["systemctl", "stop", "ioplan-worker"])
        if found[name].versions:
            call_host(name, host, programs, "leave", {"store": host.store})

    return on_each_host(lab, stop)


def start_units(lab: Lab, found: Mapping[str, Look]) -> Faults:
    """Start the units of the workers that were stopped."""

    def start(name: str, host: LabHost) -> None:
        if found[name].unit and found[name].root:
            run_there(name, host, ["systemctl", "start", "ioplan-worker"])

    return on_each_host(lab, start)
