"""Features of the language: what a backend calls exact is run and measured."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from ioplan.job import Job, Result, Started
from ioplan.workload import Distribution, Pareto, Zipf
from ioplan_testing.checks import (
    SIGMAS,
    changed,
    check_consistent,
    check_duration,
    check_share,
    ios_of,
    of,
    result_of,
)
from ioplan_testing.subject import (
    BLOCK_BYTES,
    DRAWS,
    SLACK_NS,
    SPREADS,
    Subject,
    feature_job,
)
from ioplan_witness.offsets import popularity

SPREAD_SIGMAS, PARTS = 6.0, 10
SHAPED_OFF = 0.02
"""A shaped pass may end so much earlier, as its last writes are all done."""


def check_spread(
    distribution: Distribution, before: bytes, after: bytes, draws: int
) -> None:
    """As many blocks have changed as so many draws change.

    A block of probability p is hit with 1 - (1 - p)^n. Where the popular blocks
    are is checked for those distributions that say it.
    """
    flags = changed(before, after, BLOCK_BYTES).astype(np.float64)
    hit = 1 - (1 - popularity(distribution, len(flags))) ** draws
    parts = 1 if isinstance(distribution, Zipf | Pareto) else PARTS
    pairs = zip(np.array_split(flags, parts), np.array_split(hit, parts), strict=True)
    for place, (found, expected) in enumerate(pairs):
        allowed = SPREAD_SIGMAS * sqrt(float((expected * (1 - expected)).sum())) + 2
        assert abs(found.sum() - expected.sum()) <= allowed, (
            f"{distribution.kind}: in part {place + 1} of {parts}, {draws} writes have "
            f"changed {found.sum():.0f} blocks, but {expected.sum():.0f} were to be "
            f"expected, give or take {allowed:.0f}"
        )


FEATURES = (
    *(
        "several streams",
        "rate",
        "rate poisson",
        "rate gamma",
        "hotspots",
        "zipf",
        "pareto",
    ),
    *("normal", "align", "data zeros", "data compressible", "dedup"),
    *("trim", "sync", "verify"),
    *("pause", "pause every"),
    "shaped",
)
"""What `Load` does not measure."""


class Seen(Struct, frozen=True):
    """A run, and the target before and after it, where that can be read."""

    job: Job
    result: Result
    before: bytes | None
    after: bytes | None


class Features(Subject):
    """A test for each of the features."""

    @pytest.mark.parametrize("feature", FEATURES)
    def test_what_it_calls_exact_is_so(self, feature: str, tmp_path: Path) -> None:
        self.calmly(lambda number: self._check_feature(feature, tmp_path / f"{number}"))

    def _check_feature(self, feature: str, folder: Path) -> None:
        folder.mkdir()
        with self.drive(folder) as drive:
            asked = self.exactly(feature_job(drive.facts, feature, self.times))
            before = self.content(drive.facts)
            events = self.run(drive, asked)
            after = self.content(drive.facts)
        result = result_of(events)
        assert isinstance(events[0], Started)
        check_consistent(events, asked)
        assert [one.name for one in result.streams] == [s.name for s in asked.streams]
        if asked.run_ns:
            check_duration(result, asked.run_ns, slack_ns=SLACK_NS)
        MEASURES.get(feature, _sound)(Seen(asked, result, before, after))


def _pause(seen: Seen) -> None:
    """A ceiling of one burst a pause, and latencies that leave the pause out."""
    (stream,) = seen.job.streams
    done = of(seen.result.streams[0], "read")
    bursts = seen.result.run_ns / stream.pause_ns + 1
    assert done.ios <= stream.pause_every * stream.threads * bursts, (
        f"{done.ios} I/Os are more than {bursts:.1f} bursts of {stream.pause_every}"
    )
    pauses_ns = (done.ios / stream.pause_every - 1) * stream.pause_ns
    assert done.sum_ns + pauses_ns <= seen.result.run_ns + SLACK_NS, (
        "the latencies and the pauses take longer than the run: latencies include them"
    )


def _shaped(seen: Seen) -> None:
    """One pass over the flash, in which each block is written."""
    (stream,) = seen.job.streams
    spare = (stream.spare_percent or 0.0) / 100
    expected = stream.region_bytes * (1 + spare)
    moved = of(seen.result.streams[0], "write").bytes
    assert abs(moved / expected - 1) <= SHAPED_OFF, (
        f"{moved} bytes are not {1 + spare:g} times the {stream.region_bytes} written"
    )
    if seen.before is None or seen.after is None:
        return
    flags = changed(seen.before, seen.after, BLOCK_BYTES)
    blocks = stream.region_bytes // BLOCK_BYTES
    assert flags[:blocks].all(), f"{(~flags[:blocks]).sum()} blocks were not written"


def _sound(seen: Seen) -> None:
    """Nothing more than holds of all runs."""


def _rate(seen: Seen) -> None:
    """1,000 IOPS; the deviation is the root of the count, times that of the gaps."""
    expected = 1000 * seen.result.run_ns / 1e9
    rate = seen.job.streams[0].rate
    drawn = rate is not None and rate.arrivals != "fixed"
    allowed = SIGMAS * rate.gap_variation * expected**0.5 if rate and drawn else 4
    found = ios_of(seen.result) + seen.result.streams[0].backlog_ios
    assert abs(found - expected) <= allowed, (
        f"{found} I/Os arrived, but {expected:.0f} were asked"
    )


def _trim(seen: Seen) -> None:
    trims = of(seen.result.streams[0], "trim").ios
    slack = seen.job.streams[0].qd
    check_share("trims", trims, ios_of(seen.result), 10, slack)


def _sync(seen: Seen) -> None:
    found, writes = seen.result.streams[0], of(seen.result.streams[0], "write").ios
    assert abs(found.sync_ios - writes / 32) <= 2, (
        f"{found.sync_ios} flushes came with {writes} writes, one in 32 was asked"
    )


def _verify(seen: Seen) -> None:
    (found,) = seen.result.streams
    assert not found.verify_errors, f"{found.verify_errors} blocks were called wrong"
    assert found.verified_bytes, "nothing was verified"


def _streams(seen: Seen) -> None:
    reader, writer = seen.result.streams
    assert of(reader, "read").ios and not of(reader, "write").ios
    assert of(writer, "write").ios and not of(writer, "read").ios


def _spread(seen: Seen) -> None:
    draws = ios_of(seen.result)
    assert draws == DRAWS, f"{draws} I/Os came of {DRAWS}"
    if seen.before is not None and seen.after is not None:
        (stream,) = seen.job.streams
        check_spread(stream.distribution, seen.before, seen.after, draws)


def _compressible(seen: Seen) -> None:
    """Half of each block compresses away, give or take a tenth."""
    if seen.before is None or seen.after is None:
        return
    flags = changed(seen.before, seen.after, BLOCK_BYTES)
    places = flags.nonzero()[0][:64] * BLOCK_BYTES
    blocks = [seen.after[at : at + BLOCK_BYTES] for at in places.tolist()]
    assert blocks, "nothing was written"
    share = sum(len(zlib.compress(one)) for one in blocks) / len(blocks) / BLOCK_BYTES
    assert 0.4 <= share <= 0.6, f"compressed, a block has {share:.0%} of its size"


def _dedup(seen: Seen) -> None:
    """Three of ten blocks are like another one, give or take one."""
    if seen.before is None or seen.after is None:
        return
    written = changed(seen.before, seen.after, BLOCK_BYTES).nonzero()[0] * BLOCK_BYTES
    blocks = [seen.after[at : at + BLOCK_BYTES] for at in written.tolist()]
    assert blocks, "nothing was written"
    share = 1 - len(set(blocks)) / len(blocks)
    assert 0.2 <= share <= 0.4, f"{share:.0%} of the blocks repeat another one"


MEASURES: dict[str, Callable[[Seen], None]] = {
    **dict.fromkeys(("rate", "rate poisson", "rate gamma"), _rate),
    "trim": _trim,
    "sync": _sync,
    "verify": _verify,
    "several streams": _streams,
    "data compressible": _compressible,
    "dedup": _dedup,
    **dict.fromkeys(("pause", "pause every"), _pause),
    **dict.fromkeys(SPREADS, _spread),
    "shaped": _shaped,
}
