"""The rate of the trace itself, beside what a run of it did."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from recorded import MS_NS, recorded

from ioplan.trace import DISCARD, READ, WRITE, Ios

KINDS = {"read": READ, "write": WRITE, "trim": DISCARD}


def rows(folder: Path, step: str) -> list[dict[str, Any]]:
    """The intervals of a run on the simulated drive."""
    text = f'trace web = "web.iotrace"\ntest "A" {{ run {step} }}'
    plan = plan_file(folder, text)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert done.code == 0, done.err
    shown = ioplan("export", "last", "--format", "jsonl", "--series").out
    return [json.loads(line) for line in shown.splitlines()]


def asked(trace: Ios, due_ns: Any, ends_s: list[float]) -> list[list[int]]:
    """By interval, how many and how many bytes of each kind."""
    edges = [-1, *(end * 1e9 + 1 for end in ends_s)]
    parts = [
        trace[(due_ns > begin) & (due_ns <= end)] for begin, end in pairwise(edges)
    ]
    some = [[part[part["kind"] == kind] for kind in KINDS.values()] for part in parts]
    return [
        [n for one in kinds for n in (len(one), int(one["size"].sum()))]
        for kinds in some
    ]


def told(rows: list[dict[str, Any]]) -> list[list[int]]:
    names = [f"trace_{kind}_{what}" for kind in KINDS for what in ("ios", "bytes")]
    return [[row[name] for name in names] for row in rows]


@pytest.mark.long
def test_each_interval_has_what_the_trace_has_in_it(tmp_path: Path) -> None:
    """At another speed, and of a part."""
    trace = recorded(tmp_path, ios=6000, mean_gap_ns=MS_NS)
    times = trace["time_ns"]
    found = rows(tmp_path, "replay web 1s..5s, speed 2, interval 500ms")
    part = trace[(times >= 1e9) & (times < 5e9)]
    due_ns = (part["time_ns"] - part["time_ns"][0]) / 2
    assert len(found) > 2
    assert told(found) == asked(part, due_ns, [row["t_s"] for row in found])
    assert sum(row["trace_read_ios"] for row in found) == (part["kind"] == READ).sum()


def test_what_a_slow_drive_delays_is_in_the_trace_at_its_time(tmp_path: Path) -> None:
    """At 1,000 times the speed all is due in the first intervals."""
    trace = recorded(tmp_path, ios=6000, mean_gap_ns=MS_NS)
    found = rows(tmp_path, "replay web, only reads, speed 1000, qd 1, interval 10ms")
    reads = int((trace["kind"] == READ).sum())
    assert sum(row["read_ios"] for row in found) == reads
    assert found[0]["trace_read_ios"] == reads > 2 * found[0]["read_ios"]
    assert {row["trace_write_ios"] for row in found} == {0}


def test_a_chart_over_time_has_both(tmp_path: Path) -> None:
    recorded(tmp_path, ios=3000, mean_gap_ns=MS_NS)
    rows(tmp_path, "replay web, speed 2 chart lines iops, bandwidth by time")
    shown = ioplan("show", "last").out
    page = tmp_path / "r.html"
    assert ioplan("report", "last", "-o", page).code == 0
    for name in ("iops of the trace", "bandwidth of the trace"):
        assert name in shown and name in page.read_text()


def test_what_has_no_times_has_no_rate(tmp_path: Path) -> None:
    recorded(tmp_path, ios=500)
    found = rows(tmp_path, "replay web as fast as possible")
    assert not [name for name in found[0] if name.startswith("trace_")]


def test_a_trace_that_is_gone_after_the_run_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError("the trace")

    monkeypatch.setattr("ioplan.job_replay.own_rate", gone)
    recorded(tmp_path, ios=500)
    found = rows(tmp_path, "replay web, speed 4")
    assert found and not [name for name in found[0] if name.startswith("trace_")]
    (record,) = ioplan("export", "last", "--format", "jsonl").lines
    told = "the rate of the trace itself is not known: the trace"
    assert told in record["warnings"]
