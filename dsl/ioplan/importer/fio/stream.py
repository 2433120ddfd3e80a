"""A job's options as the clauses of one stream."""

from __future__ import annotations

from collections.abc import Callable

from ioplan.core.value import Value
from ioplan.importer.findings import Findings
from ioplan.importer.fio.jobs import KB_BASE, FioJob
from ioplan.importer.fio.numbers import (
    by_direction,
    bytes_of,
    is_plain_size,
    time_us,
    truth,
    whole,
)
from ioplan.importer.fio.shares import Shares, distribution, equal_sizes, size_shares
from ioplan.importer.fio.vocabulary import ONE_AT_A_TIME
from ioplan.importer.outline import Clauses
from ioplan.language.fields import MOST_IO_BYTES
from ioplan.language.quantity import SECTOR_BYTES, make, size_text

PATTERNS = {
    **{"read": ("sequential", 100), "write": ("sequential", 0)},
    **{"randread": ("random", 100), "randwrite": ("random", 0)},
    **{"trim": ("sequential", 0), "randtrim": ("random", 0)},
    **{"rw": ("sequential", None), "readwrite": ("sequential", None)},
    "randrw": ("random", None),
}
"""Of `rw`: the pattern, and the share of reads where that is not rwmixread's."""
DEFAULT_BYTES = 4096
SHORT_LIST = 2
Sizes = tuple[Shares, Shares]
"""Of reads, and of writes and discards; each in bytes and percent."""


class Refused(Exception):
    """A job that is left out; its reason is told already."""


class Shape(Value):
    """What of a job decides on several clauses."""

    pattern: str
    read_percent: int
    trims: bool
    sizes: Sizes
    threads: int
    qd: int
    random_percents: tuple[int, int] = (100, 100)

    @property
    def used_sizes(self) -> set[int]:
        """The sizes of its I/Os, in bytes."""
        reads, writes = self.sizes
        used = (*(reads if self.read_percent else ()),)
        used += (*(writes if self.read_percent < 100 else ()),)
        return {size_bytes for size_bytes, _ in used}


def shape_of(job: FioJob, findings: Findings) -> Shape:
    """The pattern, the mix and the sizes. Raises Refused."""
    word = job.text("rw", "read").split(":")[0].strip() or "read"
    if word not in PATTERNS:
        findings.error(
            f"rw={word} cannot be said as one stream",
            job.place("rw"),
            "known are read, write, randread, randwrite, rw, randrw, trim, randtrim",
        )
        raise Refused
    if ":" in job.text("rw"):
        findings.loss(
            f"the number in {job.text('rw')!r} is left out: fio's I/Os skip or repeat "
            f"offsets, a plan's go on or are drawn",
            job.place("rw"),
        )
    pattern, reads = PATTERNS[word]
    if reads is None and pattern == "sequential":
        findings.loss(
            "fio's reads and writes go on from two positions; a plan's stream has one",
            job.place("rw"),
            "write two streams, one that reads and one that writes",
        )
    threads = max(1, job.read("numjobs", whole, 1, findings))
    read_percent = _mix(job, findings) if reads is None else reads
    shares = _random_shares(job, read_percent, findings)
    is_random, sizes = pattern == "random" and any(shares), _sizes(job, findings)
    return Shape(
        pattern="random" if is_random else "sequential",
        random_percents=shares if is_random else (100, 100),
        read_percent=read_percent,
        trims="trim" in word,
        sizes=_discards(job, sizes, findings) if "trim" in word else sizes,
        threads=threads,
        qd=_depth(job, findings),
    )


