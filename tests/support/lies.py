"""More than a hundred ways in which a program may lie about a run, as changes of its true events.

As a program it stands between ioplan and the engine: `IOPLAN_ENGINE` names it,
`IOPLAN_TRUE_ENGINE` the engine, and `IOPLAN_LIE` which lie.
"""

import json
import os
import subprocess
import sys
from copy import deepcopy
from typing import Any

Event = dict[str, Any]

MIXED = "random 4KiB 70/30, qd 4 for 500ms"
READS = "random 4KiB 100/0, qd 4 for 500ms"
RATED = "random 4KiB 70/30, qd 8, rate 400 iops for 500ms"
PASS = "sequential 128KiB 0/100, qd 2, 1 pass"
SIZES = "random 100/0, sizes { 4KiB 50%, 64KiB 50% }, qd 2 for 500ms"
TWO = "pair for 500ms"
FLUSHED = "random 4KiB 0/100, qd 4, flush every 16 for 500ms"
PAUSED = "random 4KiB 100/0, qd 1, pause 5ms for 1s"
VERIFIED = "sequential 128KiB 100/0, verify for 500ms"
PHASED = (
    "random 4KiB 100/0, qd 8, burst 100ms of 200 iops as low, "
    "then 100ms of 800 iops as high for 1s"
)
BEFORE = """workload pair {
  a = random 4KiB 100/0, qd 2
  b = random 4KiB 0/100, qd 2
}
"""


def counts(event, *directions):
    """The counts of the streams in an interval or a result."""
    for stream in event.get("streams", ()):
        for direction, one in stream["directions"].items():
            if not directions or direction in directions:
                yield one


def is_result(event):
    return bool(event["event"] == "result")


def is_measured(event):
    return event["event"] == "progress" and not event.get("warmup")


def times(event, by):
    for name in ("run_ns", "t_ns", "interval_ns"):
        if name in event:
            event[name] = round(event[name] * by)
    for stream in event.get("streams", ()):
        for name in ("run_ns", "gap_ns"):
            if stream.get(name):
                stream[name] = round(stream[name] * by)


def bucket(ns):
    if ns < 128:
        return ns
    shift = ns.bit_length() - 8
    return ((shift + 1) << 7) + (ns >> shift) - 128


def lower(index):
    if index < 128:
        return index
    return ((index & 127) + 128) << ((index >> 7) - 1)


def rescaled(event, by):
    """All that is told of latencies, as if their unit were another."""
    for one in counts(event):
        for name in ("min_ns", "max_ns", "sum_ns"):
            one[name] = round(one[name] * by)
        one["sum_sq_ns2"] *= by * by
        pairs = zip(one["bins"][::2], one["bins"][1::2], strict=True)
        found = {}
        for index, count in pairs:
            ns = (lower(index) + lower(index + 1)) // 2
            found[bucket(round(ns * by))] = found.get(bucket(round(ns * by)), 0) + count
        one["bins"] = [number for pair in sorted(found.items()) for number in pair]


def multiplied(event, by, *names):
    for one in counts(event):
        for name in names:
            if name == "bins":
                one["bins"][1::2] = [count * by for count in one["bins"][1::2]]
            else:
                one[name] = one[name] * by


ALL = ("ios", "bytes", "sum_ns", "sum_sq_ns2", "bins")


def more(by, *names):
    return lambda event: multiplied(event, by, *(names or ALL))


def unit(by):
    return lambda event: rescaled(event, by)


def everywhere(change):
    """In each measured interval and in the result."""
    return lambda event: (
        change(event) if is_result(event) or is_measured(event) else None
    )


def at_end(change):
    """In the result alone."""
    return lambda event: change(event) if is_result(event) else None


def in_parts(change):
    """In the measured intervals alone."""
    return lambda event: change(event) if is_measured(event) else None


def setting(**values):
    def change(event):
        for one in counts(event):
            one.update({n: deepcopy(v) for n, v in values.items()})

    return change


def of_event(**values):
    return lambda event: event.update(values)


def of_streams(**values):
    def change(event):
        for stream in event["streams"]:
            stream.update(values)

    return change


