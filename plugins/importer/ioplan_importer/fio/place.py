"""Where a job's I/O goes: its part of the target, and its target."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ioplan.language import SECTOR_BYTES, make, size_text
from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.length import WHOLE_TARGET, extents_of
from ioplan_importer.fio.numbers import Extent, Percent, size
from ioplan_importer.fio.shape import Refused, Shape, kb_base
from ioplan_importer.fio.vocabulary import BLOCK_ENGINES, NETWORK_TARGETS, TOLD_ENGINES
from ioplan_importer.outline import Clauses

Edge = tuple[int, int]
"""Percent of the target, and bytes beyond that."""
WHOLE: Edge = (100, 0)
NOT_BLOCKS = "ioplan does block I/O on one target; keep such a job with fio"


def check_engine(job: FioJob, findings: Findings) -> None:
    """Leave out jobs that do no block I/O. Raises Refused."""
    engine = job.text("ioengine", "psync").split(":")[0].strip()
    if engine not in BLOCK_ENGINES:
        findings.error(
            f"the job {job.name!r} is left out: ioengine={engine} does no I/O on "
            f"blocks of one target",
            job.place("ioengine"),
            NOT_BLOCKS,
        )
        raise Refused
    if engine in NETWORK_TARGETS:
        findings.loss(
            f"ioengine={engine} names a target that is no block device of a host",
            job.place("ioengine"),
            "attach it as a block device, and name that with --target",
        )
    if engine in TOLD_ENGINES:
        does, help = TOLD_ENGINES[engine]
        findings.loss(f"ioengine={engine} {does}", job.place("ioengine"), help)


def region_of(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """The part of the target; of jobs that are many, all their parts."""
    base = kb_base(job, findings)

    def read(name: str, default: Extent) -> Extent:
        found = job.read(name, lambda text: size(text, base), default, findings)
        return _whole_sectors(job, name, found, findings)

    tell_range(job, "filesize", findings)
    start = read("offset", 0)
    found = extents_of(job, findings)
    length = _whole_sectors(job, found.name, found.region, findings)
    step = read("offset_increment", 0)
    if shape.threads > 1:
        length = _of_all(job, shape, length, step, findings)
    length = _with_room(job, shape, length, found.name, findings)
    if _is_zero(start) and length == Percent(100):
        return {}
    first = _edge(start)
    end = _sum(first, _edge(length))
    if end[0] > 100 or (end[0] == 100 and end[1]):
        end = WHOLE  # fio ends at the end of the device
    texts = _text(first), _text(end, first)
    if isinstance(start, int) and not start and isinstance(length, Percent):
        texts = "0%", texts[1]
    return {"region": f"region {'..'.join(texts)}"}


def _with_room(
    job: FioJob, shape: Shape, length: Extent, name: str, findings: Findings
) -> Extent:
    """A part with room for an I/O of each thread, else the whole target."""
    largest = max(shape.used_sizes)
    if isinstance(length, Percent) or length >= largest * shape.threads:
        return length
    each = f" for each of {shape.threads} jobs" if shape.threads > 1 else ""
    findings.error(
        f"{job.options[name].span.text} is less than an I/O of {size_text(largest)}"
        f"{each}, and is left out",
        job.place(name),
        "a number ends at the first character that is no digit: 1.5g is one byte",
    )
    return WHOLE_TARGET


def tell_range(job: FioJob, name: str, findings: Findings) -> None:
    """`filesize=1m-4m`, of which fio draws one."""
    if "-" in job.text(name).lstrip(" -"):
        findings.loss(
            f"fio draws {name} from {job.text(name)}; here it is the first of both",
            job.place(name),
            "write the one that you want",
        )


def _whole_sectors(
    job: FioJob, name: str, extent: Extent, findings: Findings
) -> Extent:
    if (
        isinstance(extent, Percent)
        or extent % SECTOR_BYTES == 0
        or extent < SECTOR_BYTES
    ):
        return extent
    whole = extent // SECTOR_BYTES * SECTOR_BYTES
    findings.loss(
        f"{name} of {extent} B is no multiple of {SECTOR_BYTES} B: here {whole} B",
        job.place(name),
    )
    return whole


def _of_all(
    job: FioJob, shape: Shape, length: Extent, step: Extent, findings: Findings
) -> Extent:
    """The length that all threads have together."""
    if not _is_zero(step):
        if step == length:
            if shape.pattern == "random":
                findings.loss(
                    "offset_increment gives each of fio's jobs a part of its own; "
                    "random threads of a plan share the whole",
                    job.place("offset_increment"),
                )
            return _times(length, shape.threads)
        findings.loss(
            f"offset_increment={job.text('offset_increment')} is left out: threads of "
            f"a plan share a region, or have equal parts of it",
            job.place("offset_increment"),
            "write a stream for each part, with its region",
        )
        return length
    if shape.pattern == "sequential":
        findings.loss(
            f"fio's {shape.threads} jobs go over the same blocks, all from the first "
            f"on; threads of a plan have disjoint parts",
            job.place("numjobs"),
            "with offset_increment fio gives each job its own part as well",
        )
    return length


def _is_zero(extent: Extent) -> bool:
    return extent in (0, Percent(0))


def _times(extent: Extent, count: int) -> Extent:
    if isinstance(extent, Percent):
        return Percent(min(100, extent.percent * count))
    return extent * count


def _edge(extent: Extent) -> Edge:
    return (extent.percent, 0) if isinstance(extent, Percent) else (0, extent)


def _sum(one: Edge, other: Edge) -> Edge:
    return one[0] + other[0], one[1] + other[1]


def _text(edge: Edge, first: Edge = (0, 0)) -> str:
    """`10%`, `5GiB`, or what is added to the start: `+80%`."""
    percent, count = edge
    if percent and count:
        percent, count = percent - first[0], count - first[1]
        return (
            f"+{make('share', percent).text if percent else make('size', count).text}"
        )
    if count or not percent:
        return make("size", count).text
    return make("share", percent).text


def target_of(job: FioJob, findings: Findings) -> str:
    """What the job file calls the target; empty where it makes a file of its own."""
    name = job.text("filename")
    if ":" in name.replace("\\:", ""):
        findings.loss(
            f"filename={name} are several targets, and a plan has one",
            job.place("filename"),
            "name them as a group in the lab file, or run the plan on each",
        )
    if job.has("nrfiles") and job.text("nrfiles") not in ("1", ""):
        findings.loss(
            f"nrfiles={job.text('nrfiles')} is left out: a plan is about one target",
            job.place("nrfiles"),
        )
    name = name.replace("\\:", ":")
    folder = job.text("directory").rstrip("/")
    if ":" in folder.replace("\\:", ""):
        findings.loss(
            f"directory={folder} are several folders, and a plan has one target",
            job.place("directory"),
        )
    return f"{folder}/{name or own_file(job)}" if folder else name


def own_targets(job: FioJob, target: str) -> tuple[str, ...]:
    """The targets of a job in fio: without a filename, a file for each of numjobs.

    A job that is called as a device of this host is about it, too.
    """
    if job.text("filename"):
        return (target,)
    if not target and (job.name.startswith("/dev/") or _is_device(job.name)):
        return (job.name,)
    folder = f"{Path(target).parent}/" if target else ""
    count = job.at_least_1("numjobs")
    return tuple(folder + own_file(job, number) for number in range(count))


def own_file(job: FioJob, number: int = 0) -> str:
    """What fio calls the file of a job without a filename; each of numjobs has one."""
    return f"{job.name}.{number}.0"


def _is_device(name: str) -> bool:
    """fio's exists_and_not_regfile, of init.c."""
    with suppress(OSError):  # a name that is too long
        return Path(name).exists() and not Path(name).is_file()
    return False


def is_buffered(job: FioJob) -> bool:
    """Whether fio goes through the page cache, as it does unless told otherwise."""
    if job.text("ioengine").split(":")[0] in TOLD_ENGINES:
        return False
    if job.has("direct"):
        return not job.is_on("direct")
    return job.is_on("buffered") or not job.has("buffered")
