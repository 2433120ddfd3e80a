"""Traces of lanes: found by their content, on this host and on others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file

from ioplan.trace import DTYPE, known_survey, write
from ioplan_lab.cluster.jobs.traces import offer, put


def recorded(path: Path, size: int = 4096) -> str:
    """A trace; what a plan's files have of it."""
    ios = np.zeros(50, DTYPE)
    ios["time_ns"], ios["size"] = np.arange(50) * 100_000, size
    write(path, [ios])
    return known_survey(path).as_text()


@pytest.mark.slow
def test_a_replay_runs_on_several_targets(tmp_path: Path, store_path: Path) -> None:
    recorded(tmp_path / "web.iotrace")
    text = 'trace web = "web.iotrace"\ntest "A" { run replay web }'
    names = [word for n in "ab" for word in ("--target", tmp_path / n)]
    made = ("--backend", "io_uring", "--create", "8MiB")
    done = ioplan("run", plan_file(tmp_path, text), *names, *made)
    assert done.code == 0, done.err
    assert "a" in done.out and "not on this host" not in done.err


def test_a_host_without_the_trace_says_where_to_copy_it(tmp_path: Path) -> None:
    text, lanes = recorded(tmp_path / "web.iotrace"), tmp_path / "state/lanes"
    file = tmp_path / "lane.iotrace"
    with pytest.raises(FileNotFoundError, match="copy it there as") as refused:
        put(file, text, lanes)
    place = Path(str(refused.value.strerror).rsplit(" ", 1)[-1])
    place.parent.mkdir(parents=True)
    recorded(place, size=8192)  # another one in its place is not taken for it
    with pytest.raises(FileNotFoundError, match="not on this host"):
        put(file, text, lanes)
    assert not file.exists()
    place.write_bytes((tmp_path / "web.iotrace").read_bytes())
    put(file, text, lanes)
    assert known_survey(file).as_text() == text


def test_what_was_planned_here_is_linked(tmp_path: Path) -> None:
    text, lanes = recorded(tmp_path / "web.iotrace"), tmp_path / "state/lanes"
    (tmp_path / "state").mkdir()
    for _ in range(2):
        offer([text, "plan"], lanes)
    put(tmp_path / "lane.iotrace", text, lanes)
    assert (tmp_path / "lane.iotrace").samefile(tmp_path / "web.iotrace")
    put(tmp_path / "plan.ioplan", "plan", lanes)
    assert (tmp_path / "plan.ioplan").read_text() == "plan"
