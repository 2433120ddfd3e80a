"""`ioplan lab drives --propose`: this host's unused drives, as a lab file has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from ioplan.cli import print_line, print_message
from ioplan.core import TargetFault, counted
from ioplan.runner import read_lab
from ioplan.runner.guard.survey import Surveyed, survey

UNNAMED = (None, TargetFault.NO_ENTRY)
"""What only lacks an entry in the lab file may get one."""


def propose_drives(lab: Path | None) -> None:
    """Print entries for drives that no entry names; none may be written to yet."""
    found = [drive for drive in survey(read_lab(lab)) if is_unused(drive)]
    for drive in found:
        print_line("\n".join(entry(drive)))
    count = counted(len(found), "unused drive")
    print_message(f"note: {count}; writable = true permits to overwrite it")


def is_unused(drive: Surveyed) -> bool:
    """A whole drive with an identity, which nothing uses and no entry names."""
    identity = drive.identity
    if drive.name or identity is None or identity.partition is not None:
        return False
    return bool(identity.serial or identity.wwid) and drive.kind in UNNAMED


def entry(drive: Surveyed) -> Iterator[str]:
    """A table of the lab file."""
    identity = drive.identity
    assert identity
    yield f"[targets.{re.sub(r'[^A-Za-z0-9_.-]', '-', identity.kernel)}]"
    for key in ("serial", "wwid", "model"):
        if value := getattr(identity, key):
            yield f"{key} = {json.dumps(value)}"
    yield "writable = false\n"
