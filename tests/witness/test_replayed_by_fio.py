"""Replays on fio: refused as such, and with --allow what arrives is still the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fio_jobs import NEEDS_FIO
from recorded import keys, record_of, recorded, run

from ioplan.trace import FLUSH, WRITE
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine, NEEDS_FIO]

MS_NS = 1_000_000
Starts = Callable[..., Device]
KINDS = (0.55, 0.4, 0.05, 0.0)


def test_it_is_refused_with_the_reason(device: Starts, tmp_path: Path) -> None:
    recorded(tmp_path, kinds=KINDS)
    done = run(device(), tmp_path, "run replay web", "fio")
    assert done.code == 2
    assert "fio waits from its last issue, so that errors add up" in done.err
    assert "with --allow replay: read_iolog: late" in done.err
    after = run(device(), tmp_path, "run replay web as fast as possible", "fio")
    assert after.code == 2 and "its log has no FUA" in after.err


@pytest.mark.long_but_first
@pytest.mark.parametrize("engine", ["libaio", "psync"])
def test_what_is_allowed_arrives_and_its_faults_are_in_the_record(
    engine: str, device: Starts, tmp_path: Path
) -> None:
    """Lateness by the device's own times of arrival; all I/Os counted, FUA told."""
    trace = recorded(tmp_path, kinds=KINDS)
    made = device()
    qd = ", qd 1" if engine == "psync" else ", region 50%..100%"
    words = ("--allow", "replay", "--option", f"engine={engine}")
    done = run(made, tmp_path, f"run replay web{qd}", "fio", *words)
    record = record_of(done)
    entries = seen(made)
    placed = trace.copy()
    placed["offset"] += 0 if engine == "psync" else 2 << 20
    assert Counter(keys(entries, WRITE)) == Counter(keys(placed, WRITE))
    assert not Counter(keys(placed, 0)) - Counter(keys(entries, 0))
    told = {name: one["ios"] for name, one in record["directions"].items()}
    kinds = np.bincount(trace["kind"], minlength=4)
    assert [told["read"], told["write"], told["flush"]] == kinds[:3].tolist()
    assert "read_iolog: late" in record["substitutions"][0]
    (told_fua,) = [one for one in record["warnings"] if "FUA" in one]
    assert told_fua.startswith(f"{trace['flags'].sum()} I/Os of the trace of main")
    late = record["backend"]["facts"]["lateness"]["main"]
    assert late["ios"] == (trace["kind"] != FLUSH).sum()
    writes = entries[entries["kind"] == WRITE]
    intended = trace["time_ns"][trace["kind"] == WRITE].astype(np.int64)
    drift = (writes["arrived_ns"][-1] - writes["arrived_ns"][0]).astype(np.int64)
    drift -= intended[-1] - intended[0]
    # the first write is not the first I/O, and may have been late itself
    assert drift <= late["max_ns"] + 5 * MS_NS
    assert late["max_ns"] >= late["p99_ns"] >= late["p50_ns"] >= 0


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("replay web 200ms..600ms", lambda t: part(t, 200, 600)),
        ("replay web, only writes", lambda t: t),
        ("replay web, speed 4", lambda t: t),
        ("replay web as fast as possible", lambda t: t),
    ],
)
def test_what_is_said_of_a_replay_is_done(
    clause: str, meant: Callable[..., np.ndarray], device: Starts, tmp_path: Path
) -> None:
    wanted = meant(recorded(tmp_path, kinds=KINDS))
    made = device()
    words = ("--allow", "replay", "--option", "engine=libaio")
    record = record_of(run(made, tmp_path, f"run {clause}, qd 8", "fio", *words))
    assert Counter(keys(seen(made), WRITE)) == Counter(keys(wanted, WRITE))
    kinds = (WRITE,) if "only" in clause else (0, WRITE)
    assert record["total"]["ios"] == np.isin(wanted["kind"], kinds).sum()
    assert ("lateness" in record["backend"]["facts"]) == ("fast" not in clause)


def part(trace: np.ndarray, from_ms: int, to_ms: int) -> np.ndarray:
    times = trace["time_ns"]
    return trace[(times >= from_ms * MS_NS) & (times < to_ms * MS_NS)]


def test_it_does_not_wait_for_completions(device: Starts, tmp_path: Path) -> None:
    """What it does nothing for stays refused, whatever is allowed."""
    recorded(tmp_path)
    text = "run replay std after completion"
    done = run(
        device(), tmp_path, text, "fio", "--allow", "replay", std="std/answered.iotrace"
    )
    assert done.code == 2 and "does not wait for completions of a trace" in done.err
