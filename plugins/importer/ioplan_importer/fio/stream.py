"""A job's options as the clauses of one stream."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import MOST_IO_BYTES, SECTOR_BYTES, make, size_text
from ioplan_fio.differences import flush_gap
from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import (
    time_us,
    whole,
)
from ioplan_importer.fio.shape import Refused, Shape, Shares, amounts_of, distribution
from ioplan_importer.outline import Clauses

SHORT_LIST = 2


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
    clauses |= _rate(job, shape, findings)
    clauses |= _pause(job, shape, "rate" in clauses, findings)
    clauses |= _where(job, shape, findings) | _align(job, shape, findings)
    if shape.trims:
        clauses["trim"] = "trim 100%"
    elif reads < 100:
        clauses |= _data(job, findings)
        _tell_flushes(job, shape, findings)
    return clauses


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
"""fio's two rates."""


def _rate(job: FioJob, shape: Shape, findings: Findings) -> Clauses:
    """A rate of each job. fio takes one in I/Os or one in bytes, and no both."""
    if job.has("rate_iops") and job.has("rate"):
        findings.error(
            "fio refuses rate_iops and rate in one job; here rate is left out",
            job.place("rate"),
            "keep one of them",
        )
    for name, kind in RATES:
        if not job.has(name):
            continue
        found = amounts_of(job, name, findings)
        poisson = " poisson" if job.text("rate_process") == "poisson" else ""
        unit = kind
        if _has_several(shape):  # fio counts I/Os of the smallest size
            unit = "iops" if poisson else "bandwidth"
            found = _in_unit(shape, found, kind, unit)
        total = _total(job, name, shape, found, findings)
        if total:
            each = " each" if shape.threads > 1 else ""
            text = make("iops" if unit == "iops" else "bandwidth", total).text
            return {"rate": f"rate {text}{each}{poisson}"}
    return {}


def _has_several(shape: Shape) -> bool:
    """Whether a direction that is used has I/Os of several sizes."""
    reads, writes = shape.sizes
    return bool(
        (shape.read_percent and len(reads) > 1)
        or (shape.read_percent < 100 and len(writes) > 1)
    )


def _in_unit(
    shape: Shape, rates: list[int | None], kind: str, unit: str
) -> list[int | None]:
    """Rates of reads, writes and trims in I/Os or bytes, as I/Os of the smallest."""
    least = [min(size_bytes for size_bytes, _ in part) for part in shape.sizes]
    each = zip(rates, (*least, least[1]), strict=False)
    if kind == unit:
        return rates
    if unit == "bandwidth":
        return [rate and rate * size_bytes for rate, size_bytes in each]
    return [rate and rate // size_bytes for rate, size_bytes in each]


def _total(
    job: FioJob, name: str, shape: Shape, rates: list[int | None], findings: Findings
) -> float:
    """The rate of reads and writes together; fio's are of each direction."""
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


def _pause(job: FioJob, shape: Shape, rated: bool, findings: Findings) -> Clauses:
    """Think time; of a job with a rate there is none in a plan."""
    us = job.read("thinktime", lambda t: time_us(t, seconds=False), 0, findings)
    if us <= 0:
        return {}
    if rated:
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
            instead = "all are where the reads are" if clause else "offsets are uniform"
            findings.loss(
                f"random_distribution={text} cannot be said: {instead}",
                job.place("random_distribution"),
                "a plan knows zipf, pareto, normal and hotspots of the region",
            )
        if clause and clause.startswith("normal"):
            findings.loss(
                "fio's normal is some 8 % wide whatever is asked, and scattered over "
                f"the file by a hash; here it is one bell of {clause.split()[1]}",
                job.place("random_distribution"),
                "plans say where their I/O falls: hotspots { 80% in 20%, 20% in 80% }",
            )
        return {"distribution": clause} if clause else {}
    if job.is_on("norandommap") and job.text("random_generator") != "lfsr":
        return {}
    if len(shape.used_sizes) > 1:
        findings.loss(
            "fio draws no block twice; here offsets are drawn independently, as blocks "
            "of several sizes cannot all come once",
            job.place("bssplit", "bsrange", "bs"),
            "with norandommap fio draws them as well",
        )
        return {}
    aligns, block_bytes = amounts_of(job, "blockalign", findings), max(shape.used_sizes)
    if any(one % block_bytes for one in aligns if one):
        findings.loss(
            "fio draws no block twice; here offsets are drawn independently, as blocks "
            "that may overlap cannot all come once",
            job.place("blockalign"),
            "with norandommap fio draws them as well",
        )
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
    found = amounts_of(job, "blockalign", findings)
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
    compressible = job.read("buffer_compress_percentage", whole, 0, findings)
    if compressible:
        clauses["data"] = f"data compressible {compressible}%"
    dedup = job.read("dedupe_percentage", whole, 0, findings)
    if dedup:
        clauses["dedup"] = f"dedup {dedup}%"
    if writes_zeros(job, findings):
        clauses["data"] = "data zeros"
    if every := syncs_every(job, findings):
        clauses["sync"] = f"sync every {every}"
    return clauses | _durable(job, findings)


def _tell_flushes(job: FioJob, shape: Shape, findings: Findings) -> None:
    names = [one for one in ("fsync", "fdatasync") if job.has(one)]
    for reason in flushed_otherwise(job, shape):
        findings.loss(
            reason,
            job.place(*names),
            "give the job to fio: ioplan fio --pass-through",
        )


def flushed_otherwise(job: FioJob, shape: Shape) -> Iterator[str]:
    """In what fio's flushes of a job that writes differ from the plan's."""
    every = syncs_every(job, Findings())
    if not every:
        return
    waits = any(job.has(one) for one in ("thinktime", "rate", "rate_iops"))
    engine = job.text("ioengine", "psync").split(":")[0].strip()
    mixed = shape.read_percent > 0
    if gap := flush_gap(engine, shape.qd, mixed=mixed, waits=waits):
        yield f"{gap.reason}: fio is {gap.instead}"
    both = [job.read(one, whole, 0, Findings()) for one in ("fsync", "fdatasync")]
    if max(both) % every:
        yield (
            f"fio flushes after each {both[0]} and each {both[1]} writes; here after "
            f"each {every}"
        )


def writes_zeros(job: FioJob, findings: Findings) -> bool:
    """Whether zero_buffers counts: each of the others comes before it."""
    shares = ("buffer_compress_percentage", "dedupe_percentage")
    others = any(job.read(name, whole, 0, findings) for name in shares)
    is_asked = job.is_on("zero_buffers") and not job.has("buffer_pattern")
    return is_asked and not others


def _durable(job: FioJob, findings: Findings) -> Clauses:
    """`sync`: writes that are acknowledged only once they are durable."""
    asked = job.text("sync", "none")
    if asked in ("none", "0"):
        return {}
    if asked not in ("1", "sync", "dsync"):
        findings.error(f"sync={asked}: fio knows none, sync, dsync", job.place("sync"))
        return {}
    if asked != "dsync" and not job.text("filename").startswith("/dev/"):
        findings.loss(
            f"with sync={asked} each write to a file makes its times durable, too; "
            f"here only the data",
            job.place("sync"),
            "fio does the same with sync=dsync",
        )
    return {"fua": "fua"}


def syncs_every(job: FioJob, findings: Findings) -> int:
    """After so many writes there is a flush, of both kinds the more frequent; or 0."""
    found = (job.read(name, whole, 0, findings) for name in ("fsync", "fdatasync"))
    return min((every for every in found if every > 0), default=0)
