"""A backend whose latencies are scripted, in virtual time: what a seek shall find in it
is known. `--option target=NAME` is one of `seek_targets`, `--option seed=N` its chance.
"""

import numpy as np
from seek_targets import CREDITS, TARGETS
from virtual import VirtualBackend, VirtualDrive, VirtualExecution

from ioplan.job import SECOND_NS, Progress, Result, Started
from ioplan.results.measure import bucket_index
from ioplan.results.measure.tally import StreamCountsBuilder

FAST_NS, SLOW_NS = 500_000, 2_000_000
"""What is not above the limit of 1 ms, and what is."""
CAPACITY_BYTES = 1 << 30


class ScriptedBackend(VirtualBackend):
    """Has one rated stream of reads."""

    name = "scripted"
    speaks = frozenset(("random", "size", "mix", "qd", "rate", "for", "warmup"))

    def open(self, request):
        return ScriptedDrive(request.path or "scripted", request.options)


class ScriptedDrive(VirtualDrive):
    """Of a target whose truth is known."""

    def __init__(self, path, options):
        super().__init__(path, CAPACITY_BYTES, serial="SCRIPTED")
        name = options["target"]
        self.target = CREDITS[name] if name in CREDITS else TARGETS[name][0]
        self.seed, self.runs = int(options["seed"]), 0

    def start(self, job):
        self.runs += 1
        rng = np.random.default_rng((self.seed, self.runs))
        rate = job.streams[0].rate
        assert rate and rate.iops
        length_s = job.interval_ns / SECOND_NS
        return ScriptedExecution(job, self.target.run(rate.iops, rng, length_s))


class ScriptedExecution(VirtualExecution):
    """A run: interval after interval, until its time is over or it is stopped."""

    def __init__(self, job, intervals):
        self.job, self.intervals = job, intervals

    def __iter__(self):
        job, t_ns = self.job, 0
        assert job.run_ns
        yield Started(mode="scripted")
        whole = StreamCountsBuilder(job.streams[0].name)
        while t_ns < job.run_ns and not self.stopped:
            part = counted(job.streams[0], *next(self.intervals))
            whole.merge(part)
            t_ns += job.interval_ns
            yield Progress(
                t_ns=t_ns, interval_ns=job.interval_ns, streams=(part.counts(),)
            )
        yield Result(run_ns=t_ns, stopped=self.stopped, streams=(whole.counts(),))


def counted(stream, above, total):
    """So many I/Os, some of them slow."""
    made = StreamCountsBuilder(stream.name)
    found = made.direction("read")
    for ios, latency_ns in ((total - above, FAST_NS), (above, SLOW_NS)):
        found.ios += ios
        found.bytes += ios * stream.read_sizes[0].size_bytes
        found.sum_ns += ios * latency_ns
        found.sum_sq_ns2 += float(ios * latency_ns**2)
        found.bins[bucket_index(latency_ns)] += ios
    found.min_ns = FAST_NS if above < total else SLOW_NS
    found.max_ns = SLOW_NS if above else FAST_NS
    return made


def install(folder):
    """What a path for modules needs to have it as a backend, as an installed package."""
    info = folder / "scripted-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: scripted\nVersion: 1\n"
    )
    entry = "[ioplan.backends]\nscripted = scripted:ScriptedBackend\n"
    (info / "entry_points.txt").write_text(entry)
    return folder