def clauses_of(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """The clauses of the stream, but for its region and its time."""
    reads = shape.read_percent
    clauses = {"pattern": shape.pattern, "mix": make("mix", reads).text}
    clauses |= _random_clauses(*shape.random_percents)
    clauses |= _size_clauses(job, shape, findings)
    each = " each" if shape.threads > 1 else ""
    if shape.qd > 1 or each:
        clauses["qd"] = f"qd {shape.qd}{each}"
    if each:
        clauses["threads"] = f"threads {shape.threads}"
    parts: tuple[Callable[..., Clauses], ...] = (_rate, _pause, _where, _align)
    for part in parts:
        clauses |= part(job, shape, findings)
    if shape.trims:
        clauses["trim"] = "trim 100%"
    elif reads < 100:
        clauses |= _data(job, findings)
    return clauses


def kb_base(job: FioJob, findings: Findings) -> int:
    """1024, or 1000 where the job says so."""
    return 1000 if job.read(KB_BASE, whole, 1024, findings) == 1000 else 1024


def _mix(job: FioJob, findings: Findings) -> int:
    """Reads in percent; of rwmixread and rwmixwrite the later one holds."""
    reads = job.read("rwmixread", whole, 50, findings)
    if job.has("rwmixwrite"):
        writes = job.read("rwmixwrite", whole, 100 - reads, findings)
        if job.has("rwmixread") and reads + writes != 100:
            findings.loss(
                f"rwmixread and rwmixwrite add up to {reads + writes} %: fio takes the "
                f"later one",
                job.place("rwmixwrite"),
            )
        last = (
            max("rwmixread", "rwmixwrite", key=list(job.options).index)
            if job.has("rwmixread")
            else "rwmixwrite"
        )
        reads = reads if last == "rwmixread" else 100 - writes
    return max(0, min(100, reads))


def _depth(job: FioJob, findings: Findings) -> int:
    qd = max(1, job.read("iodepth", whole, 1, findings))
    engine = job.text("ioengine", "psync").split(":")[0]
    if qd > 1 and engine in ONE_AT_A_TIME:
        findings.loss(
            f"iodepth={qd} does nothing with ioengine={engine}, which does one I/O at "
            f"a time: written as qd 1",
            job.place("iodepth"),
            f"write qd {qd} if it was meant",
        )
        return 1
    return qd


def _sizes(job: FioJob, findings: Findings) -> Sizes:
    base = kb_base(job, findings)

    def read(parse: Callable[[str], Shares]) -> Callable[[str], Sizes]:
        def both(text: str) -> Sizes:
            found = by_direction(text, parse)
            default = ((DEFAULT_BYTES, 100.0),)
            return found[0] or default, found[1] or found[2] or default

        return both

    one: Sizes = (((DEFAULT_BYTES, 100.0),),) * 2
    for name in ("bs", "bsrange", "bssplit"):
        if job.has(name):
            _tell_odd_size(job, name, findings)
    one = job.read("bs", read(lambda t: ((bytes_of(t, base), 100.0),)), one, findings)
    one = job.read("bsrange", read(lambda t: equal_sizes(t, base)), one, findings)
    return job.read("bssplit", read(lambda t: size_shares(t, base)), one, findings)


def _discards(job: FioJob, sizes: Sizes, findings: Findings) -> Sizes:
    """Discards of more than a plan's largest I/O become several of that size."""
    reads, trims = sizes
    capped = tuple((min(size, MOST_IO_BYTES), share) for size, share in trims)
    if capped != trims:
        most = size_text(MOST_IO_BYTES)
        findings.loss(
            f"discards of more than {most} are left to several of {most}: no I/O of a "
            f"plan has more",
            job.place("bssplit", "bsrange", "bs"),
            "a rate or a pause is by the I/O: give the stream twice the rate for 2GiB",
        )
    return reads, capped


def _tell_odd_size(job: FioJob, name: str, findings: Findings) -> None:
    if name == "bs" and not all(map(is_plain_size, job.text(name).split(","))):
        findings.note(
            "fio reads a number up to the first character that is no digit",
            job.place(name),
        )


def _size_clauses(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """One size, one distribution, or one for each direction."""
    for size_bytes in sorted(shape.used_sizes):
        if size_bytes > MOST_IO_BYTES:
            findings.error(
                f"the job {job.name!r} is left out: no I/O of a plan has more than "
                f"{size_text(MOST_IO_BYTES)}",
                job.place("bssplit", "bsrange", "bs"),
            )
            raise Refused
        if not size_bytes or size_bytes % SECTOR_BYTES:
            findings.error(
                f"a block size of {size_bytes} B is no multiple of {SECTOR_BYTES} B",
                job.place("bssplit", "bsrange", "bs"),
                "direct I/O takes whole sectors",
            )
            raise Refused
    reads, writes = shape.sizes
    if shape.read_percent in (0, 100) or reads == writes:
        shares = reads if shape.read_percent else writes
        if len(shares) == 1:
            return {"size": make("size", shares[0][0]).text}
        return {"size": f"sizes {_listed(shares)}"}
    return {
        "read sizes": f"read sizes {_listed(reads)}",
        "write sizes": f"write sizes {_listed(writes)}",
    }


def _listed(shares: Shares) -> str:
    """`4KiB..64KiB step 4KiB` where that says it, else each with its share."""
    sizes = [size_bytes for size_bytes, _ in shares]
    if len(shares) > SHORT_LIST and max(p for _, p in shares) - shares[0][1] < 1e-6:
        first, last, step = (
            make("size", one).text for one in (sizes[0], sizes[-1], sizes[1] - sizes[0])
        )
        if sizes == list(range(sizes[0], sizes[-1] + 1, sizes[1] - sizes[0])):
            return f"{first}..{last} step {step}"
    texts = (f"{make('size', b).text} {make('share', p).text}" for b, p in shares)
    return f"{{ {', '.join(texts)} }}"


RATES = (("rate_iops", "iops"), ("rate", "bandwidth"))
"""fio's two rates; of both in one job, the first holds."""


def _rate(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """A rate of each job; in iops before bytes, as fio has it."""
    for name, kind in RATES:
        if not job.has(name):
            continue
        found = _by_direction(job, name, findings)
        total = _total(job, name, shape, found, findings)
        if total:
            each = " each" if shape.threads > 1 else ""
            poisson = " poisson" if job.text("rate_process") == "poisson" else ""
            text = make("iops" if kind == "iops" else "bandwidth", total).text
            return {"rate": f"rate {text}{each}{poisson}"}
    return {}


def _by_direction(job: FioJob, name: str, findings: Findings) -> list[int | None]:
    """Sizes or counts for reads, writes and trims."""
    base = kb_base(job, findings)
    nothing: list[int | None] = [None] * 3

    def read(text: str) -> list[int | None]:
        return by_direction(text, lambda part: bytes_of(part, base))

    return job.read(name, read, nothing, findings)


def _total(
    job: FioJob, name: str, shape: Shape, rates: list[int | None], findings: Findings
) -> float:
    """Of reads and writes together; fio's are of each direction."""
    read, write, trim = (rate or 0 for rate in rates)
    if shape.trims:
        return trim or write
    if shape.read_percent in (0, 100):
        return read if shape.read_percent else write
    total, share = read + write, shape.read_percent
    if name == "rate" or abs(read * 100 - total * share) > total:
        findings.loss(
            f"{name} limits reads and writes each for itself; here the stream has one "
            f"rate, of which {share} % are reads",
            job.place(name),
            "write two streams, one that reads and one that writes, each with its rate",
        )
    return total


def _pause(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """Think time; of a job with a rate there is none in a plan."""
    us = job.read("thinktime", lambda t: time_us(t, seconds=False), 0, findings)
    if us <= 0:
        return {}
    if job.has("rate_iops") or job.has("rate"):
        findings.loss(
            "thinktime is left out: a stream has a rate or a pause",
            job.place("thinktime"),
            "keep one of both in the job",
        )
        return {}
    every = max(1, job.read("thinktime_blocks", whole, 1, findings))
    if not counts_issues(job, shape.qd, every):
        findings.loss(
            f"fio pauses when {every} I/Os are complete, with a queue depth of "
            f"{shape.qd}: some groups have {every} I/Os and others many more; a plan's "
            f"pause comes after {every} each time",
            job.place("thinktime_blocks", "thinktime"),
            "with thinktime_blocks_type=issue fio counts like a plan",
        )
    pause = make("time", us * 1000).text
    return {"pause": f"pause {pause} every {every}" if every > 1 else f"pause {pause}"}


def counts_issues(job: FioJob, qd: int, every: int) -> bool:
    """Whether fio's groups between two pauses are those of a plan.

    By default fio counts completions, and those that it waits for before a pause count
    for the next group. So each group but the first has as many I/Os as if issued ones
    were counted, unless more than a group's are outstanding.
    """
    by_issue = job.text("thinktime_blocks_type") == "issue"
    return by_issue or every == 1 or qd <= every


def _where(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """Where random I/O falls, and whether each block comes once before any again."""
    if shape.pattern != "random":
        return {}
    text = job.text("random_distribution", "random")
    if text.split(":")[0] != "random":
        clause = distribution(text.split(",")[0])
        if clause is None or "," in text:
            findings.loss(
                f"random_distribution={text} cannot be said: offsets are uniform",
                job.place("random_distribution"),
                "a plan knows zipf, pareto, normal and hotspots of the region",
            )
        return {"distribution": clause} if clause else {}
    has_map = (
        not truth(job.text("norandommap") or None) if job.has("norandommap") else True
    )
    if not has_map or len(shape.used_sizes) > 1:
        return {}
    if min(shape.random_percents) < 100:
        findings.loss(
            "fio draws no block twice; here offsets are drawn independently",
            job.place("percentage_random"),
            "with norandommap fio draws them as well",
        )
        return {}
    if shape.threads > 1:
        findings.loss(
            f"each of fio's {shape.threads} jobs visits each block once; here offsets "
            f"are drawn independently",
            job.place("numjobs"),
            "with norandommap fio draws them as well",
        )
        return {}
    return {"permuted": "permuted"}


def _random_shares(job: FioJob, reads: int, findings: Findings) -> tuple[int, int]:
    """How much of random I/O is random, in percent: of the reads, and of the writes.

    A direction that is not used is like the other.
    """
    found = _by_direction(job, "percentage_random", findings)
    read, write = (100 if share is None else share for share in found[:2])
    return (read if reads else write), (write if reads < 100 else read)


def _random_clauses(reads: int, writes: int) -> Clauses:
    if reads == writes:
        return {"random share": make("share", reads).text} if reads < 100 else {}
    shares = {"read random": reads, "write random": writes}
    return {
        slot: f"{slot} {make('share', one).text}"
        for slot, one in shares.items()
        if one < 100
    }


def _align(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """Offsets of random I/O are multiples of a direction's smallest size in fio."""
    if shape.pattern != "random":
        return {}
    found = _by_direction(job, "blockalign", findings)
    reads, writes = (min(size for size, _ in shares) for shares in shape.sizes)
    aligns = {found[0] or reads} if shape.read_percent else set()
    if shape.read_percent < 100:
        aligns.add(found[2 if shape.trims else 1] or writes)
    if aligns == shape.used_sizes or _aligned_each(job, shape):
        return {}
    if len(aligns) > 1:
        findings.loss(
            "fio aligns reads and writes each to its own; here all to the smaller",
            job.place("blockalign", "bssplit", "bsrange", "bs"),
        )
    return {"align": f"align {make('size', min(aligns)).text}"}


def _aligned_each(job: FioJob, shape: Shape) -> bool:
    """Whether each direction has one size, and is aligned to it."""
    one_size = all(len(shares) == 1 for shares in shape.sizes)
    return one_size and not job.has("blockalign")


def _data(job: FioJob, findings: Findings) -> Clauses:
    """What is written; fio's buffers are random unless something else is said."""
    clauses: Clauses = {}
    if job.has("buffer_pattern"):
        findings.loss(
            "buffer_pattern is left out: random data is written",
            job.place("buffer_pattern"),
            "a plan knows data zeros and data compressible",
        )
    if job.has("zero_buffers") and truth(job.text("zero_buffers") or None):
        return {"data": "data zeros"}
    compressible = job.read("buffer_compress_percentage", whole, 0, findings)
    if compressible:
        clauses["data"] = f"data compressible {compressible}%"
    dedup = job.read("dedupe_percentage", whole, 0, findings)
    if dedup:
        clauses["dedup"] = f"dedup {dedup}%"
    for name in ("fsync", "fdatasync"):
        every = job.read(name, whole, 0, findings)
        if every > 0:
            clauses["sync"] = f"sync every {every}"
    return clauses
