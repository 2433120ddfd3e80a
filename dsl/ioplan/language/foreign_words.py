"""Words of fio, of vdbench and of other languages, each with what is true here.

The clause table has fio's words for its clauses; here are the others: what a plan does
not say, what another statement says, and what ioplan cannot do.
"""

from __future__ import annotations

import re

from ioplan.language.clause_table import FIO_WORDS
from ioplan.language.quantity import QuantityError, parse_quantity

WRITTEN = {
    **FIO_WORDS,
    **dict.fromkeys(("io_size", "io_limit", "maxdata"), "for 10GiB"),
    **dict.fromkeys(("offset", "offset_increment"), "region 10GiB..+50GiB"),
    **dict.fromkeys(("startdelay", "start_delay", "sleep", "wait"), "idle 5s"),
    **dict.fromkeys(("bsrange", "xfersizes"), "sizes { 4KiB 50%, 64KiB 50% }"),
    **dict.fromkeys(("steadystate", "ss"), "until steady iops every 1min, at most 1h"),
    **dict.fromkeys(
        ("latency_target", "latency_window", "latency_percentile", "max_latency"),
        "seek highest qd in 1..256 where p99 <= 5ms",
    ),
    "rwmixwrite": "70/30, reads before writes",
    "zonerange": "region 0%..50%",
    "rate_process": "rate 1_000 iops poisson",
    "fill_device": "precondition filled { write sequential 128KiB, 1 pass }",
    "continue_on_error": "on failure continue",
    "name": 'test "Name" { … }',
    "description": "# a comment",
    "file_service_type": "random, or sequential",
    # vdbench
    "xfersize": "size 4KiB",
    "rdpct": "read 70%",
    "seekpct": "random, or sequential",
    "skew": "two streams, each with a rate",
    "iorate": "rate 1_000 iops",
    "elapsed": "for 60s",
    **dict.fromkeys(
        ("compratio", "compress", "compressed", "compression", "compressible"),
        "data compressible 50%",
    ),
    **dict.fromkeys(("dedupe", "deduplicate"), "dedup 50%"),
    "dedupratio": "dedup 50%",
    "validate": "verify",
    "hotspot": "hotspots { 80% in 20%, 20% in 80% }",
    **dict.fromkeys(("rhpct", "whpct"), "hotspots { 80% in 20%, 20% in 80% }"),
    **{
        f"for{theirs}": f"vary {ours}"
        for theirs, ours in (
            ("xfersize", "size in 4KiB, 8KiB"),
            ("threads", "threads in 1, 2, 4"),
            ("rdpct", "read in 100%, 70%, 0%"),
            ("iorate", "rate in 1_000 iops, 2_000 iops"),
        )
    },
    "foriorate": "vary rate in 1_000 iops, 2_000 iops",
    # other languages
    **dict.fromkeys(("import", "include"), 'use "std/workloads.ioplan"'),
    **dict.fromkeys(("let", "const", "var", "define"), "param run_time = 1min"),
    **dict.fromkeys(("loop", "foreach"), "repeat 3 { run … }, or vary qd in 1, 2, 4"),
    "sweep": "vary qd in 1..32 doubling",
    **dict.fromkeys(("assert", "require"), "expect p99 < 2ms"),
    **dict.fromkeys(("plot", "graph"), "chart lines iops by qd"),
    **dict.fromkeys(("prefill", "precond"), "after NAME, of a precondition"),
}
"""Each with an example of what is written in its place."""

