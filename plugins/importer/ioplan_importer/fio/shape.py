"""What of a job decides on several clauses: pattern, mix, sizes, threads, depth."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from msgspec import Struct

from ioplan.language import MOST_IO_BYTES, make, size_text
from ioplan_fio.differences import depth_of
from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import KB_BASE, FioJob
from ioplan_importer.fio.numbers import (
    NumberFault,
    by_direction,
    bytes_of,
    is_plain_size,
    whole,
)
from ioplan_importer.fio.vocabulary import ONE_AT_A_TIME

# Lists of shares: `bssplit`, `bsrange`, and the distribution of random offsets.

Shares = tuple[tuple[int, float], ...]
"""Bytes and percent."""
MOST_RANGE = 1024
DEFAULTS = {"zipf": 1.1, "pareto": 0.2}
"""What fio takes where a distribution says no number."""


def size_shares(text: str, kb_base: int) -> Shares:
    """`4k/60:64k/40`; entries without a share divide the rest. Raises NumberFault."""
    pairs = [entry.partition("/")[::2] for entry in text.split(":") if entry.strip()]
    sizes = [bytes_of(size, kb_base) for size, _ in pairs]
    said = [_percent(share) if share.strip() else None for _, share in pairs]
    rest = 100 - sum(share or 0 for share in said)
    open_entries = said.count(None)
    if rest < 0:
        raise NumberFault(f"the shares of {text!r} are more than 100 %")
    each = rest // open_entries if open_entries else 0
    shares = [each if share is None else share for share in said]
    # what is missing goes to the largest, which fio looks at last
    largest = max(range(len(shares)), key=lambda i: (shares[i], i))
    shares[largest] += 100 - sum(shares)
    return _added_up(zip(sizes, shares, strict=True))


def _percent(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NumberFault(f"{text!r} is no share") from None


def _added_up(pairs: object) -> Shares:
    found: dict[int, float] = {}
    for size_bytes, share in pairs:  # type: ignore[attr-defined]
        found[size_bytes] = found.get(size_bytes, 0) + share
    return tuple((size, float(share)) for size, share in found.items() if share)


def range_sizes(text: str, kb_base: int) -> Shares:
    """`4k-64k`: the multiples of the smaller one, reversed ones are swapped.

    fio draws evenly from the smallest to the sum of both, rounds down to a multiple
    and cuts at the largest (get_next_buflen in io_u.c): equal shares where the largest
    is a multiple, else the last two differ. Raises NumberFault.
    """
    low, dash, high = text.partition("-")
    if not dash:
        raise NumberFault(f"{text!r} is no range such as 4k-64k")
    first, last = sorted((bytes_of(low, kb_base), bytes_of(high, kb_base)))
    if first <= 0 or last // first > MOST_RANGE:
        raise NumberFault(
            f"{text!r} is no range of at most {MOST_RANGE} multiples of its start"
        )
    found: defaultdict[int, int] = defaultdict(int)
    for drawn in range(first, first + last, first):
        found[min(drawn, last)] += min(first, first + last - drawn)
    shares = [round(100 * part / last, 9) for part in found.values()]
    shares[-1] = round(100 - sum(shares[:-1]), 9)
    return tuple(zip(found, shares, strict=True))


def distribution(text: str) -> str | None:
    """`zipf:1.2`, `pareto:0.2`, `normal:10`, `zoned:50/5:…` as a clause, or None."""
    kind, _, value = text.partition(":")
    try:
        if kind in DEFAULTS:
            return f"{kind} {float(value or DEFAULTS[kind]):g}"
        if kind in ("normal", "gauss"):
            return f"normal {float(value):g}%" if value else None
        return _zones(value) if kind == "zoned" else None
    except ValueError:
        return None


def _zones(text: str) -> str | None:
    """Shares of the I/Os and of the space; missing ones divide the rest."""
    pairs = [entry.partition("/")[::2] for entry in text.split(":")]
    columns = [_filled([pair[i] for pair in pairs]) for i in range(2)]
    if any(sum(column) != 100 for column in columns):
        return None
    texts = (
        f"{make('share', ios).text} in {make('share', space).text}"
        for ios, space in zip(*columns, strict=True)
    )
    return f"hotspots {{ {', '.join(texts)} }}"


def _filled(texts: list[str]) -> list[int]:
    said = [int(text) if text.strip() else None for text in texts]
    rest, missing = 100 - sum(one or 0 for one in said), said.count(None)
    return [rest // missing if one is None else one for one in said]


PATTERNS = {
    **{"read": ("sequential", 100), "write": ("sequential", 0)},
    **{"randread": ("random", 100), "randwrite": ("random", 0)},
    **{"trim": ("sequential", 0), "randtrim": ("random", 0)},
    **{"rw": ("sequential", None), "readwrite": ("sequential", None)},
    "randrw": ("random", None),
}
"""By `rw`: the pattern, and the share of reads where that is not rwmixread's."""
DEFAULT_BYTES = 4096
DECIMAL = re.compile(r"\d[kmgtp]ib", re.IGNORECASE)
"""Sizes that fio takes for powers of 1000, unless `kb_base=1000`."""
Sizes = tuple[Shares, Shares]
"""Sizes of reads, and of writes and discards; each in bytes and percent."""


