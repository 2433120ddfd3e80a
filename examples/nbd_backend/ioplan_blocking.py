"""A backend of blocking reads and writes: each outstanding I/O is a thread.

An author overrides `connect`, which returns one connection with `size_bytes`,
`read(offset, size)`, `write(offset, data)` and `close()`. Python costs 10 to 50 us for
each I/O, on one core for all threads.
"""

import os
import time
from contextlib import suppress
from errno import errorcode
from itertools import count
from math import inf
from random import Random
from threading import Lock, Thread

from ioplan.backends import (
    Availability,
    BackendError,
    Closing,
    Failure,
    Gap,
    Progress,
    Result,
    Started,
    StreamCountsBuilder,
    TargetError,
    TargetFacts,
    TargetFault,
    bucket_index,
    refusal,
    speaking,
    unspoken,
)

PATIENCE_S, GRACE_S, MAX_ERRORS = 30.0, 2.0, 1000


class BlockingBackend:
    name, version, virtual_time, block_bytes = "blocking", "", False, 512
    speaks = speaking(
        *("random", "sequential", "size", "sizes", "mix", "qd", "threads", "streams"),
        *("region", "align", "for", "bytes", "passes", "warmup"),
    )

    def connect(self, path, options):
        raise NotImplementedError(f"{type(self).__name__} does not override connect")

    def availability(self, options):
        return Availability(usable=True, version=self.version)

    def gaps(self, job, options):
        """A pass of drawn offsets would have to remember them."""
        reason = "it does not remember which blocks it has visited"
        drawn = [one for one in job.streams if one.pattern == "random"]
        return [
            Gap(stream=one.name, field="passes", reason=reason, instead="as many bytes")
            for one in drawn * bool(job.passes)
        ]

    def native(self, job, options):
        return job.model_dump_json(indent=2)

    def open(self, request):
        if not request.path:
            raise TargetError("no target: add --target PATH", TargetFault.NO_TARGET)
        allowed = (*request.overwrite, *request.overwrite_data)
        if request.writes and request.path not in allowed:
            text = (
                f"all on {request.path} would be lost; to allow that, add --overwrite"
            )
            raise TargetError(f"{text} '{request.path}'", TargetFault.NO_CONSENT)
        try:
            device = self.connect(request.path, request.options)
        except OSError as error:
            raise TargetError(f"cannot connect to {request.path}: {error}") from None
        device.close()
        capacity = device.size_bytes // self.block_bytes * self.block_bytes
        if not capacity:
            text = f"{request.path} is smaller than a block; use a larger one"
            raise TargetError(text, TargetFault.BELOW_BLOCK)
        known = {"capacity_bytes": capacity, "block_bytes": self.block_bytes}
        facts = TargetFacts(path=request.path, kind=self.name, **known)
        return BlockingDrive(self, facts, request.options)


class BlockingDrive:
    def __init__(self, backend, facts, options):
        self.backend, self.facts, self.options = backend, facts, options

    def start(self, job):
        return BlockingExecution(self, job)

    def purge(self, on_progress=None):
        raise BackendError(f"the backend {self.backend.name!r} cannot purge")

    def idle(self, pause_ns):
        time.sleep(pause_ns / 1e9)

    def close(self):
        pass