NO_TARGET = "a plan names no target: use ioplan run PLAN --target"
ALWAYS_DIRECT = "leave it out: I/O is always direct"
ONE_RESULT = "leave it out: results are per stream, over all of its threads"
KEPT = "leave it out: each run stores its time series and histogram; see ioplan export"
BACKEND = "not part of a plan: use ioplan run PLAN --backend NAME"
OPTION = "not part of a plan: use a backend option, ioplan run PLAN --option NAME=VALUE"
ANSWERS = {
    **dict.fromkeys(("filename", "directory", "lun", "sd", "fsd", "target"), NO_TARGET),
    **dict.fromkeys(("direct", "buffered", "invalidate", "openflags"), ALWAYS_DIRECT),
    **dict.fromkeys(("group_reporting", "unified_rw_reporting"), ONE_RESULT),
    **dict.fromkeys(("percentile_list", "lat_percentiles", "clat_percentiles"), KEPT),
    **dict.fromkeys(("write_bw_log", "write_lat_log", "write_iops_log"), KEPT),
    **dict.fromkeys(("log_avg_msec", "interval", "status_interval"), KEPT),
    **dict.fromkeys(("ioengine", "engine", "backend"), BACKEND),
    **dict.fromkeys(("cpus_allowed", "numa_cpu_nodes", "sqthread_poll"), OPTION),
    **dict.fromkeys(("hipri", "fixedbufs", "registerfiles"), OPTION),
    **dict.fromkeys(("iodepth_batch", "iodepth_batch_complete", "iodepth_low"), OPTION),
    **dict.fromkeys(
        ("stonewall", "wait_for"),
        "leave it out: steps and tests run in sequence, streams in parallel",
    ),
    "time_based": "leave it out: with 'for 1min' a run always takes that time",
    **dict.fromkeys(
        ("randseed", "randrepeat", "allrandrepeat"),
        "leave it out: the seed is derived from the run id, so runs are repeatable",
    ),
    "refill_buffers": "leave it out: 'data random' is different for each write",
    **dict.fromkeys(
        ("nrfiles", "filesize", "fallocate", "unlink", "create_on_open"),
        "leave it out: a target is one file or device; --create SIZE makes a file",
    ),
    "iorate=max": "leave it out: without a rate, I/O runs at full speed",
    "seekpct=100": "the equivalent of seekpct=100 is: random",
    "seekpct=0": "the equivalent of seekpct=0 is: sequential",
    "wd": "written here: workload NAME = random 4KiB 70/30",
    "rd": 'written here: test "Name" { run NAME for 1min }',
}
"""What is not said in a plan, or not by one word."""

NOT_YET = {
    "replay_redirect": "a replay is done on the one target",
    "read_iolog": 'but of a converted one: trace web = "web.iotrace", replay web',
    **dict.fromkeys(("zonemode", "max_open_zones", "zonesize"), ""),
    **dict.fromkeys(("cmdprio_percentage", "cmdprio", "prioclass", "prio"), ""),
    **dict.fromkeys(("write_hint", "fdp", "dataplacement", "plids"), ""),
    **dict.fromkeys(("flow", "thinktime_spin", "rate_min", "rate_cycle"), ""),
    **dict.fromkeys(("verify_pattern", "buffer_pattern"), "data is random or zeros"),
    **dict.fromkeys(("if", "else", "while"), "use vary, skip when … and repeat"),
    **dict.fromkeys(("mkdir", "fsync_on_close", "filesystem"), ""),
}
"""What ioplan cannot do, each with what comes near."""
SIZES = {"": "B", "k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}
TIMES = {"m": "min"}
VALUE = re.compile(r"(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z%]*)")
EXAMPLE = re.compile(r"\d[\d_]*\s?(?:[A-Za-z]+\b|%)?")
PATTERNS = {
    **{"read": "sequential 128KiB 100/0", "write": "sequential 128KiB 0/100"},
    **{"randread": "random 4KiB 100/0", "randwrite": "random 4KiB 0/100"},
    **{"randrw": "random 4KiB 70/30", "rw": "sequential 128KiB 70/30"},
}


def answer(word: str, value: str = "") -> str:
    """What to write in place of another tool's word, with its value if it has one.

    Empty where the word is not known.
    """
    if f"{word}={value}" in ANSWERS:
        return ANSWERS[f"{word}={value}"]
    if word in WRITTEN:
        return f"{word} is written as: {_with(WRITTEN[word], word, value)}"
    if word in NOT_YET:
        near = f": {NOT_YET[word]}" if NOT_YET[word] else ""
        return f"ioplan does not support that yet{near}"
    return ANSWERS.get(word, "")


def _with(example: str, word: str, value: str) -> str:
    """The example with the number that was written, where that can be read."""
    if word in ("rw", "readwrite"):
        return PATTERNS.get(value, example)
    here, given = EXAMPLE.search(example), VALUE.fullmatch(value)
    if not here or not given or len(EXAMPLE.findall(example)) > 1:
        return example
    try:
        kind = parse_quantity(here[0]).kind
        own = given[1] + _unit(kind, word, given[2].lower(), here[0])
        quantity = parse_quantity(own)
    except QuantityError:
        return example
    own = quantity.text if kind == "size" else own
    return example.replace(here[0], own, 1) if quantity.kind == kind else example


def _unit(kind: str, word: str, theirs: str, example: str) -> str:
    """The unit that fio's means here; without any, bytes, seconds or the example's."""
    if kind == "size":
        return SIZES.get(theirs.removesuffix("b").removesuffix("i"), theirs)
    if kind == "time":
        bare = "us" if word == "thinktime" else "s"
        return TIMES.get(theirs, theirs) or bare
    return theirs or example.lstrip("0123456789_.")
