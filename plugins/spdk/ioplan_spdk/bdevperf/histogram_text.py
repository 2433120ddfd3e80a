"""What `-ll` prints at the end of a test: a table, percentiles, a histogram.

    Job: PT1 (Core Mask 0x2)
        1.194 -     1.200:    0.0001%  (        1)

Edges are in microseconds, 128 buckets an octave; the percentage is cumulative.
"""

from __future__ import annotations

import re

from msgspec import Struct

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