class Offsets:
    """Of one thread of a stream: its next I/Os, which its connections share."""

    def __init__(self, stream, thread, seed):
        self.stream, self.random = stream, Random(f"{seed} {stream.name} {thread}")
        self.lock, self.left_bytes = Lock(), inf
        self.start, self.end = stream.region_start_bytes, stream.region_end_bytes
        if stream.pattern == "sequential":  # each thread has its own part
            sizes = (*stream.read_sizes, *stream.write_sizes)
            unit = max(stream.align_bytes or 1, *(one.size_bytes for one in sizes))
            part = (self.end - self.start) // stream.threads // unit * unit
            self.start += thread * part
            if thread + 1 < stream.threads:
                self.end = self.start + part
        self.position = self.start

    def next(self):
        stream = self.stream
        way = "read" if self.random.random() * 100 < stream.read_percent else "write"
        sizes = stream.read_sizes if way == "read" else stream.write_sizes
        shares = [one.percent for one in sizes]
        size = self.random.choices(sizes, shares)[0].size_bytes
        align = stream.align_bytes or size
        first = -(-self.start // align) * align
        if stream.pattern == "random":
            places = (self.end - first - size) // align + 1
            return way, first + self.random.randrange(places) * align, size
        offset = -(-self.position // align) * align
        if offset >= self.end:
            offset = first
        size = min(size, self.end - offset)  # the last I/O of a pass is cut
        self.position = offset + size
        return way, offset, size


class Worker(Thread):
    """One I/O at a time on a connection of its own."""

    def __init__(self, run, number, offsets, device):
        super().__init__(daemon=True)
        self.run_, self.number, self.offsets = run, number, offsets
        self.device, self.done, self.failure = device, [], None

    def run(self):
        try:
            errors = 0
            while errors < MAX_ERRORS and (io := self.run_.next_io(self.offsets)):
                errors = 0 if self.perform(*io) else errors + 1
            if errors:
                raise ConnectionError(f"{errors} I/Os failed one after the other")
        except Exception as error:  # an author's code: anything may come
            self.failure = error

    def perform(self, way, offset, size):
        begin_ns, latency_ns = time.monotonic_ns(), -1
        try:
            if way == "read":
                self.device.read(offset, size)
            else:
                self.device.write(offset, os.urandom(size))
            latency_ns = time.monotonic_ns() - begin_ns
        except ConnectionError:
            raise
        except OSError as error:
            name = errorcode.get(error.errno or 0, str(error))
            where = {"direction": way, "offset": offset, "bytes": size}
            told = {"errno": error.errno, "name": name, **where}
            self.run_.first_error = self.run_.first_error or told
        self.done.append((time.monotonic_ns(), way, size, latency_ns))
        return latency_ns >= 0


class BlockingExecution(Closing):
    def __init__(self, drive, job):
        self.drive, self.job, self.workers = drive, job, []
        self.stopped, self.ending, self.first_error = False, False, {}
        self.lock, self.left_bytes = Lock(), job.limit_bytes or inf

    def next_io(self, offsets):
        """What a worker does next; the warm-up takes nothing from the limits."""
        now_ns = time.monotonic_ns()
        if self.stopped or self.ending or now_ns >= self.end_ns:
            return None
        with offsets.lock:
            warm = now_ns < self.measured_ns
            with self.lock:
                if min(offsets.left_bytes, self.left_bytes) <= 0 and not warm:
                    return None
                way, offset, size = offsets.next()
                if not warm:
                    offsets.left_bytes -= size
                    self.left_bytes -= size
            return way, offset, size

    def stop(self):
        self.stopped = True

    def kill(self):
        self.stop()
        self.hang_up()

    def close(self):
        self.stop()
        self.join(GRACE_S)
        self.hang_up()
        self.join(GRACE_S)

    def hang_up(self):
        for worker in self.workers:
            with suppress(OSError):
                worker.device.close()

    def join(self, within_s):
        until_s = time.monotonic() + within_s
        for worker in filter(Thread.is_alive, self.workers):
            worker.join(max(0.0, until_s - time.monotonic()))
        return sum(worker.is_alive() for worker in self.workers)

    def __iter__(self):
        backend, options = self.drive.backend, self.drive.options
        gaps = (*backend.gaps(self.job, options), *unspoken(self.job, backend.speaks))
        if failure := refusal(self.job, self.drive.facts, gaps):
            yield failure
            return
        try:
            self.connect()
        except (OSError, TargetError, BackendError) as error:
            yield Failure(cause="open", message=f"cannot connect: {error}")
            return
        yield Started(mode="blocking", facts={"connections": len(self.workers)})
        yield from self.events()

    def connect(self):
        for number, stream in enumerate(self.job.streams):
            for thread in range(stream.threads):
                offsets = Offsets(stream, thread, self.job.seed)
                own = offsets.end - offsets.start
                if stream.pattern == "random":
                    own //= stream.threads
                offsets.left_bytes = own * (self.job.passes or inf)
                for _ in range(stream.qd):
                    device = self.drive.backend.connect(
                        self.drive.facts.path, self.drive.options
                    )
                    self.workers.append(Worker(self, number, offsets, device))

    def events(self):
        names = [stream.name for stream in self.job.streams]
        self.total = [StreamCountsBuilder(name) for name in names]
        begin_ns = time.monotonic_ns()
        self.measured_ns = begin_ns + self.job.warmup_ns
        self.end_ns = self.measured_ns + (self.job.run_ns or inf)
        for worker in self.workers:
            worker.start()
        now_ns = begin_ns
        for edge_ns in self.edges(begin_ns):
            warm = now_ns < self.measured_ns
            over = self.wait(edge_ns)
            if not warm and (over or edge_ns >= self.end_ns):
                break
            if not over:
                since_ns = begin_ns if warm else self.measured_ns
                yield self.progress(edge_ns - since_ns, edge_ns - now_ns, warm)
                now_ns = edge_ns
        yield from self.last(max(now_ns, self.measured_ns))

    def edges(self, begin_ns):
        """When intervals end: those of the warm-up, then those of the measured part."""
        each_ns = self.job.interval_ns
        for number in count(1):
            edge_ns = min(begin_ns + number * each_ns, self.measured_ns)
            if edge_ns > begin_ns:
                yield edge_ns
            if edge_ns >= self.measured_ns:
                break
        for number in count(1):
            yield min(self.measured_ns + number * each_ns, self.end_ns)

    def wait(self, until_ns):
        """Wait for that time, or until all have ended; whether they have."""
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            busy = [one for one in self.workers if one.is_alive()]
            if not busy or self.stopped or any(one.failure for one in self.workers):
                return True
            busy[0].join(min(left_ns / 1e9, 0.05))
        return False

    def last(self, last_ns):
        stopped, self.ending = self.stopped, True
        failures = [one.failure for one in self.workers if one.failure]
        lost = self.join(GRACE_S if stopped or failures else PATIENCE_S)
        for failure in [one.failure for one in self.workers if one.failure]:
            gone = isinstance(failure, OSError)
            text = "the target is lost" if gone else "the backend failed"
            cause = "target-lost" if gone else "backend-error"
            yield Failure(cause=cause, message=f"{text}: {failure!r}")
            return
        now_ns = time.monotonic_ns()
        yield self.progress(now_ns - self.measured_ns, now_ns - last_ns, False)
        yield Result(
            run_ns=max(0, now_ns - self.measured_ns),
            stopped=stopped,
            streams=tuple(one.counts() for one in self.total),
            warnings=(f"{lost} I/Os did not come back",) * bool(lost),
            facts={"first_error": self.first_error} if self.first_error else {},
        )

    def progress(self, t_ns, interval_ns, warm):
        """What has ended since; what ends in the warm-up belongs to it."""
        until_ns = self.measured_ns if warm else inf
        parts = [StreamCountsBuilder(one.name) for one in self.total]
        for worker in self.workers:
            ready = [one for one in worker.done if one[0] <= until_ns]
            del worker.done[: len(ready)]
            for end_ns, *io in ready:
                if warm or end_ns > self.measured_ns:
                    add(parts[worker.number], *io)
        for total, part in zip(self.total, parts, strict=True):
            if not warm:
                total.merge(part)
        streams = tuple(part.counts() for part in parts)
        return Progress(
            t_ns=t_ns, interval_ns=interval_ns, warmup=warm, streams=streams
        )


def add(stream, way, size, latency_ns):
    """Count an I/O; a negative latency is that of an error."""
    counts = stream.direction(way)
    if latency_ns < 0:
        counts.errors += 1
        return
    counts.min_ns = min(counts.min_ns, latency_ns) if counts.ios else latency_ns
    counts.max_ns = max(counts.max_ns, latency_ns)
    counts.ios += 1
    counts.bytes += size
    counts.sum_ns += latency_ns
    counts.sum_sq_ns2 += latency_ns**2
    counts.bins[bucket_index(latency_ns)] += 1
