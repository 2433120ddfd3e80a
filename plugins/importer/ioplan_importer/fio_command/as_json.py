"""Results as fio's JSON and JSON+: its fields and units.

What ioplan does not count is 0 with no samples: submission latencies, context
switches, faults, and how many I/Os were submitted at once.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ioplan.core import __version__
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio_command.job_plan import own_options
from ioplan_importer.fio_command.results import (
    DirectionFigures,
    JobFigures,
    Rates,
    shares,
)

VERSION = f"fio-3.33-ioplan-{__version__}"
"""Programs look for fio's name and version: its form, and who wrote it."""
KIB = 1024
DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")
Json = dict[str, Any]


def fio_json(jobs: Sequence[JobFigures], common: Mapping[str, str], bins: bool) -> str:
    """The whole document; with `bins`, JSON+."""
    now = time.time()
    document = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(1000 * now),
        "time": time.asctime(time.localtime(now)),
        **({"global options": dict(common)} if common else {}),
        "jobs": [_job(one, bins) for one in jobs],
        "disk_util": [],
    }
    return json.dumps(document, indent=2) + "\n"


def _job(one: JobFigures, bins: bool) -> Json:
    job, read = one.place.job, one.directions
    depth = job.at_least_1("iodepth")
    return {
        "jobname": job.title,
        "groupid": one.place.group,
        "error": 0 if one.record.status == "ok" else 5,
        "eta": 0,
        "elapsed": math.ceil(one.record.run_s),
        **({"desc": job.text("description")} if job.has("description") else {}),
        "job options": own_options(job),
        **{name: _direction(part, job, bins) for name, part in read.items()},
        "sync": {
            "total_ios": one.sync_ios,
            "lat_ns": _latency(one.sync, tells=True, bins=bins),
        },
        "job_runtime": _ms(one.record.run_s),
        "usr_cpu": one.user_percent,
        "sys_cpu": one.system_percent,
        **dict.fromkeys(("ctx", "majf", "minf"), 0),
        "iodepth_level": _depths(depth),
        "iodepth_submit": dict.fromkeys(BATCHES, 0.0),
        "iodepth_complete": dict.fromkeys(BATCHES, 0.0),
        **shares(one),
        "latency_depth": depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _direction(one: DirectionFigures, job: FioJob, bins: bool) -> Json:
    rate = one.bytes / one.run_s if one.run_s else 0.0
    whole = job.text("lat_percentiles", "0") == "1"
    complete = job.text("clat_percentiles", "1") != "0"
    return {
        "io_bytes": one.bytes,
        "io_kbytes": one.bytes // KIB,
        "bw_bytes": int(rate),
        "bw": int(rate) // KIB,
        "iops": one.ios / one.run_s if one.run_s else 0.0,
        "runtime": _ms(one.run_s) if one.ios else 0,
        "total_ios": one.ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": {
            **dict.fromkeys(("min", "max"), 0),
            "mean": 0.0,
            "stddev": 0.0,
            "N": 0,
        },
        "clat_ns": _latency(one, complete, bins),
        "lat_ns": _latency(one, whole, bins),
        **_samples("bw", one.bandwidth, KIB),
        **_samples("iops", one.iops, 1),
    }


def _latency(one: DirectionFigures, tells: bool, bins: bool) -> Json:
    """The moments; if it `tells`, percentiles and, with `bins`, the buckets."""
    least, most, mean, deviation = one.moments
    found: Json = {"min": least, "max": most, "mean": mean, "stddev": deviation}
    found["N"] = one.ios
    if tells and one.ios:
        found["percentile"] = {f"{p:f}": ns for p, ns in one.percentiles.items()}
        if bins:
            found["bins"] = {str(ns): count for ns, count in one.buckets.items()}
    return found


def _samples(name: str, rates: Rates, unit: int) -> Json:
    found: Json = {
        f"{name}_min": int(rates.least / unit),
        f"{name}_max": int(rates.most / unit),
    }
    if name == "bw":
        found["bw_agg"] = 100.0 if rates.values else 0.0
    found[f"{name}_mean"] = rates.mean / unit
    found["bw_dev" if name == "bw" else "iops_stddev"] = rates.deviation / unit
    return {**found, f"{name}_samples": len(rates.values)}


def _depths(depth: int) -> Json:
    """All at the depth that was asked for, in fio's steps."""
    at = min(len(DEPTHS) - 1, depth.bit_length() - 1)
    return {name: 100.0 if n == at else 0.0 for n, name in enumerate(DEPTHS)}


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
