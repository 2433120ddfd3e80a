"""What fio cannot say exactly, each named in the language's words.

Every fact here was seen on fio 3.33 or read in its source; the reason says what
differs, for a person who has to decide whether it matters.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ioplan.backends import Gap, Hotspots, Job, JobStream, Normal, Pareto, Zipf, counted
from ioplan.backends import size_text as quantity_text
from ioplan_fio.differences import depth_of, flush_gap
from ioplan_fio.replayed import MOST_IOS
from ioplan_fio.section import (
    US_NS,
    distribution_text,
    is_whole,
    pause_us,
    random_shares,
    rate_lines,
    size_text,
)
from ioplan_fio.streams import (
    Sizes,
    aligned,
    common_align,
    directions,
    extent,
    has_own_sizes,
    size_range,
    sizes,
    used_sizes,
)

PAUSE_ENDS_WITH_RUN, PAUSE_AFTER_WARMUP = (3, 34), (3, 35)
"""Since then ("fix runtime when used with thinktime", "Fix missing re-init thinktime
when using ramptime")."""
LATE_NO_WARMUP = (3, 42)
"""Since then ("time: Evaluate ramp up condition once per second")."""
START_NS, MILD_LATE = 100_000_000, 0.05
"""How late a delayed job may start, and what part of its time nobody minds."""
MAX_LATE_NS = 50_000_000
"""A run that ends so much later than asked is no other one."""
MAX_PAUSE_US = (1 << 31) - 1
MAX_SIZES = 64
MILD_SHARE = 0.001
"""The share of a region or of a pause that nobody could measure."""
SPDK = "spdk_bdev"
"""SPDK's plugin: its targets are devices, and it queues discards."""


class GapContext(Struct, frozen=True):
    """What decides on gaps beside the stream itself."""

    job: Job
    engine: str
    version: tuple[int, ...]

    @property
    def on_device(self) -> bool:
        """Told by the path, which is resolved: nothing is looked at here."""
        path = self.job.target
        return self.engine == SPDK or (
            path.startswith("/dev/") and not path.startswith("/dev/shm/")
        )


Found = (
    tuple[str, str, str]
    | tuple[str, str, str, str]
    | tuple[str, str, str, str, bool]
    | None
)
"""Field, reason, instead, the edit that makes it exact, where there is one, and
whether it is mild: see `Gap`."""


def find_gaps(context: GapContext) -> list[Gap]:
    """All gaps of a job, stream by stream."""
    found = (
        (s, check(context, s))
        for s in context.job.streams
        for check in (REPLAY_CHECKS if s.replay else CHECKS)
    )
    return [_gap(stream, *gap) for stream, gap in found if gap]


def _gap(
    stream: JobStream,
    field: str,
    reason: str,
    instead: str,
    edit: str = "",
    mild: bool = False,
) -> Gap:
    return Gap(
        stream=stream.name,
        field=field,
        reason=reason,
        instead=instead,
        edit=edit,
        mild=mild,
    )


def _replay(context: GapContext, stream: JobStream) -> Found:
    assert stream.replay
    if context.engine == SPDK:
        return "replay", "SPDK's fio plugin does not replay traces", ""
    if stream.pace == "after":
        return "after completion", "fio does not wait for completions of a trace", ""
    if stream.replay.ios > MOST_IOS:
        reason = f"fio has a trace in memory, and this one has {stream.replay.ios} I/Os"
        return "replay", f"{reason}; replay a part of it", ""
    if stream.trim_percent and not context.on_device:
        return "replay", "fio discards on block devices only, not in a file", ""
    has_fua = stream.replay.fua > 0 and not stream.fua
    lacking = "; its log has no FUA" * has_fua
    if stream.pace == "fast":
        waits = "; it waits for each discard" if stream.trim_percent else ""
        reason = f"{lacking}{waits}".removeprefix("; ")
        return ("replay", f"fio: {reason}", "without") if reason else None
    reason = (
        "fio waits from its last issue, so that errors add up, and sees completions "
        f"only when its queue is full or it issues again{lacking}"
    )
    instead = "read_iolog: late (the record says how much), latencies of its own clock"
    return "replay", reason, instead


def _is_mixed(stream: JobStream) -> bool:
    return {"read", "write"} <= set(directions(stream))


def _pattern(context: GapContext, stream: JobStream) -> Found:
    if stream.pattern == "random" or not _is_mixed(stream):
        return None
    reason = "fio keeps one position for its reads and another for its writes"
    instead = (
        "rw=rw: two sequential walks over the same region, each without a jump, where "
        "one walk would jump nowhere"
    )
    return "pattern", reason, instead, "", True


def _mix(context: GapContext, stream: JobStream) -> Found:
    if is_whole(stream.read_percent) or not _is_mixed(stream):
        return None
    reason = f"fio mixes in whole percents, not {stream.read_percent:g} %"
    reads = min(99, max(1, round(stream.read_percent)))
    return "mix", reason, f"rwmixread={reads}", f"{reads}/{100 - reads}"


def _trim(context: GapContext, stream: JobStream) -> Found:
    if not stream.trim_percent:
        return None
    if stream.trim_percent < 100:
        return "trim", "a fio job cannot mix discards with reads and writes", ""
    if not context.on_device:
        return "trim", "fio discards on block devices only, not in a file", ""
    if context.engine == "io_uring_cmd":
        return "trim", "fio's io_uring_cmd does not discard", ""
    if stream.qd > 1 and context.engine != SPDK:
        reason = f"fio waits for each discard, so that {stream.qd} are never under way"
        return "trim", reason, "one discard at a time in each thread", "qd 1"
    return None


def _size(context: GapContext, stream: JobStream) -> Found:
    shares = [sizes(stream, d) for d in directions(stream)]
    if all(size_range(one) for one in shares):
        return None
    if any(len(one) > MAX_SIZES for one in shares):
        return "size", f"fio supports at most {MAX_SIZES} sizes", ""
    if all(_whole_shares(one) for one in shares):
        return None
    reason = "fio supports only whole percents for shares of sizes"
    return "size", reason, "the nearest ones", "whole percents"


def _whole_shares(shares: Sizes) -> bool:
    return all(is_whole(share.percent) for share in shares)


def _align(context: GapContext, stream: JobStream) -> Found:
    used, align = used_sizes(stream), stream.align_bytes
    if stream.pattern == "random" and align is None and len(used) > 1:
        if has_own_sizes(stream):
            return _common_start(context, stream)
        # Jobs of one flow keep the shares, but not the queue depth, and a job that
        # waits for its turn reaps nothing (seen: latencies 4 to 8 times as long).
        reason = "fio aligns all sizes of a direction alike, not each to itself"
        align = common_align(stream) or used[0]
        instead = f"blockalign={size_text(align)} for all sizes"
        return "align", reason, instead, f"align {quantity_text(align)}"
    if stream.pattern == "sequential" and align and any(s % align for s in used):
        reason = "fio's sequential I/O has no gaps"
        return "align", reason, "each I/O begins where the last one ended"
    return None


def _common_start(context: GapContext, stream: JobStream) -> Found:
    """Reads and writes are aligned to their own sizes, from one place on."""
    start = extent(context.job, stream).start_bytes
    first = min(aligned(stream.region_start_bytes, s) for s in used_sizes(stream))
    if start == first:
        return None
    reason = "fio's reads and writes begin at one place, a multiple of both sizes"
    edit = f"align {quantity_text(used_sizes(stream)[0])}"
    left_out = start - first
    instead = f"the region's first {left_out} B skipped"
    is_mild = left_out <= stream.region_bytes * MILD_SHARE
    return "align", reason, instead, edit, is_mild


def _qd(context: GapContext, stream: JobStream) -> Found:
    depth = depth_of(context.engine, stream.qd, context.version)
    if depth != stream.qd:
        reason = (
            f"before 3.39 fio's {context.engine} rounds a queue depth of {stream.qd} "
            f"up to {depth}"
        )
        return "qd", reason, "", "--option engine=libaio, or fio 3.39 or newer"
    if context.engine != "psync" or stream.qd == 1:
        return None
    reason = "psync does one I/O at a time; choose the engine io_uring or libaio"
    return "qd", reason, "", "--option engine=io_uring"


def _rate(context: GapContext, stream: JobStream) -> Found:
    if stream.rate is None:
        return None
    if stream.rate.changes:
        return "rate", "fio keeps one rate all the time", ""
    if stream.rate.arrivals == "gamma":
        return (
            "rate",
            "fio's I/Os arrive evenly or as Poisson's, with no other gaps",
            "",
        )
    reason = (
        "fio counts a latency from the issue, and its logs do not tell the intended "
        "start either, so that a stalled target hides the I/Os that had to wait"
    )
    if stream.rate.arrivals == "poisson":
        reason += "; its Poisson pauses are cut to whole us, which raises the rate"
    elif stream.rate.iops is not None and len(used_sizes(stream)) > 1:
        reason += "; with several sizes its rate counts bytes, not I/Os"
    return "rate", reason, f"{', '.join(rate_lines(stream))}, latency from the issue"


def _pause(context: GapContext, stream: JobStream) -> Found:
    if not stream.pause_ns:
        return None
    if pause_us(stream) > MAX_PAUSE_US:
        return "pause", f"fio pauses for {MAX_PAUSE_US / 1e6:.0f} s at most", ""
    if pause_us(stream) * US_NS != stream.pause_ns:
        reason = f"fio pauses in whole us, not {stream.pause_ns:g} ns"
        us = pause_us(stream)
        is_mild = abs(us * US_NS - stream.pause_ns) <= stream.pause_ns * MILD_SHARE
        return "pause", reason, f"thinktime={us}us", f"pause {us}us", is_mild
    if stream.pause_ns > MAX_LATE_NS and context.version < PAUSE_ENDS_WITH_RUN:
        reason = "before 3.34 fio ends a run only after the pause that it is in"
        instead = f"a run of up to {pause_us(stream) / 1e6:g} s more"
        return "pause", reason, instead, "fio 3.34 or newer"
    return None


def _region(context: GapContext, stream: JobStream) -> Found:
    part = extent(context.job, stream).size_bytes
    if part >= used_sizes(stream)[-1]:
        return None
    reason = "no whole I/O fits into a thread's part once it is aligned"
    return "region", reason, ""


def _random_share(context: GapContext, stream: JobStream) -> Found:
    shares = [stream.drawn_percent(d) for d in directions(stream)]
    odd = next((one for one in shares if not is_whole(one)), None)
    if odd is None:
        return None
    near = random_shares(stream)
    reason = f"fio supports only whole percents of random I/O, not {odd:g} %"
    by_direction = stream.write_random_percent is not None
    if by_direction:
        return "read random", reason, f"percentage_random={near}", "whole percents"
    return "random share", reason, f"percentage_random={near}", f"random {near}%"


def _passes(context: GapContext, stream: JobStream) -> Found:
    """fio gives each thread an equal part; whole I/Os may be left at the end."""
    if context.job.passes is None:
        return None
    part, unit = extent(context.job, stream), used_sizes(stream)[-1]
    behind = part.start_bytes + part.size_bytes * stream.threads
    left = (stream.region_end_bytes - behind) // unit
    if not part.step_bytes or left < 1:
        return None
    reason = f"fio's {stream.threads} threads have equal parts of the region"
    return "passes", reason, f"the last {counted(left, 'block')} left out", "threads 1"


def _distribution(context: GapContext, stream: JobStream) -> Found:
    if stream.pattern == "sequential":
        return None
    instead = f"random_distribution={distribution_text(stream)}"
    match stream.distribution:
        case Zipf(theta=theta):
            reason = _scattered("fio does not support theta 1; and it " * (theta == 1))
            return "distribution", reason, instead, "", True
        case Pareto():
            return "distribution", _scattered(), instead, "", True
        case Normal():
            reason = (
                "fio's normal is the mean of 12 draws, some 8 % wide whatever is "
                "asked, and scattered over the region by a hash"
            )
            return "distribution", reason, "the bell in steps of whole percents, zoned"
        case Hotspots(spots=spots):
            parts = [p for s in spots for p in (s.io_percent, s.space_percent)]
            if not all(map(is_whole, parts)):
                reason = "fio supports only whole percents for zones"
                return "distribution", reason, instead, "whole percents"
    return None


def _scattered(before: str = "") -> str:
    return (
        f"{before or 'fio '}scatters the popular blocks by a hash that puts several "
        f"on one place and leaves a third of all blocks unused"
    )


def _data(context: GapContext, stream: JobStream) -> Found:
    if is_whole(stream.data.percent) or "write" not in directions(stream):
        return None
    reason = f"fio compresses in whole percents, not {stream.data.percent:g} %"
    whole = round(stream.data.percent)
    edit = f"data compressible {whole}%"
    return "data", reason, f"buffer_compress_percentage={whole}", edit


def _dedup(context: GapContext, stream: JobStream) -> Found:
    percent = stream.dedup_percent
    if is_whole(percent) or "write" not in directions(stream):
        return None
    reason = f"fio repeats data in whole percents, not {percent:g} %"
    whole = round(percent)
    return "dedup", reason, f"dedupe_percentage={whole}", f"dedup {whole}%"


def _sync(context: GapContext, stream: JobStream) -> Found:
    if stream.sync_every is None or "write" not in directions(stream):
        return None
    if context.engine == "io_uring_cmd":
        return "sync", "fio's io_uring_cmd does not flush", ""
    if context.engine == SPDK:  # seen: err=1 at the first fdatasync
        return "sync", "SPDK's fio plugin does not support flushes by fdatasync", ""
    gap = flush_gap(
        context.engine,
        stream.qd,
        mixed=_is_mixed(stream),
        waits=_waits(stream),
        version=context.version,
    )
    if gap is None:
        return None
    instead = f"fdatasync={stream.sync_every}, {gap.instead}"
    return "sync", gap.reason, instead, gap.edit


def _fua(context: GapContext, stream: JobStream) -> Found:
    if not stream.fua or context.engine not in ("io_uring_cmd", SPDK):
        return None
    return "fua", f"fio's {context.engine} opens no file with O_DSYNC", ""


def _waits(stream: JobStream) -> bool:
    return bool(stream.rate or stream.pause_ns)


def _verify(context: GapContext, stream: JobStream) -> Found:
    if not stream.verify:
        return None
    reason = (
        "fio verifies in a separate phase, not that reads return the data last "
        "written in the same run"
    )
    return "verify", reason, ""


def _starts(context: GapContext, stream: JobStream) -> Found:
    if not stream.starts_ns:
        return None
    if context.job.await_start:
        return "starts", "fio's jobs wait for all others where hosts start together", ""
    own_ns = stream.own_ns(context.job.run_ns or 0)
    reason = "fio looks every 0.1 s whether a delayed job is to start"
    instead = "it starts, and ends, up to 0.1 s late"
    return "starts", reason, instead, "", own_ns * MILD_LATE >= START_NS


def _limit(context: GapContext, stream: JobStream) -> Found:
    if context.job.limit_bytes is None or len(context.job.streams) == 1:
        return None
    reason = "fio counts the bytes of each stream by itself, not of all together"
    return "for", reason, "fio is stopped at its first report after the last byte"


def _warmup(context: GapContext, stream: JobStream) -> Found:
    if not context.job.warmup_ns:
        return None
    if context.job.passes is not None or context.job.limit_bytes is not None:
        reason = "fio counts the bytes of the warm-up towards those of the run"
        return "warmup", reason, ""
    if stream.pause_ns and context.version < PAUSE_AFTER_WARMUP:
        reason = "before 3.35, fio skips as many pauses as it made in the warm-up"
        return "warmup", reason, "", "fio 3.35 or newer"
    if stream.starts_ns and context.version >= LATE_NO_WARMUP:
        reason = (
            "since 3.42 fio gives no warm-up to a job that starts late, and a longer "
            "one to the others"
        )
        return "warmup", reason, "", "fio older than 3.42, or no warmup"
    return None


def _interval(context: GapContext, stream: JobStream) -> Found:
    if not context.job.exact_intervals or stream != context.job.streams[0]:
        return None
    reason = "fio tells the end of an interval to about 0.1 s"
    return "interval", reason, "intervals that end so much earlier or later"


REPLAY_CHECKS: tuple[Callable[[GapContext, JobStream], Found], ...] = (
    *(_replay, _qd, _data, _dedup, _fua, _starts, _interval),
)
CHECKS: tuple[Callable[[GapContext, JobStream], Found], ...] = (
    *(_pattern, _mix, _size, _qd, _rate, _pause, _region, _passes),
    *(_distribution, _random_share, _align, _data),
    *(_dedup, _trim, _sync, _fua, _verify, _starts, _limit, _warmup, _interval),
)
