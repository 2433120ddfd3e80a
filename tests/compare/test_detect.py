"""`ioplan plan --detect`: how many sessions a side find a change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, ioplan, plan_file
from figures import run
from sessions import put
from synthetic_comparisons import World, alternating, judged

from ioplan.results.history import log_limit, signals

PLAN = """test "Reads" {
  repeat 3 { run random 4KiB 100/0 for 1s }
  vary qd in 1, 2, 4, 8, 16, 32
}"""


def asked(tmp_path: Path, change: str, *options: str) -> Done:
    return ioplan("plan", plan_file(tmp_path, PLAN), "--detect", change, *options)


def test_without_a_store_noise_is_assumed(tmp_path: Path, store_path: Path) -> None:
    done = asked(tmp_path, "5%", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["cells"] == 6
    for one in found["metrics"]:
        assert "assumed are 2 %" in one["source"]
        assert 3 <= one["all_cells"] < one["one_cell"] == one["noisiest_cell"]
    text = asked(tmp_path, "5%").out
    assert "in all 6 cells" in text and "Alternate the sides: ABAB" in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.long
def test_a_store_tells_the_noise(tmp_path: Path, store_path: Path) -> None:
    """The simulated drive is far quieter than what is assumed; it tells of itself."""
    path = plan_file(tmp_path, PLAN)
    options = ("--backend", "sim", "--create", "256MiB", "--quiet")
    for shift in ("100ms", "200ms", "300ms"):
        text = f'test "Before" {{ run random 16KiB 100/0 for {shift} }}\n{PLAN}'
        assert ioplan("run", plan_file(tmp_path, text), *options).code == 0
    path.write_text(PLAN)
    for words in ((), ("--backend", "io_uring"), ("--target", "/dev/never")):
        found = json.loads(asked(tmp_path, "5%", "--json", *words).out)
        assert all("assumed are 2 %" in one["source"] for one in found["metrics"])
    found = json.loads(asked(tmp_path, "5%", "--json", "--backend", "sim").out)
    for one in found["metrics"]:
        assert re.fullmatch(
            r"3 others that did the same runs on ioplan sim \w+ by sim", one["source"]
        )
        assert one["session_percent"] < 1 and one["all_cells"] == one["one_cell"] == 3


@pytest.mark.parametrize("change", ["2%", "100%", "5ms", "five"])
def test_what_is_no_change_to_find(tmp_path: Path, change: str) -> None:
    done = asked(tmp_path, change)
    assert done.code == 2 and "--detect" in done.err


CELLS = 6


def needs_of(tmp_path: Path, change: str) -> dict[str, Any]:
    """What is answered of IOPS, in words of its JSON."""
    metrics = json.loads(asked(tmp_path, change, "--json").out)["metrics"]
    return dict(metrics[0])


@pytest.mark.usefixtures("store_path")
def test_so_many_sessions_do_find_it(tmp_path: Path) -> None:
    """Of the noise that is assumed: a loss of 5 % in all cells."""
    loss = dict.fromkeys(range(CELLS), -0.05)
    design = alternating(needs_of(tmp_path, "5%")["all_cells"])
    world = World(cells=CELLS)
    found = [judged(world, design, seed, loss)[0].all for seed in range(30)]
    assert sum(one is not None and one.word == "different" for one in found) >= 27


@pytest.mark.usefixtures("store_path")
def test_it_answers_in_nights_which_grow_as_the_change_shrinks(tmp_path: Path) -> None:
    """Of 2 % of noise; what the monitor takes for as large a step is about the same."""
    few, more, most = (
        needs_of(tmp_path, one)["nights"] for one in ("20%", "10%", "5%")
    )
    assert few <= 3 and few <= more <= most <= 30
    rows = 0.02 * np.random.default_rng(5).normal(size=(12, 90))
    rows[:, 30:] += np.log(1 - 0.05)
    limits = [log_limit(CELLS + 1)] * 90
    seen = [
        next(
            (s.seen - 29 for s in signals(row, limits)[0] if s.state == "confirmed"), 60
        )
        for row in rows.tolist()
    ]
    assert abs(float(np.median(seen)) - most) <= 8


def test_a_database_without_these_runs_tells_nothing(
    store_path: Path, tmp_path: Path
) -> None:
    """Of its drive, beside that of others."""
    put(store_path, run(1))
    assert "assumed" in needs_of(tmp_path, "10%")["source"]
