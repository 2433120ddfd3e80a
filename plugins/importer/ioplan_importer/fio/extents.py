"""What `size` and `filesize` come to: where a job's I/O goes, and how much there is."""

from __future__ import annotations

from typing import NamedTuple

from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import Extent, Percent, size
from ioplan_importer.fio.shape import kb_base

WHOLE_TARGET = Percent(100)
NOTHING = (0, Percent(0))


class Extents(NamedTuple):
    """Of one job, and one loop of it: the part of the target, and what is moved.

    `name` is the option that says the first.
    """

    region: Extent
    moved: Extent
    name: str = "size"


def extents_of(job: FioJob, findings: Findings) -> Extents:
    """With both, I/O goes to all of the file, until it comes to `size`, or to the
    file's if that is less."""
    base = kb_base(job, findings)
    nothing: Extent = 0

    def read(name: str) -> Extent:
        return job.read(name, lambda text: size(text, base), nothing, findings)

    moved, file = read("size"), read("filesize")
    if file in NOTHING:
        found = WHOLE_TARGET if moved in NOTHING else moved
        return Extents(found, found)
    if moved in NOTHING:
        moved = file
    elif isinstance(file, Percent):
        moved = file if isinstance(moved, Percent) else moved
    elif isinstance(moved, Percent):
        moved = file * moved.percent // 100
    else:
        moved = min(moved, file)
    return Extents(file, moved, "filesize")
