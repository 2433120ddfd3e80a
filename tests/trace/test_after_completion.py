"""`replay … after completion` on the simulated drive: times by arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ioplan, plan_file

from ioplan.trace.prepared import ANSWERED, FLUSH, NO_RESPONSE, READ, Ios, write

MS_NS = 1_000_000
THOUGHT_NS, TOOK_NS = 3 * MS_NS, 20 * MS_NS


def records(folder: Path, trace: Ios, *steps: str) -> list[dict[str, Any]]:
    write(folder / "web.iotrace", [trace])
    text = f'trace web = "web.iotrace"\ntest "A" {{ {" ".join(steps)} }}'
    words = ("--backend", "sim", "--create", "64MiB", "--json")
    done = ioplan("run", plan_file(folder, text), *words)
    assert done.code == 0, done.err
    return [line["record"] for line in done.of("record")]


def chains(length: int, of: int = 1) -> Ios:
    """So many at once, each of which waits for the last ones, and thinks for a while."""
    made = np.zeros(length * of, ANSWERED)
    turns = np.repeat(np.arange(length), of)
    made["time_ns"], made["response_ns"] = turns * (TOOK_NS + THOUGHT_NS), TOOK_NS
    made["size"], made["kind"] = 4096, READ
    made["offset"] = np.arange(length * of) * 4096
    return made


def mean_ns(record: dict[str, Any]) -> float:
    found: float = record["directions"]["read"]["latency"]["mean_ns"]
    return found


@pytest.mark.parametrize("speed", [1, 3])
def test_a_chain_takes_its_thoughts_and_this_drives_latencies(
    tmp_path: Path, speed: int
) -> None:
    trace = chains(200)
    (record,) = records(
        tmp_path, trace, f"run replay web after completion, speed {speed}"
    )
    ran_ns = 199 * THOUGHT_NS / speed + 200 * mean_ns(record)
    assert record["run_s"] * 1e9 == pytest.approx(ran_ns, rel=1e-4)
    late = record["backend"]["facts"]["lateness"]["main"]
    assert late["waited"] == 199 / 200 and late["max_ns"] == 0


def test_what_was_outstanding_together_is_so_again(tmp_path: Path) -> None:
    """Eight at a time: none waits for another of its turn, all for the turn before."""
    (record,) = records(tmp_path, chains(100, of=8), "run replay web after completion")
    longest_ns = record["directions"]["read"]["latency"]["max_ns"]
    least_ns = 99 * THOUGHT_NS + 100 * mean_ns(record)
    assert least_ns <= record["run_s"] * 1e9 <= least_ns + 100 * longest_ns
    assert record["backend"]["facts"]["lateness"]["main"]["waited"] == 99 / 800


def test_what_waited_for_nobody_starts_at_its_time(tmp_path: Path) -> None:
    """Each began before the first was complete, or their completions are not known."""
    trace = chains(100)
    trace["response_ns"] = 100 * (TOOK_NS + THOUGHT_NS)
    trace["response_ns"][50:] = NO_RESPONSE
    after, recorded = records(
        tmp_path, trace, "run replay web after completion", "run replay web"
    )
    assert after["run_s"] == pytest.approx(recorded["run_s"], rel=1e-4)
    assert after["backend"]["facts"]["lateness"]["main"]["waited"] == 0


def test_only_what_is_replayed_is_waited_for(tmp_path: Path) -> None:
    """Reads between writes and flushes: their thoughts are what is between reads."""
    trace = chains(300)
    trace["kind"] = np.arange(300) % 3
    trace["size"][trace["kind"] == FLUSH] = trace["offset"][trace["kind"] == FLUSH] = 0
    steps = (
        "run replay web after completion, only reads",
        "run replay web 0s..2s after completion",
    )
    reads, part = records(tmp_path, trace, *steps)
    between_ns = 3 * (TOOK_NS + THOUGHT_NS) - TOOK_NS
    ran_ns = 99 * between_ns + 100 * mean_ns(reads)
    assert reads["run_s"] * 1e9 == pytest.approx(ran_ns, rel=1e-4)
    chosen = int((trace["time_ns"] < 2000 * MS_NS).sum())
    done = sum(one["ios"] for one in part["directions"].values())
    assert done == chosen


def test_a_depth_that_is_too_small_delays_and_is_told(tmp_path: Path) -> None:
    """Eight at once with one place: seven of each turn are late, by lateness."""
    (record,) = records(
        tmp_path, chains(50, of=8), "run replay web after completion, qd 1"
    )
    late = record["backend"]["facts"]["lateness"]["main"]
    assert late["ios"] == 400 and late["max_ns"] > 0
    assert late["p50_ns"] > 0


def test_a_trace_without_completions_is_refused(tmp_path: Path) -> None:
    text = (
        'trace web = "std/sample.iotrace"\ntest "A" { run replay web after completion }'
    )
    done = ioplan("check", plan_file(tmp_path, text))
    assert done.code == 2
    assert "the trace does not say when its I/Os were complete" in done.err