def of_one(*direction, **by):
    def change(event):
        for one in counts(event, *direction):
            for name, factor in by.items():
                one[name] = round(one[name] * factor)

    return change


def scaled(by, name):
    return of_one(**{name: by})


def added(name, amount):
    def change(event):
        for one in counts(event):
            one[name] += amount

    return change


def moved(source, *targets):
    """What one direction did is told of others."""

    def change(event):
        for stream in event["streams"]:
            if one := stream["directions"].pop(source, None):
                for target in targets:
                    stream["directions"][target] = deepcopy(one)

    return change


def swapped(event):
    """Reads and writes change their names."""
    for stream in event["streams"]:
        by = stream["directions"]
        names = {"read": "write", "write": "read"}
        stream["directions"] = {names.get(d, d): one for d, one in by.items()}


def exchanged(event):
    """Two streams change their figures."""
    first, second = event["streams"]
    first["name"], second["name"] = second["name"], first["name"]
    event["streams"] = [second, first]


def another(event):
    event["streams"] = [
        *event["streams"],
        {**deepcopy(event["streams"][0]), "name": "x"},
    ]


def emptied(event):
    for stream in event["streams"]:
        stream["directions"] = {}


def in_bucket(place):
    """All I/Os are in one."""

    def change(event):
        for one in counts(event):
            one["bins"] = [one["bins"][place], one["ios"]]

    return change


def skipped(event):
    """One interval is left out, and the next one is twice as long."""
    if is_measured(event) and event["t_ns"] > 1.5 * event["interval_ns"]:
        first = event["t_ns"] < 2.5 * event["interval_ns"]
        return [] if first else [event]
    return [event]


def doubled(event):
    return [event, deepcopy(event)] if is_measured(event) else [event]


def warm(event):
    event["warmup"] = True


def cpu(by):
    def change(event):
        event["cpu"] = {"user_ns": int(by * 1e9), "system_ns": 0}

    return change


def mean_of_5_ms(event):
    for one in counts(event):
        one["sum_ns"] = one["ios"] * 5_000_000
        one["max_ns"] = max(one["max_ns"], 5_000_000)


def of_kind(direction, change):
    """A change of one direction alone, as if it were all."""

    def changed(event):
        for one in counts(event, direction):
            change({"streams": [{"directions": {direction: one}}]})

    return changed


def without(*directions):
    def change(event):
        for stream in event["streams"]:
            for direction in directions:
                stream["directions"].pop(direction, None)
            if "flush" in directions:
                stream["sync_ios"] = 0

    return change


def flushes(by):
    def change(event):
        of_kind("flush", lambda e: multiplied(e, by, *ALL))(event)
        for stream in event["streams"]:
            stream["sync_ios"] *= by

    return change


def in_first(event):
    """The first interval has what all have together; which is told at the end."""
    if is_measured(event):
        HELD.append(event)
        return []
    if not is_result(event) or not HELD:
        return [event]
    intervals = HELD.copy()
    HELD.clear()
    for one in intervals:
        emptied(one)
    intervals[0]["streams"] = [
        {"name": s["name"], "directions": deepcopy(s["directions"])}
        for s in event["streams"]
    ]
    return [*intervals, event]


HELD = []


def of_phases(change):
    def changed(event):
        for streams in event["phases"].values():
            change({"streams": streams})

    return changed


def threefold(event):
    multiplied(event, 3, *ALL)
    rescaled(event, 1 / 3)


def phases_exchanged(event):
    names = event["phases"]
    event["phases"] = dict(zip(names, reversed(names.values()), strict=True))


def wear(**values):
    told = {"source": "log", "span_s": 1.0, "host_written_bytes": 10**12}
    return of_event(wear=told | values)


def of_facts(targets):
    return lambda event: event.update(facts={**event["facts"], "targets": targets})


