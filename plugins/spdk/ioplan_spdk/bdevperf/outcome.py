"""What `perform_tests` says, and whether it is what was asked.

bdevperf ignores what it does not know or does not like (a `rw_percentage` of 0, a
misspelt name), and says "finished" of a test that a deleted device cut short. So
nothing is believed that is not compared.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ioplan.backends import SECOND_NS
from ioplan_spdk.rpc.client import BadReply, number

MIN_RUN = 0.98
"""A test that took less than this share of the time asked for was cut short."""


class UnsoundTest(Exception):
    """The test is not the one asked for. `cause` is a word for it."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class NotBegun(BadReply):
    """bdevperf was told to end before it had a job, and so has none to tell of."""


class Outcome(Struct, frozen=True):
    """The one job's figures. Extremes and mean are of the histogram's buckets."""

    status: str
    run_ns: int
    ios: int
    mean_ns: float
    min_ns: int
    max_ns: int


def checked_outcome(reply: Any, request: dict[str, Any], ended: bool) -> Outcome:
    """Check and take it. `ended` means that the test was told to end early.

    Raises BadReply for what is no reply of bdevperf's, UnsoundTest for a bad test.
    """
    results = reply.get("results") if isinstance(reply, dict) else None
    if ended and results == []:
        raise NotBegun("perform_tests gave no result")
    if not isinstance(results, list) or len(results) != 1:
        raise BadReply("perform_tests gave no result of exactly one job")
    (job,) = results
    if failed := int(number(job, "io_failed")) + int(number(job, "io_timeout")):
        raise UnsoundTest(
            "device-error", f"{failed} I/Os failed or were never answered"
        )
    _check_echo(job, request)
    _check_time(job, request, ended)
    return _outcome(job)


def _check_echo(job: dict[str, Any], request: dict[str, Any]) -> None:
    """What it did against what it was told."""
    for ours, theirs in (
        ("queue_depth", "queue_depth"),
        ("io_size", "io_size"),
        ("workload_type", "workload"),
        ("rw_percentage", "percentage"),
    ):
        if ours in request and str(job.get(theirs)) != str(request[ours]):
            raise UnsoundTest(
                "not-as-asked",
                f"bdevperf ran with {theirs} {job.get(theirs)}, not {request[ours]}",
            )


def _check_time(job: dict[str, Any], request: dict[str, Any], ended: bool) -> None:
    status, run_s = job.get("status"), number(job, "runtime")
    if ended:
        return
    if status == "terminated":
        raise UnsoundTest("terminated", "bdevperf was terminated from outside")
    if status != "finished":
        raise UnsoundTest("device-error", f"bdevperf reports that the test {status}")
    if run_s < request["time_in_sec"] * MIN_RUN:
        raise UnsoundTest(
            "ended-early",
            f"bdevperf reports that it finished, but after {run_s:.2f} s of "
            f"{request['time_in_sec']} s; the device disappeared",
        )
    if not number(job, "iops"):
        raise UnsoundTest("no-io", "no I/O completed; the target does not exist")


def _outcome(job: dict[str, Any]) -> Outcome:
    run_s = number(job, "runtime")
    ios = round(number(job, "iops") * run_s)
    extremes = (job.get("min_latency_us"), job.get("max_latency_us"))
    low_us, high_us = extremes if ios else (0, 0)  # without I/O, the least is 2^64
    return Outcome(
        status=str(job.get("status")),
        run_ns=round(run_s * SECOND_NS),
        ios=ios,
        mean_ns=number(job, "avg_latency_us") * 1000 if ios else 0.0,
        min_ns=int(number({"min_latency_us": low_us}, "min_latency_us") * 1000),
        max_ns=-int(-number({"max_latency_us": high_us}, "max_latency_us") * 1000 // 1),
    )
