"""Installing ioplan on a host over ssh: wheels as a tar on standard input."""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Sequence
from pathlib import Path

from ioplan.runner.lab.hosts import LabHost
from ioplan_lab.cluster.adopt.look import Look
from ioplan_lab.cluster.adopt.wheels import EXTRA
from ioplan_lab.cluster.hosts.ssh import run_there
from ioplan_lab.cluster.hosts.units import UNIT_FILE

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