class Refused(Exception):
    """A job that is left out; its reason is told already."""


class Shape(Struct, frozen=True):
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
    is_random, trims = pattern == "random" and any(shares), "trim" in word
    sizes = _sizes(job, trims, findings)
    return Shape(
        pattern="random" if is_random else "sequential",
        random_percents=shares if is_random else (100, 100),
        read_percent=read_percent,
        trims=trims,
        sizes=_discards(job, sizes, findings) if trims else sizes,
        threads=threads,
        qd=_depth(job, findings),
    )


def kb_base(job: FioJob, findings: Findings) -> int:
    """1024, or 1000 where the job says so."""
    return job.read(KB_BASE, _base, 1024, findings)


def _base(text: str) -> int:
    """Raises NumberFault."""
    if (number := whole(text)) not in (1000, 1024):
        raise NumberFault(f"{number} is neither 1000 nor 1024")
    return number


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
        findings.note(
            f"iodepth={qd} does nothing with ioengine={engine}, which does one I/O at "
            f"a time: written as qd 1",
            job.place("iodepth"),
            f"write qd {qd} if it was meant",
        )
        return 1
    if (depth := depth_of(engine, qd)) != qd:
        findings.note(
            f"before 3.39 fio's {engine} rounds iodepth={qd} up to {depth}: written as "
            f"qd {qd}",
            job.place("iodepth"),
            f"write qd {depth} for what such a fio did",
        )
    return qd


def _sizes(job: FioJob, trims: bool, findings: Findings) -> Sizes:
    """Sizes of reads, and of writes; of a job that discards, of its discards."""
    base = kb_base(job, findings)

    def read(parse: Callable[[str], Shares]) -> Callable[[str], Sizes]:
        def both(text: str) -> Sizes:
            found = by_direction(text, parse)
            default = ((DEFAULT_BYTES, 100.0),)
            return found[0] or default, found[2 if trims else 1] or default

        return both

    one: Sizes = (((DEFAULT_BYTES, 100.0),),) * 2
    for name in ("bs", "bsrange", "bssplit", "size", "io_size", "offset", "rate"):
        if job.has(name):
            _tell_odd_size(job, name, findings)
    one = job.read("bs", read(lambda t: ((bytes_of(t, base), 100.0),)), one, findings)
    one = job.read("bsrange", read(lambda t: range_sizes(t, base)), one, findings)
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
    text, base = job.text(name), kb_base(job, Findings())
    if base == 1024 and DECIMAL.search(text):
        findings.note(
            f"for fio the units of {name}={text} are powers of 1000",
            job.place(name),
            "write k, m, g for powers of 1024, or kb_base=1000, which swaps them",
        )
    elif name == "bs" and not all(map(is_plain_size, text.split(","))):
        findings.note(
            "fio reads a number up to the first character that is no digit",
            job.place(name),
        )


def amounts_of(job: FioJob, name: str, findings: Findings) -> list[int | None]:
    """Sizes or counts for reads, writes and trims."""
    base = kb_base(job, findings)
    nothing: list[int | None] = [None] * 3

    def read(text: str) -> list[int | None]:
        return by_direction(text, lambda part: bytes_of(part, base))

    return job.read(name, read, nothing, findings)


def _random_shares(job: FioJob, reads: int, findings: Findings) -> tuple[int, int]:
    """How much of random I/O is random, in percent: of the reads, and of the writes.

    A direction that is not used is like the other.
    """
    found = amounts_of(job, "percentage_random", findings)
    read, write = (100 if share is None else share for share in found[:2])
    return (read if reads else write), (write if reads < 100 else read)
