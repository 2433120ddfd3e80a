"""A histogram in ticks, and the same in nanoseconds.

SPDK's layout is that of `measure.histogram`, 7 bits, but for the unit. The
middle of a bucket of ticks decides which bucket of nanoseconds its count goes to,
so a latency is off by 0.8 % at most, instead of 0.4 %.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ioplan.backends import (
    BITS,
    SECOND_NS,
    Bins,
    bucket_count,
    bucket_index,
    bucket_middles,
    no_bins,
)
from ioplan_spdk.rpc.client import BadReply, number

# What `-ll` prints at the end of a test: a table, percentiles, a histogram.
#
#     Job: PT1 (Core Mask 0x2)
#         1.194 -     1.200:    0.0001%  (        1)
#
# Edges are in microseconds, 128 buckets an octave; the percentage is cumulative.

START = re.compile(r"Running I/O for \d+ seconds")
JOB = re.compile(r"\s*Job: (?P<name>.+?) \(Core Mask 0x[0-9a-fA-F]+\)\s*")
PERCENTILE = re.compile(r"\s*(?P<percent>\d+\.\d+)% :\s*(?P<value>\d+\.\d+)us\s*")
BUCKET = re.compile(
    r"\s*(?P<low>\d+\.\d+) -\s*(?P<high>\d+\.\d+):\s*\d+\.\d+%\s*\(\s*(?P<n>\d+)\)\s*"
)

Bucket = tuple[float, float, int]
"""Lower and upper edge in microseconds, and how many I/Os."""


class JobText(Struct):
    """One job's figures in one test. A percentile is its bucket's upper edge."""

    name: str
    percentiles_us: dict[float, float] = {}
    buckets: list[Bucket] = []


def printed_jobs(text: str) -> list[list[JobText]]:
    """The jobs of each test that was started, in order; what is no figure is
    passed over, as bdevperf prints progress and notices in between."""
    parts = START.split(text)
    return [_jobs(part) for part in parts[1:]]


def _jobs(text: str) -> list[JobText]:
    """The jobs of one test. Each is named once above its percentiles, and again
    above its buckets, in the same order."""
    summary, _, histogram = text.partition("Latency histogram")
    _, _, summary = summary.partition("Latency summary")
    jobs = _named(summary)
    for job, again in zip(jobs, _named(histogram), strict=False):
        job.buckets = again.buckets
    return jobs


def _named(text: str) -> list[JobText]:
    jobs: list[JobText] = []
    for line in text.splitlines():
        if found := JOB.fullmatch(line):
            jobs.append(JobText(found["name"]))
        elif jobs:
            _take(jobs[-1], line)
    return jobs


def _take(job: JobText, line: str) -> None:
    if found := BUCKET.fullmatch(line):
        edges_us = float(found["low"]), float(found["high"])
        job.buckets.append((*edges_us, int(found["n"])))
    elif found := PERCENTILE.fullmatch(line):
        job.percentiles_us[float(found["percent"])] = float(found["value"])


MAX_TICKS = (1 << 63) - 1


def dense(reply: Any) -> Bins:
    """What `bdev_get_histogram` gave, in nanoseconds. Raises BadReply."""
    if number(reply, "bucket_shift") != BITS:
        raise BadReply(f"the histogram is not one of {BITS} bits")
    per_s = number(reply, "tsc_rate")
    counts = _counts(reply.get("histogram"))
    if per_s <= 0 or len(counts) > bucket_count():
        raise BadReply("the histogram has no tick rate, or too many buckets")
    index = np.flatnonzero(counts)
    return _in_ns(zip(index.tolist(), counts[index].tolist(), strict=True), per_s)


def printed(buckets: Sequence[Bucket], per_s: float) -> Bins:
    """What `-ll` printed, in nanoseconds.

    The edges are rounded to a nanosecond. The bucket of ticks that they stand for
    is found again, so that this and `dense` agree.
    """
    us_ticks = per_s / 1e6
    pairs = ((low + high) / 2 * us_ticks for low, high, _ in buckets)
    ticks = [min(round(middle), MAX_TICKS) for middle in pairs]
    return _in_ns(
        ((bucket_index(t), b[2]) for t, b in zip(ticks, buckets, strict=True)), per_s
    )


def _in_ns(pairs: Iterable[tuple[int, int]], per_s: float) -> Bins:
    """Counts by bucket of ticks, as counts by bucket of nanoseconds."""
    whole = no_bins()
    for bucket, count in pairs:
        middle_ns = round(bucket_middles()[bucket].item() * SECOND_NS / per_s)
        whole[bucket_index(min(middle_ns, MAX_TICKS))] += count
    return whole


def _counts(text: Any) -> Bins:
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise BadReply(f"the histogram is not base64: {error}") from None
    if len(raw) % 8:
        raise BadReply("the histogram is cut off")
    return np.frombuffer(raw, dtype="<i8").astype(np.int64)


def mean_ns(counts: Bins) -> float:
    """The mean of the buckets' middles; 0 without any."""
    index = np.flatnonzero(counts)
    total = int(counts.sum())
    return float(bucket_middles()[index] @ counts[index]) / total if total else 0.0


def shaped(shape: Bins, count: int, at_ns: float | None = None) -> Bins:
    """So many latencies distributed as those of another histogram, at that mean."""
    index = np.flatnonzero(shape)
    whole = no_bins()
    if not len(index) or count <= 0:
        return whole
    whole[index] = apportioned(shape[index], count)
    return whole if at_ns is None else _moved(whole, at_ns)


def _moved(counts: Bins, at_ns: float) -> Bins:
    """All latencies longer or shorter by one factor, so that this is the mean."""
    index = np.flatnonzero(counts)
    factor = at_ns / max(0.5, mean_ns(counts))
    whole = no_bins()
    pairs = zip(bucket_middles()[index].tolist(), counts[index].tolist(), strict=True)
    for middle_ns, count in pairs:
        whole[bucket_index(round(middle_ns * factor))] += count
    return whole


def within(counts: Bins, low_ns: int, high_ns: int) -> Bins:
    """The counts, with what lies outside in the outermost buckets inside.

    A bucket's middle may lie beyond the extremes, which are exact.
    """
    low, high = bucket_index(low_ns), bucket_index(max(low_ns, high_ns))
    whole = no_bins()
    whole[low : high + 1] = counts[low : high + 1]
    whole[low] += counts[:low].sum()
    whole[high] += counts[high + 1 :].sum()
    return whole


def apportioned(weights: Bins, count: int) -> Bins:
    """Whole numbers in proportion to the weights that add up to `count`."""
    exact = weights * (count / int(weights.sum()))
    floors: Bins = np.floor(exact).astype(np.int64)
    left = count - int(floors.sum())
    floors[np.argsort(floors - exact, kind="stable")[:left]] += 1
    return floors


def squares_ns2(counts: Bins, ios: int, sum_ns: int) -> float:
    """The sum of squares: the buckets' scatter around the exact mean."""
    index = np.flatnonzero(counts)
    if not ios:
        return 0.0
    middles = bucket_middles()[index]
    total = int(counts.sum())
    scatter = 0.0
    if total:
        mean = float(middles @ counts[index]) / total
        scatter = float((middles - mean) ** 2 @ counts[index]) * ios / total
    return scatter + sum_ns * sum_ns / ios
