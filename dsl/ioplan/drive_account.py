"""The account of a drive's state: what was written where, in which order, how often.

It is kept by the bytes that streams really moved, and by the law of their offsets: a
sequential stream writes its part from the start, a permuted one visits each block once
a pass, and independent draws leave a share e^-n of the blocks unwritten after n passes
(the expectation of the coupon collector's problem: each of N blocks is missed n N times
with the chance (1 - 1/N)^(n N)). Skewed draws leave the mean of e^-n over the blocks,
each with its own n.

The drive is kept as extents of alike history, at most `MOST_EXTENTS`: memory is
constant, and the ends of sequential writes are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import erf, exp, log, sqrt
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ioplan.job_stream import JobStream
from ioplan.workload import Hotspots, Normal, Pareto, Zipf

MOST_EXTENTS = 4096
BELL_PARTS = 64
"""So many parts of a region, each with one density, stand for a bell."""
RANKS = 256
"""So many ranks, evenly in their logarithm, stand for all of a skewed distribution."""


class Moved(NamedTuple):
    """Bytes of one stream on one target."""

    read: float = 0.0
    written: float = 0.0
    trimmed: float = 0.0

    @property
    def all(self) -> float:
        return self.read + self.written + self.trimmed


class Extent(Struct, frozen=True, array_like=True):
    """A part of the drive, to `end_bytes`, whose blocks have a history in common.

    `blank` is the share that was never written since the account began, or trimmed;
    `soft` how much of the extent the data written last compresses or repeats away;
    `plain` is the share of blocks that nothing has written at random since they were
    last written in order, and `turns` are such writes per block; `passes` are all
    writes per block.
    """

    end_bytes: int
    blank: float = 1.0
    soft: float = 0.0
    plain: float = 1.0
    turns: float = 0.0
    passes: float = 0.0

    def mean(self, other: Extent, share: float) -> Extent:
        """The mean history of this and the next extent, which has a share of both."""
        return Extent(
            other.end_bytes,
            self.blank + share * (other.blank - self.blank),
            self.soft + share * (other.soft - self.soft),
            self.plain + share * (other.plain - self.plain),
            self.turns + share * (other.turns - self.turns),
            self.passes + share * (other.passes - self.passes),
        )

    def hit(self, law: Law) -> Extent:
        """With the writes and trims of a law."""
        left = law.left
        return Extent(
            self.end_bytes,
            law.trimmed_share + (self.blank - law.trimmed_share) * left,
            self.soft * left + law.soft * (1 - law.trimmed_share) * (1 - left),
            1.0 if law.in_order else self.plain * left,
            0.0 if law.in_order else self.turns + law.passes,
            self.passes + law.passes,
        )


class Law(NamedTuple):
    """What writes do to the blocks of a part: the share of them that none meets is
    `left`; of the others, `trimmed_share` were trimmed last."""

    start_bytes: int
    end_bytes: int
    left: float
    passes: float
    trimmed_share: float = 0.0
    soft: float = 0.0
    in_order: bool = False


class DriveAccount(Struct, frozen=True):
    """The extents in their order. `since` says where it begins: `purge`; `creation` of
    what was empty before; empty where the drive's earlier history is not known.

    `skews` are passes by skewed distributions, which meet the same blocks again, and
    `traces` the places of replays.
    """

    capacity_bytes: int
    extents: tuple[Extent, ...]
    since: str = ""
    skews: dict[str, float] = {}
    traces: frozenset[str] = frozenset()

    @classmethod
    def begun(cls, capacity_bytes: int, since: str = "") -> DriveAccount:
        """Nothing is written yet, or nothing is known of what is."""
        return cls(capacity_bytes, (Extent(capacity_bytes),), since)

    @classmethod
    def of_file(
        cls, capacity_bytes: int, data: Iterable[tuple[int, int]]
    ) -> DriveAccount:
        """A file whose data is in these ranges, in their order; the rest are holes."""
        extents = list[Extent]()
        for start_bytes, end_bytes in data:
            extents += [Extent(start_bytes), Extent(end_bytes, 0.0)]
        extents.append(Extent(capacity_bytes))
        return cls(capacity_bytes, tuple(extents), "creation")._compact()

    def proven(self) -> DriveAccount:
        """Its random writes have become steady: no more of them would change it."""
        extents = (
            replace(one, plain=0.0, turns=max(1.0, one.turns)) for one in self.extents
        )
        return replace(self, extents=tuple(extents))

    # figures

    def part(self, start_bytes: int, end_bytes: int) -> Extent:
        """The mean history of a part."""
        length, sums, at = max(1, end_bytes - start_bytes), [0.0] * 5, 0
        for one in self.extents:
            common = min(one.end_bytes, end_bytes) - max(at, start_bytes)
            if common > 0:
                fields = one.blank, one.soft, one.plain, one.turns, one.passes
                sums = [
                    s + common / length * v for s, v in zip(sums, fields, strict=True)
                ]
            at = one.end_bytes
        return Extent(end_bytes, *sums)

    @property
    def drive(self) -> Extent:
        """The mean history of all of it."""
        return self.part(0, self.capacity_bytes)

    def unwritten(self, start_bytes: int, end_bytes: int) -> list[tuple[int, int]]:
        """The parts most of which were never written, in their order."""
        at, found = 0, list[tuple[int, int]]()
        for one in self.extents:
            begin, end = max(at, start_bytes), min(one.end_bytes, end_bytes)
            at = one.end_bytes
            if begin < end and one.blank > 0.5:
                if found and found[-1][1] == begin:
                    begin = found.pop()[0]
                found.append((begin, end))
        return found

    def may_hold(self, stream: JobStream) -> bool:
        """Whether replays may have written what a stream reads, wherever that is: of
        the places of a replay, whether itself or its footprint did."""
        if not stream.replay:
            return bool(self.traces)
        return _places(stream) in self.traces

    # writes

    def after(self, stream: JobStream, moved: Moved) -> DriveAccount:
        """With what a stream has moved in one run."""
        if not moved.written + moved.trimmed:
            return self
        account = self
        if stream.replay:
            account = replace(self, traces=self.traces | {_places(stream)})
        passes = (moved.written + moved.trimmed) / max(1, stream.region_bytes)
        before, key = 0.0, _skew(stream)
        if key:
            before = self.skews.get(key, 0.0)
            account = replace(account, skews=self.skews | {key: before + passes})
        for law in _laws(stream, moved, before):
            account = account._after_law(law)
        return account._compact()

    def _after_law(self, law: Law) -> DriveAccount:
        """The extents, cut at the edges of the part."""
        made, at = list[Extent](), 0
        for one in self.extents:
            edges = [at, *(e for e in law[:2] if at < e < one.end_bytes), one.end_bytes]
            for start, end in pairwise(edges):
                cut = replace(one, end_bytes=end)
                inside = law.start_bytes <= start and end <= law.end_bytes
                made.append(cut.hit(law) if inside else cut)
            at = one.end_bytes
        return replace(self, extents=tuple(made))

    def _compact(self) -> DriveAccount:
        """Neighbours of one history are joined; too many extents by two and two."""
        made = _joined(self.extents)
        while len(made) > MOST_EXTENTS:
            made = _by_two(made)
        return replace(self, extents=tuple(made))


def _by_two(extents: Sequence[Extent]) -> list[Extent]:
    """Each two neighbours as one, with the mean of their histories."""
    starts = [0, *(one.end_bytes for one in extents)]
    lengths = [b - a for a, b in pairwise(starts)]
    made = list[Extent]()
    for i in range(0, len(extents) - 1, 2):
        (one, other), (a, b) = extents[i : i + 2], lengths[i : i + 2]
        made.append(one.mean(other, b / (a + b)))
    return [*made, *extents[len(extents) // 2 * 2 :]]


def _joined(extents: Sequence[Extent]) -> list[Extent]:
    made, at = list[Extent](), 0
    for one in extents:
        if one.end_bytes <= at:
            continue
        at = one.end_bytes
        if made and replace(made[-1], end_bytes=one.end_bytes) == one:
            made.pop()
        made.append(one)
    return made


def _places(stream: JobStream) -> str:
    assert stream.replay
    digest = stream.replay.covers or stream.replay.digest
    edges = stream.region_start_bytes, stream.region_end_bytes
    return " ".join(map(str, (digest, stream.offsets, *edges)))


# The laws of a stream's offsets.


def _laws(stream: JobStream, moved: Moved, before: float) -> Iterator[Law]:
    """What a stream has done to the parts of its region; `before` are the passes of
    its skewed distribution so far."""
    edges = stream.region_start_bytes, stream.region_end_bytes
    soft, length = _softness(stream), max(1, edges[1] - edges[0])
    done = (moved.written + moved.trimmed) / length
    trimmed = moved.trimmed / (moved.written + moved.trimmed)
    written = moved.written / length
    if stream.replay:  # where its writes fell is not known
        yield Law(*edges, 1.0 if not trimmed else 0.0, written, float(trimmed > 0))
    elif stream.pattern == "sequential":
        yield from _in_order(stream, moved, soft)
    elif stream.permuted and stream.can_permute:
        yield Law(*edges, _unvisited(moved, length), written, trimmed, soft)
    elif stream.spare_percent is not None:
        left = max(0.0, 1 - done / (1 + stream.spare_percent / 100))
        yield Law(*edges, left if left > 1e-3 else 0.0, written, trimmed, soft, True)
    else:
        yield from _drawn(stream, done, written, trimmed, soft, before)


def _unvisited(moved: Moved, length: int) -> float:
    """The share of blocks that no write has met, where each is visited once a pass and
    some of the visits are reads."""
    share, visits = (moved.written + moved.trimmed) / moved.all, moved.all / length
    whole = int(visits)
    return (1 - share) ** whole * (1 - share * (visits - whole))


def _in_order(stream: JobStream, moved: Moved, soft: float) -> Iterator[Law]:
    """Each thread goes through its own part, from its start, in each run anew."""
    start, length = stream.region_start_bytes, stream.region_end_bytes
    length -= start
    changed = moved.written + moved.trimmed
    share, trimmed = changed / moved.all, moved.trimmed / changed
    parts = [start + length * i // stream.threads for i in range(stream.threads + 1)]
    for begin, end in pairwise(parts):
        size = max(1, end - begin)
        visits = moved.all / stream.threads / size
        whole = int(visits)
        edge = begin + round((visits - whole) * size)
        for a, b, times in ((begin, edge, whole + 1), (edge, end, whole)):
            if a < b and times:
                left, passes = (1 - share) ** times, share * (1 - trimmed) * times
                is_plain = share > 1 - 1e-9
                yield Law(a, b, left, passes, trimmed, soft, is_plain)


def _drawn(
    stream: JobStream,
    done: float,
    written: float,
    trimmed: float,
    soft: float,
    before: float,
) -> Iterator[Law]:
    """Independent draws by the stream's distribution."""
    start, end = stream.region_start_bytes, stream.region_end_bytes
    match stream.distribution:
        case Hotspots(spots=spots):
            shares = [(one.space_percent, one.io_percent) for one in spots]
        case Normal(deviation_percent=deviation):
            shares = _bell(deviation / 100)
        case Zipf() | Pareto():
            left = missed(stream, before + done) / max(1e-12, missed(stream, before))
            yield Law(start, end, left, written, trimmed, soft)
            return
        case _:
            shares = [(1.0, 1.0)]
    space, ios = sum(s for s, _ in shares), sum(i for _, i in shares)
    at = 0.0
    for part, hits in shares:
        first, last = (
            start + round((end - start) * x / space) for x in (at, at + part)
        )
        at += part
        density = hits / ios / (part / space) if part else 0.0
        yield Law(first, last, exp(-done * density), written * density, trimmed, soft)


