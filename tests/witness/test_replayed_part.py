"""Some of a trace, or all of it as fast as possible, by what arrived at a test device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ioplan
from recorded import keys, record_of, recorded, run
from without_io_uring import engine_without_io_uring

from ioplan.trace import DISCARD, READ, WRITE, Ios
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]

MS_NS = 1_000_000
Starts = Callable[..., Device]
CHANGES = (WRITE, DISCARD)


def chosen(trace: Ios, *kinds: int) -> Ios:
    return trace[np.isin(trace["kind"], kinds)]


def as_reads(trace: Ios) -> Ios:
    made = trace.copy()
    made["kind"], made["flags"] = READ, 0
    return made


@pytest.mark.long_but_first
@pytest.mark.parametrize("mode", ["io_uring", "sync"])
@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("only reads", lambda trace: chosen(trace, READ)),
        ("only writes", lambda trace: chosen(trace, WRITE)),
        ("writes as reads", lambda trace: as_reads(chosen(trace, READ, WRITE))),
        ("only writes, writes as reads", lambda trace: as_reads(chosen(trace, WRITE))),
    ],
)
@pytest.mark.promise("traces.nothing_changes")
def test_what_is_chosen_arrives_and_nothing_else_changes_the_device(
    mode: str,
    clause: str,
    meant: Callable[[Ios], Ios],
    device: Starts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if mode == "sync":
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    wanted = meant(recorded(tmp_path, mean_gap_ns=MS_NS / 4))
    made = device()
    record = record_of(run(made, tmp_path, f"run replay web, {clause}"))
    entries = seen(made)
    told = {name: one["ios"] for name, one in record["directions"].items()}
    assert Counter(keys(entries, *CHANGES)) == Counter(keys(wanted, *CHANGES))
    assert not Counter(keys(wanted, READ)) - Counter(keys(entries, READ))
    assert sum(told.values()) == len(wanted)
    assert record["backend"]["facts"]["lateness"]["main"]["ios"] == len(wanted)
    assert entries["fua"].sum() == wanted["flags"].sum()


@pytest.mark.long
def test_a_part_is_what_cut_makes_of_it(device: Starts, tmp_path: Path) -> None:
    """The same I/Os at the same times, by the file that `trace cut` writes."""
    recorded(tmp_path)
    words = ("trace", "cut", tmp_path / "web.iotrace", "200ms..600ms")
    assert ioplan(*words, "-o", tmp_path / "cut.iotrace").code == 0
    ran = []
    for step in ("replay web 200ms..600ms", "replay cut"):
        made = device()
        record = record_of(run(made, tmp_path, f"run {step}", cut="cut.iotrace"))
        ran.append((Counter(keys(seen(made), *CHANGES)), record))
    (part, of_part), (cut, of_cut) = ran
    assert part == cut and part
    assert of_part["total"]["ios"] == of_cut["total"]["ios"] > 100
    assert of_part["run_s"] == pytest.approx(of_cut["run_s"], abs=0.05)


@pytest.mark.long_but_first
@pytest.mark.parametrize("qd", [1, 8])
def test_as_fast_as_possible_keeps_the_order_and_the_depth(
    qd: int, device: Starts, tmp_path: Path
) -> None:
    """By a device that takes 1 ms for each write: one after the other, or eight."""
    trace = recorded(tmp_path, ios=300, mean_gap_ns=20 * MS_NS, kinds=(0, 1, 0, 0))
    trace_s = int(trace["time_ns"][-1]) / 1e9
    made = device(latency=[{"direction": "write", "value": "1ms"}])
    step = f"run replay web as fast as possible, qd {qd}"
    record = record_of(run(made, tmp_path, step))
    entries = seen(made)
    some = entries[entries["kind"] == WRITE]
    arrived, wanted = keys(some, WRITE), keys(trace, WRITE)
    assert Counter(arrived) == Counter(wanted)
    assert record["run_s"] < trace_s / 4
    assert most_at_once(some) == qd
    assert "lateness" not in record["backend"]["facts"]
    furthest = max(furthest_moved(wanted, arrived))
    assert furthest == 0 if qd == 1 else furthest < 2 * qd


def most_at_once(entries: Any) -> int:
    starts = [(int(at), 1) for at in entries["arrived_ns"]]
    ends = [(int(at), -1) for at in entries["done_ns"]]
    now = most = 0
    for _, step in sorted(starts + ends, key=lambda one: (one[0], one[1])):
        now += step
        most = max(most, now)
    return most


def furthest_moved(wanted: list[Any], arrived: list[Any]) -> list[int]:
    """How far each is from its place in the recorded order."""
    places: dict[Any, list[int]] = {}
    for number, key in enumerate(wanted):
        places.setdefault(key, []).append(number)
    return [abs(n - places[key].pop(0)) for n, key in enumerate(arrived)]
