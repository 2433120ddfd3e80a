"""What ioplan adds to bdevperf: to the I/O of a mix, and to the time of a run.

    IOPLAN_SPDK_DIR=… python tests/benchmarks/spdk_costs.py [malloc:64MiB null:64MiB]

The cost of a mix is the CPU time of one I/O: bdevperf polls, so all of its core goes into
its I/O, and a machine with other work spoils a rate, but not this. bdevperf by hand, with
nothing stacked on its device and asked for nothing meanwhile, runs in turn with ioplan
(A B, B A, …). The overhead is what a session of short runs takes beyond the time that
they measure.
"""

from __future__ import annotations

import sys
import time
from math import exp, log
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from spdk_jobs import job

from ioplan.backends import TargetRequest
from ioplan.job import SECOND_NS, Job, Result
from ioplan_spdk import SpdkBackend
from ioplan_spdk.bdevperf.script import script_of
from ioplan_spdk.bdevperf.session import Session
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.program import program_path

OPTIONS = {"no_huge": True, "driver": "bdevperf"}
PAIRS, RUNS, DEPTH, READS = 5, 10, 32, 70


def mixed(target: str) -> Job:
    """Two seconds of it, looked at once a second."""
    return job(
        target,
        read_percent=READS,
        qd=DEPTH,
        run_ns=2 * SECOND_NS,
        interval_ns=SECOND_NS,
        read_only=False,
    )


def by_hand(target: str) -> float:
    """Nanoseconds of CPU time for an I/O of bdevperf."""
    options = SpdkOptions(no_huge=True)
    plain = script_of(job(target), options)
    with Session(program_path(), options, plain.run_on) as session:
        client = session.connect()
        session.configure(client, plain.calls)
        before = session.process.cpu()
        found = client.call("perform_tests", script_of(mixed(target), options).test)
        after = session.process.cpu()
    (one,) = found["results"]
    used_ns = after.user_ns + after.system_ns - before.user_ns - before.system_ns
    return used_ns / (one["iops"] * one["runtime"])


def results(target: str, *jobs: Job) -> list[Result]:
    """Runs of one open target."""
    drive = SpdkBackend().open(TargetRequest(path=target, writes=True, options=OPTIONS))
    found = []
    for asked in jobs:
        with drive.start(asked) as execution:
            last = list(execution)[-1]
        assert isinstance(last, Result), last
        found.append(last)
    drive.close()
    return found


def by_ioplan(target: str) -> tuple[float, float]:
    """The same of ioplan, and how long an I/O is in the layer."""
    (result,) = results(target, mixed(target))
    assert result.cpu
    ios = sum(part.ios for part in result.streams[0].directions.values())
    used_ns = result.cpu.user_ns + result.cpu.system_ns
    return used_ns / ios, result.facts.get("layer_ns", 0.0)


def mix(target: str) -> None:
    """One line: both, and the mean of the ratios of the pairs."""
    hand: list[float] = []
    ours: list[tuple[float, float]] = []
    for number in range(PAIRS):
        for is_hand in (True, False) if number % 2 else (False, True):
            if is_hand:
                hand.append(by_hand(target))
            else:
                ours.append(by_ioplan(target))
    ratios = [log(b / a) for a, (b, _) in zip(hand, ours, strict=True)]
    print(
        f"{target}: mix {READS}/{100 - READS}, qd {DEPTH}: {median(hand):.0f} ns of CPU "
        f"by hand, {median(ns for ns, _ in ours):.0f} by ioplan, ratio "
        f"{exp(fmean(ratios)):.3f}; {median(ns for _, ns in ours):.0f} ns in the layer"
    )


def overhead(target: str) -> None:
    """What a run of one second takes beyond it."""
    began = time.monotonic()
    done = results(target, *[job(target, read_only=True)] * RUNS)
    took_s = time.monotonic() - began - sum(one.run_ns for one in done) / SECOND_NS
    print(f"{target}: {took_s / RUNS:.3f} s beyond each of {RUNS} runs")


for name in sys.argv[1:] or ["malloc:64MiB", "null:64MiB"]:
    overhead(name)
    mix(name)