LIES = {
    # flushes and commits
    "no flush": (FLUSHED, everywhere(without("flush", "commit"))),
    "flushes twice": (FLUSHED, everywhere(flushes(2))),
    "commits without flushes": (FLUSHED, everywhere(without("flush"))),
    "commits tenfold": (FLUSHED, everywhere(of_kind("commit", more(10)))),
    "commits below flushes": (FLUSHED, everywhere(of_kind("commit", unit(0.01)))),
    "flushes of minutes": (FLUSHED, everywhere(of_kind("flush", unit(1e6)))),
    "flushes without bins": (FLUSHED, everywhere(of_kind("flush", setting(bins=[])))),
    "flushes counted half": (FLUSHED, at_end(lambda e: of_streams(sync_ios=e["streams"][0]["sync_ios"] // 2)(e))),
    "flushes that move bytes": (FLUSHED, everywhere(of_kind("flush", setting(bytes=4096)))),
    # of intervals alone
    "all in the first interval": (MIXED, in_first),
    "bins of intervals tenfold": (MIXED, in_parts(more(10, "bins"))),
    "bins of intervals in the first bucket": (MIXED, in_parts(in_bucket(0))),
    "squares of intervals 0": (MIXED, in_parts(setting(sum_sq_ns2=0.0))),
    "max of intervals half": (MIXED, in_parts(scaled(0.5, "max_ns"))),
    "min of intervals double": (MIXED, in_parts(scaled(2, "min_ns"))),
    # what is not known of the counts
    "verified more than was read": (VERIFIED, at_end(of_streams(verified_bytes=10**12))),
    "a gap of all the run": (PAUSED, at_end(of_streams(gap_ns=900_000_000))),
    "own time of a pause half": (PAUSED, at_end(of_streams(run_ns=400_000_000))),
    "no time for the pause": (PAUSED, everywhere(more(40))),
    "a backlog of all time": (RATED, at_end(of_streams(backlog_ios=10**9))),
    "latencies of a rate of days": (RATED, everywhere(unit(1e7))),
    "a byte in each interval": (SIZES, in_parts(added("bytes", 1))),
    "three passes at a third of the latency": (PASS, everywhere(threefold)),
    "what was written is below 0": (FLUSHED, at_end(wear(host_written_bytes=-1))),
    "the flash is below 0": (FLUSHED, at_end(wear(media_written_bytes=-1))),
    "a log of no time": (FLUSHED, at_end(wear(span_s=-1.0))),
    # phases and targets
    "phases tenfold": (PHASED, at_end(of_phases(more(10)))),
    "bytes of phases tenfold": (PHASED, at_end(of_phases(more(10, "bytes")))),
    "latencies of phases tenfold": (PHASED, at_end(of_phases(unit(10)))),
    "phases without bins": (PHASED, at_end(of_phases(setting(bins=[])))),
    "phases exchanged": (PHASED, at_end(phases_exchanged)),
    "phases of another stream": (PHASED, at_end(of_phases(of_streams(name="x")))),
    "targets that are a number": (READS, at_end(of_facts(5))),
    "targets of another stream": (READS, at_end(of_facts({"a": [{"name": "x", "directions": {}}]}))),
    "targets that were not asked": (READS, at_end(lambda e: of_facts({"a": deepcopy(e["streams"])})(e))),
    # no numbers
    "I/Os of 10^30": (MIXED, everywhere(setting(ios=10**30))),
    "bytes of 10^30": (MIXED, everywhere(setting(bytes=10**30))),
    "ends of 10^30": (MIXED, in_parts(of_event(t_ns=10**30))),
    "bins of 2^62": (MIXED, everywhere(more(2**62, "bins"))),
    "bins of 10^30": (MIXED, everywhere(more(10**30, "bins"))),
    "squares of no number": (MIXED, everywhere(setting(sum_sq_ns2=float("nan")))),
    "squares without end": (MIXED, everywhere(setting(sum_sq_ns2=float("inf")))),
    # time
    "run_ns half": (MIXED, at_end(lambda e: e.update(run_ns=e["run_ns"] // 2))),
    "run_ns 0": (MIXED, at_end(of_event(run_ns=0))),
    "run_ns negative": (MIXED, at_end(of_event(run_ns=-1))),
    "all times half": (MIXED, everywhere(lambda e: times(e, 0.5))),
    "all times tenfold": (MIXED, everywhere(lambda e: times(e, 10))),
    "result's times half": (MIXED, at_end(lambda e: times(e, 0.5))),
    "intervals' times half": (MIXED, in_parts(lambda e: times(e, 0.5))),
    "lengths doubled": (MIXED, in_parts(lambda e: e.update(interval_ns=e["interval_ns"] * 2))),
    "lengths 0": (MIXED, in_parts(of_event(interval_ns=0))),
    "ends doubled": (MIXED, in_parts(lambda e: e.update(t_ns=e["t_ns"] * 2))),
    "intervals twice": (MIXED, doubled),
    "an interval missing": (MIXED, skipped),
    "measured as warm-up": (MIXED, in_parts(warm)),
    "own time a tenth": (MIXED, at_end(of_streams(run_ns=50_000_000))),
    "own time tenfold": (MIXED, at_end(of_streams(run_ns=5_000_000_000))),
    "a gap of 0": (MIXED, at_end(of_streams(gap_ns=0))),
    "a gap of an hour": (MIXED, at_end(of_streams(gap_ns=3600 * 10**9))),
    "an hour of CPU": (MIXED, at_end(cpu(3600))),
    "CPU below 0": (MIXED, at_end(cpu(-1))),
    # counts
    "I/Os doubled in the result": (MIXED, at_end(more(2, "ios"))),
    "I/Os doubled": (MIXED, everywhere(more(2, "ios"))),
    "bytes doubled in the result": (MIXED, at_end(more(2, "bytes"))),
    "bytes doubled": (MIXED, everywhere(more(2, "bytes"))),
    "bytes halved": (MIXED, everywhere(scaled(0.5, "bytes"))),
    "bytes in between": (SIZES, everywhere(scaled(1.5, "bytes"))),
    "no bytes": (MIXED, everywhere(setting(bytes=0))),
    "all counts doubled in the result": (MIXED, at_end(more(2))),
    "all counts tenfold": (MIXED, everywhere(more(10))),
    "all counts of a rate doubled": (RATED, everywhere(more(2))),
    "all counts of a pass tenfold": (PASS, everywhere(more(10))),
    "an I/O more": (MIXED, at_end(added("ios", 1))),
    "a block more": (MIXED, at_end(added("bytes", 512))),
    "I/Os below 0": (MIXED, at_end(scaled(-1, "ios"))),
    "I/Os of two sizes below 0": (SIZES, at_end(scaled(-1, "ios"))),
    "nothing at all": (MIXED, everywhere(emptied)),
    "no intervals": (MIXED, lambda e: [] if is_measured(e) else [e]),
    "nothing in the result": (MIXED, at_end(emptied)),
    "nothing in the intervals": (MIXED, in_parts(emptied)),
    # latencies
    "mean of 5 ms": (MIXED, everywhere(mean_of_5_ms)),
    "sum doubled": (MIXED, everywhere(scaled(2, "sum_ns"))),
    "latencies in us": (MIXED, everywhere(unit(0.001))),
    "latencies of reads in us": (READS, everywhere(unit(0.001))),
    "latencies threefold": (MIXED, everywhere(unit(3))),
    "max doubled": (MIXED, at_end(scaled(2, "max_ns"))),
    "max halved": (MIXED, at_end(scaled(0.5, "max_ns"))),
    "min 0": (MIXED, at_end(setting(min_ns=0))),
    "min above max": (MIXED, everywhere(setting(min_ns=10**14))),
    "squares 0": (MIXED, at_end(setting(sum_sq_ns2=0.0))),
    "squares hundredfold": (MIXED, at_end(scaled(100, "sum_sq_ns2"))),
    # histograms
    "no bins in the result": (MIXED, at_end(setting(bins=[]))),
    "no bins": (MIXED, everywhere(setting(bins=[]))),
    "bins doubled": (MIXED, everywhere(more(2, "bins"))),
    "bins in the first bucket": (MIXED, at_end(in_bucket(0))),
    "bins in the last bucket": (MIXED, at_end(in_bucket(-2))),
    "bins of no layout": (MIXED, at_end(setting(bins=[10**9, 3]))),
    "half a pair": (MIXED, at_end(setting(bins=[1, 2, 3]))),
    # streams and directions
    "another stream": (MIXED, everywhere(another)),
    "another name": (MIXED, everywhere(of_streams(name="x"))),
    "another name in the result": (MIXED, at_end(of_streams(name="x"))),
    "a stream less": (TWO, everywhere(lambda e: e.update(streams=e["streams"][:1]))),
    "no streams": (MIXED, everywhere(of_event(streams=[]))),
    "streams exchanged": (TWO, everywhere(exchanged)),
    "streams exchanged in the result": (TWO, at_end(exchanged)),
    "reads as writes": (READS, everywhere(moved("read", "write"))),
    "writes too": (READS, everywhere(moved("read", "read", "write"))),
    "trims too": (READS, everywhere(moved("read", "read", "trim"))),
    "flushes too": (READS, everywhere(moved("read", "read", "flush"))),
    "commits too": (READS, everywhere(moved("read", "read", "commit"))),
    "reads alone": (MIXED, everywhere(moved("write"))),
    "reads and writes swapped": (MIXED, everywhere(swapped)),
    "reads and writes swapped in the result": (MIXED, at_end(swapped)),
    "flushes counted": (MIXED, everywhere(of_streams(sync_ios=5))),
    "a backlog without a rate": (MIXED, everywhere(of_streams(backlog_ios=5))),
    # of one part alone
    "reads doubled": (MIXED, everywhere(of_one("read", ios=2, bytes=2))),
    "writes a tenth in the result": (MIXED, at_end(of_one("write", ios=0.1))),
    "bytes of reads half": (MIXED, everywhere(of_one("read", bytes=0.5))),
    "sum of reads half": (MIXED, everywhere(of_one("read", sum_ns=0.5))),
    "max of reads half": (MIXED, everywhere(of_one("read", max_ns=0.5))),
    "min of writes tenfold": (MIXED, at_end(of_one("write", min_ns=10))),
    "errors below 0": (MIXED, everywhere(setting(errors=-1))),
    "errors in the result": (MIXED, at_end(setting(errors=3))),
    "errors in the intervals": (MIXED, in_parts(setting(errors=1))),
    "sum 0": (MIXED, everywhere(setting(sum_ns=0))),
    "sum negative": (MIXED, at_end(scaled(-1, "sum_ns"))),
    "max 0": (MIXED, everywhere(setting(max_ns=0))),
    "min negative": (MIXED, at_end(setting(min_ns=-5))),
    "all counts a tenth of a pass": (PASS, at_end(scaled(0.1, "ios"))),
    "bytes of a pass doubled": (PASS, everywhere(scaled(2, "bytes"))),
    "latencies of a pass tenfold": (PASS, everywhere(unit(10))),
    "latencies of sizes tenfold": (SIZES, everywhere(unit(10))),
    "counts of sizes tenfold": (SIZES, everywhere(more(10))),
    "counts of two doubled": (TWO, everywhere(more(2))),
    "run_ns of two half": (TWO, at_end(lambda e: times(e, 0.5))),
    "run_ns of a pass a tenth": (PASS, at_end(lambda e: times(e, 0.1))),
    "I/Os of a rate threefold": (RATED, everywhere(more(3, "ios"))),
    "a rate without intervals": (RATED, lambda e: [] if is_measured(e) else [e]),
    "a backlog below 0": (RATED, at_end(of_streams(backlog_ios=-5))),
    "a run twice as long": (MIXED, at_end(lambda e: e.update(run_ns=10**9))),
    "verified without a check": (MIXED, at_end(of_streams(verified_bytes=4096))),
}  # fmt: skip


def told(lie, event):
    """The event as the lie has it; it may be left out, or come twice."""
    made = LIES[lie][1](event)
    return made if isinstance(made, list) else [event]


def main():
    engine, lie = os.environ["IOPLAN_TRUE_ENGINE"], os.environ["IOPLAN_LIE"]
    command = [engine, *sys.argv[1:]]
    if "run" not in sys.argv[1:2]:
        os.execv(engine, command)
    with subprocess.Popen(command, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout
        for line in child.stdout:
            for event in told(lie, json.loads(line)):
                print(json.dumps(event), flush=True)
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
