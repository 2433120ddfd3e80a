"""Whether a regular file may be written."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ioplan.lab.entry import LabTarget
from ioplan.lab.fellows import strangers
from ioplan.lab.file_key import key_of
from ioplan.lab.guard import ONLY_READ
from ioplan.lab.openers import writers
from ioplan.lab.uses import Host, Use


def file_refusals(
    status: os.stat_result, host: Host, session: str = ""
) -> Iterator[Use]:
    """Why it must not be written, even if the user has named it.

    `session` is one that several hosts have together.
    """
    if status.st_nlink > 1:
        what = f"has {status.st_nlink} names (hard links), and all would be overwritten"
        yield Use(what, "name a file that has one")
    file = key_of(status)
    yield from host.file_uses(file)
    for one in strangers(writers({file: ""}), session):
        yield Use(f"is {one.how} by {one}", "end that program first")


def lab_refusals(entry: LabTarget) -> Iterator[str]:
    """Why the lab's word does not let it be written."""
    if entry.serial or entry.wwid or entry.backing_file or entry.nsid:
        yield "it is a file, and the lab names a device by that path"
    elif not entry.writable:
        yield ONLY_READ