def _bell(deviation: float) -> list[tuple[float, float]]:
    """The share of space and of I/Os of each part, around the middle of the region."""
    edges = [i / BELL_PARTS for i in range(BELL_PARTS + 1)]
    below = [erf((x - 0.5) / deviation / sqrt(2)) for x in edges]
    return [(1 / BELL_PARTS, b - a) for a, b in pairwise(below)]


def missed(stream: JobStream, passes: float) -> float:
    """The share of blocks that skewed draws have not met after so many passes."""
    if not passes:
        return 1.0
    sizes = (*stream.read_sizes, *stream.write_sizes)
    size = stream.align_bytes or max(one.size_bytes for one in sizes)
    blocks = max(1, stream.region_bytes // size)
    return _mean_missed(stream, passes, blocks)


def _mean_missed(stream: JobStream, passes: float, blocks: int) -> float:
    """The mean of e^-(draws of a block) over all ranks, in steps of equal logarithm."""
    top = log(blocks)
    edges = sorted({min(blocks, round(exp(top * i / RANKS))) for i in range(RANKS + 1)})
    edges = [0, *edges]
    counts = [b - a for a, b in pairwise(edges)]
    weights = [_weight(stream, a, b, blocks) for a, b in pairwise(edges)]
    total, draws = sum(weights), passes * blocks
    return sum(
        count / blocks * exp(-draws * weight / total / count)
        for count, weight in zip(counts, weights, strict=True)
    )


def _weight(stream: JobStream, first: int, last: int, blocks: int) -> float:
    """How many of the draws fall on the ranks from `first` on and before `last`."""
    if isinstance(stream.distribution, Zipf):
        theta = stream.distribution.theta
        if last - first == 1:
            return float(last**-theta)
        low, high = first + 0.5, last + 0.5
        if abs(1 - theta) < 1e-6:
            return log(high / low)
        return float((high ** (1 - theta) - low ** (1 - theta)) / (1 - theta))
    assert isinstance(stream.distribution, Pareto)
    h = stream.distribution.h
    power = log(1 - h) / log(h)
    return float((last / blocks) ** power - (first / blocks) ** power)


def _skew(stream: JobStream) -> str:
    """What tells draws that meet the same blocks; empty for others."""
    is_skewed = isinstance(stream.distribution, Zipf | Pareto)
    if stream.pattern != "random" or stream.replay or not is_skewed:
        return ""
    edges = stream.region_start_bytes, stream.region_end_bytes
    return f"{stream.distribution.model_dump_json()} {edges}"


def _softness(stream: JobStream) -> float:
    """How much of what it writes a drive can compress or deduplicate away."""
    data = stream.data
    soft = {"random": 0.0, "zeros": 1.0}.get(data.kind, data.percent / 100)
    return 1 - (1 - soft) * (1 - stream.dedup_percent / 100)


# An account as text, in the store.


def account_text(account: DriveAccount) -> str:
    """One line of JSON."""
    return msgspec.json.encode(account).decode()


def account_of(text: str) -> DriveAccount | None:
    """The account of such a text; None of anything else."""
    try:
        return msgspec.json.decode(text.encode(), type=DriveAccount)
    except msgspec.MsgspecError:
        return None
