"""What I/O a backend does: which way, how large, where, how many, how long."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ioplan.backends import Drive, JobStream
from ioplan.job import Job, Progress, Result
from ioplan_testing.checks import (
    bytes_of,
    check_aligned,
    check_covered,
    check_depth,
    check_duration,
    check_inside,
    check_share,
    check_sizes,
    check_written,
    ios_of,
    of,
    result_of,
)
from ioplan_testing.subject import (
    BLOCK_BYTES,
    SLACK_NS,
    WORK_BYTES,
    Subject,
    sizes,
    stream,
)

START_S = 3.0
"""How long a backend's program may take to begin and to end."""


class Load(Subject):
    """Tests of the I/O."""

    @pytest.mark.parametrize("read_percent", [0, 30, 100])
    def test_reads_have_their_share(self, read_percent: int, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            mixed = stream(drive.facts, read_percent=read_percent, qd=4)
            result = result_of(self.done(drive, self.job(drive.facts, mixed)))
        reads = of(result.streams[0], "read").ios
        check_share("reads", reads, ios_of(result), read_percent, slack=4)
        assert bytes_of(result) == ios_of(result) * BLOCK_BYTES

    def test_sizes_have_their_shares(self, tmp_path: Path) -> None:
        split = sizes(b4096=60, b8192=30, b65536=10)
        with self.drive(tmp_path) as drive:
            one = stream(drive.facts, read_sizes=split, align_bytes=BLOCK_BYTES, qd=4)
            result = result_of(self.done(drive, self.job(drive.facts, one)))
        check_sizes("reads", of(result.streams[0], "read"), split, slack=4)

    def test_directions_have_their_own_sizes(self, tmp_path: Path) -> None:
        own = {"read_sizes": sizes(b4096=100), "write_sizes": sizes(b16384=100)}
        with self.drive(tmp_path) as drive:
            one = stream(drive.facts, read_percent=50, align_bytes=BLOCK_BYTES, **own)
            result = result_of(self.done(drive, self.job(drive.facts, one)))
        (found,) = result.streams
        check_sizes("reads", of(found, "read"), own["read_sizes"], slack=0)
        check_sizes("writes", of(found, "write"), own["write_sizes"], slack=0)

    @pytest.mark.parametrize("pattern", ["random", "sequential"])
    def test_offsets_lie_in_the_region(self, pattern: str, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            end = drive.facts.capacity_bytes // 8192 * 4096
            part = {"region_start_bytes": end // 2, "region_end_bytes": end}
            one = stream(
                drive.facts, pattern=pattern, read_percent=0, qd=4, threads=2, **part
            )
            asked = self.exactly(self.job(drive.facts, one))
            before = self.stored(drive)
            result_of(self.run(drive, asked))
            check_inside(before, self.stored(drive), end // 2, end)

    def test_offsets_are_aligned(self, tmp_path: Path) -> None:
        """With few enough I/Os that a crooked one shows."""
        size = 16384
        with self.drive(tmp_path) as drive:
            one = stream(drive.facts, read_percent=0, write_sizes=sizes(b16384=100))
            asked = self.exactly(self.job(drive.facts, one, limit_bytes=64 * size))
            before = self.stored(drive)
            result = result_of(self.run(drive, asked))
            after = self.stored(drive)
        check_aligned(before, after, size)
        check_written(before, after, size, bytes_of(result))

    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("pattern", ["random", "sequential"])
    def test_a_pass_covers_every_block(
        self, pattern: str, threads: int, tmp_path: Path
    ) -> None:
        with self.drive(tmp_path) as drive:
            one = self._working(drive.facts.capacity_bytes, stream(drive.facts))
            one = one.model_copy(
                update={
                    "pattern": pattern,
                    "permuted": pattern == "random",
                    "read_percent": 0,
                    "threads": threads,
                }
            )
            asked = self.exactly(self.job(drive.facts, one, passes=1))
            before = self.stored(drive)
            result = result_of(self.run(drive, asked))
            after = self.stored(drive)
        end = one.region_end_bytes
        assert bytes_of(result) == end, f"a pass of {end} B wrote {bytes_of(result)} B"
        check_covered(before, after, 0, end, BLOCK_BYTES)

    def _working(self, capacity_bytes: int, one: JobStream) -> JobStream:
        end = min(WORK_BYTES, capacity_bytes // BLOCK_BYTES * BLOCK_BYTES)
        return one.model_copy(update={"region_end_bytes": end, "qd": 4})

    def test_a_limit_of_bytes_is_kept(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            one = stream(drive.facts, qd=4)
            asked = self.exactly(self.job(drive.facts, one, limit_bytes=WORK_BYTES))
            moved = bytes_of(result_of(self.run(drive, asked)))
        assert WORK_BYTES <= moved <= WORK_BYTES + 4 * BLOCK_BYTES, (
            f"{moved} B were moved, but {WORK_BYTES} B were asked"
        )

    @pytest.mark.parametrize(("qd", "threads"), [(4, 1), (8, 2)])
    def test_the_queue_depth_is_held(
        self, qd: int, threads: int, tmp_path: Path
    ) -> None:
        with self.drive(tmp_path) as drive:
            one = stream(drive.facts, qd=qd, threads=threads)
            asked = self.job(drive.facts, one, run_ns=2 * self.times.run_ns)
            self.calmly(lambda _: self._check_depth(drive, asked, qd * threads))

    def _check_depth(self, drive: Drive, asked: Job, outstanding: int) -> None:
        result = result_of(self.done(drive, asked))
        check_depth(result, outstanding, self.queue_depth_tolerance)

    def test_a_run_takes_its_time(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked = self.job(drive.facts, warmup_ns=self.times.warmup_ns)
            self.calmly(lambda _: self._check_time(drive, asked))

    def _check_time(self, drive: Drive, asked: Job) -> None:
        began_s = time.monotonic()
        result = result_of(self.done(drive, asked))
        took_s = time.monotonic() - began_s
        check_duration(result, self.times.run_ns, slack_ns=SLACK_NS)
        assert not result.stopped, "it says that somebody stopped it"
        if not self.backend().virtual_time:
            least_s = (self.times.run_ns + self.times.warmup_ns) / 1e9 - 0.02
            assert least_s <= took_s <= least_s + START_S, f"it took {took_s:.2f} s"

    def test_the_warm_up_is_left_out(self, tmp_path: Path) -> None:
        """If its I/Os counted, more would be outstanding than was asked."""
        with self.drive(tmp_path) as drive:
            asked = self.job(
                drive.facts, stream(drive.facts, qd=4), warmup_ns=2 * self.times.run_ns
            )
            self.calmly(lambda _: self._check_warmup(drive, asked))

    def _check_warmup(self, drive: Drive, asked: Job) -> None:
        events = self.done(drive, asked)
        result = result_of(events)
        assert isinstance(result, Result)
        check_duration(result, self.times.run_ns, slack_ns=SLACK_NS)
        check_depth(result, 4, 2 * self.queue_depth_tolerance)
        parts = [event for event in events if isinstance(event, Progress)]
        assert any(part.warmup for part in parts), "the warm-up was not told"
