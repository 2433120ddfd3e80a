"""Judges of what a generator reports, by its own records: whatever else the machine does.

An I/O that waits for a CPU is slower, and rightly reported so. What no other program can
change is how the figures belong together; so a stall of the machine is no defect here.
"""

from pathlib import Path
from typing import NamedTuple

from ioplan.results.measure import bucket_index, bucket_range

MS = 1_000_000
OWN_NS = MS // 2
"""What the engine may add to an I/O."""
HELD = 0.02
"""A stamp is taken so soon after the one that it follows, as a part of the latency."""


class Seen(NamedTuple):
    """An I/O that came back in an interval of time, with a latency of a bucket."""

    interval_ns: tuple[int, int]
    latency_ns: tuple[int, int]


def seen_of(lines):
    """All reads of the engine's `progress` lines."""
    for line in lines:
        if line["event"] != "progress":
            continue
        interval_ns = (line["t_ns"] - line["interval_ns"], line["t_ns"])
        bins = line["streams"][0]["directions"].get("read", {"bins": []})["bins"]
        for index, count in zip(bins[::2], bins[1::2], strict=True):
            yield from [Seen(interval_ns, bucket_range(index))] * count


def farthest_from_due_ns(ios, gap_ns):
    """How far from its due time an I/O began, where one was due after each gap.

    What completes less its latency is when it began, or should have: in the order of
    time these are the due times, as near as the intervals tell.
    """
    earliest = sorted(one.interval_ns[0] - one.latency_ns[1] for one in ios)
    latest = sorted(one.interval_ns[1] - one.latency_ns[0] for one in ios)
    dues = [number * gap_ns for number in range(len(ios))]
    bounds = zip(earliest, dues, latest, strict=True)
    return max(max(low - due, due - high, 0.0) for low, due, high in bounds)


def check_due(ios, gap_ns):
    """Latencies count from when an I/O was due, and not from when it was issued."""
    far_ms = farthest_from_due_ns(ios, gap_ns) / MS
    assert far_ms < 1, f"a latency counts from {far_ms:.1f} ms beside the due time"


def reads(result):
    """The counts of the reads of the engine's `result`."""
    found = result["streams"][0]["directions"]["read"]
    return found


def slower_than(counts, latency_ms):
    """How many I/Os took longer."""
    bins = counts["bins"]
    pairs = zip(bins[::2], bins[1::2], strict=True)
    edge = bucket_index(int(latency_ms * MS))
    return sum(count for index, count in pairs if index > edge)


def check_under_way(counts, stall_ms, qd):
    """As many I/Os waited for the end of the stall as were under way at its start."""
    found = slower_than(counts, 0.9 * stall_ms)
    assert found == qd, f"{found} I/Os saw the stall, and {qd} were under way"


def check_stalled(counts, stall_ms, rate_iops):
    """Each I/O that was due in the stall waited for its end, and few can be issued then."""
    least_ms = 20.0
    due = int((stall_ms - least_ms) * rate_iops / 1000) - 1
    found = slower_than(counts, least_ms)
    assert found >= due, f"{found} I/Os saw the stall, in which {due} were due"


def check_arrived(stream, rate_iops):
    """Each I/O that was due was done, or is reported as one that had no turn."""
    done = stream["directions"]["read"]["ios"] + stream["backlog_ios"]
    asked = round(rate_iops * stream["run_ns"] / 1e9)
    assert done == asked, f"{done} I/Os arrived, and {asked} were due"


def check_held(counts, run_ns, qd):
    """Little's law: the latencies add up to what so many I/Os can wait in that time."""
    held = counts["sum_ns"] / run_ns
    assert abs(held - qd) <= HELD * qd, f"{held:.3f} I/Os were under way, not {qd}"


def check_run_time(result, asked_ns, took_ns):
    """A run is as long as asked, but for a late beginning, and no longer than it took."""
    run_ns, least_ns = result["run_ns"], asked_ns - waited_ns(result)
    assert least_ns <= run_ns <= took_ns, f"{least_ns} <= {run_ns} <= {took_ns} ns"


class Kernel(NamedTuple):
    """What the kernel counts of a device, by its own clock."""

    read_bytes: int
    waited_ns: int

    @classmethod
    def of(cls, path):
        """Now, since the device is there."""
        words = Path(f"/sys/block/{Path(path).name}/stat").read_text().split()
        return cls(512 * int(words[2]), MS * int(words[3]))

    def less(self, before):
        """What it has counted since."""
        return Kernel(*(now - then for now, then in zip(self, before, strict=True)))


def check_latencies(result, qd, least_ns, kernel):
    """Those of the device, and little of the engine but what it waited for a CPU."""
    counts = reads(result)
    assert counts["min_ns"] >= least_ns, f"{counts['min_ns']} ns are too few"
    check_held(counts, result["run_ns"], qd)
    assert counts["bytes"] == kernel.read_bytes, f"{counts['bytes']} B of {kernel}"
    added_ns = counts["sum_ns"] - kernel.waited_ns
    allowed_ns = counts["ios"] * OWN_NS + qd * waited_ns(result)
    assert -MS <= added_ns <= allowed_ns, f"the engine added {added_ns} ns"


def waited_ns(result):
    """How long the engine's thread waited for its CPU, as the kernel says."""
    (thread,) = result["facts"]["conditions"]["threads"].values()
    return float(thread["waited_percent"] / 100 * result["run_ns"])


def check_littles_law(iops, mean_ns, qd):
    """So many I/Os were under way, within a tenth."""
    held = iops * mean_ns / 1e9
    assert abs(held - qd) <= 0.1 * qd, f"{held:.2f} I/Os were under way"


def check_groups(group_ns, mean_ns, pause_ns, qd, every):
    """A group's time is its pause and its I/O, and its latencies have no pause in them."""
    assert mean_ns < pause_ns / 2, f"the mean latency is {mean_ns:.0f} ns"
    least_ns = pause_ns + mean_ns * max(1, every / qd) / 2
    most_ns = least_ns + mean_ns * every + MS
    assert least_ns < group_ns < most_ns, f"{least_ns} < {group_ns} < {most_ns} ns"


def check_known_latency(mean_ns, p50_ns, usual_ns):
    """Of a device that takes this time for all but its slowest I/Os."""
    assert mean_ns > 0.9 * usual_ns, "the mean is less than the device takes"
    assert abs(p50_ns - usual_ns) <= 0.2 * usual_ns, "the median is of another device"
