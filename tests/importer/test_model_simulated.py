"""`ioplan model` runs the trace and its model on a simulated drive, and tells both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import ioplan

from ioplan.trace import DTYPE, WRITE, Prepared, write
from ioplan_importer.trace_model import simulated
from ioplan_importer.trace_model.command import model_text
from ioplan_importer.trace_model.simulated import compared, measured_lines, part_of

KIB = 1024


def poisson(folder: Path, ios: int = 2000, iops: int = 2000) -> Prepared:
    """Random I/O of 4 KiB in 64 MiB, a third of it writes."""
    random = np.random.default_rng(1)
    made = np.zeros(ios, DTYPE)
    made["time_ns"] = np.cumsum(random.exponential(1e9 / iops, ios))
    made["time_ns"] -= made["time_ns"][0]
    made["kind"] = np.where(random.random(ios) < 1 / 3, WRITE, 0)
    made["size"], made["offset"] = 4 * KIB, random.integers(0, 1 << 14, ios) * 4 * KIB
    write(folder / "a.iotrace", [made])
    return Prepared.open(folder / "a.iotrace")


@pytest.mark.long
def test_both_are_told_and_stand_in_the_plan(tmp_path: Path) -> None:
    trace = poisson(tmp_path)
    done = ioplan("model", trace.path, "-o", tmp_path / "a.ioplan")
    assert done.code == 0, done.err
    text = (tmp_path / "a.ioplan").read_text()
    heads = ["On a simulated drive of 1GiB: trace, model, ratio"]
    heads += [
        f"- {way} {what} " for way in ("read", "write") for what in ("IOPS", "p50")
    ]
    heads += ["- read p99 (us) ", "- write p99 (us) ", "- write amplification "]
    assert all(head in done.err and f"# {head}" in text for head in heads)
    assert ioplan("check", tmp_path / "a.ioplan").code == 0


@pytest.mark.long
def test_the_same_load_has_the_same_figures_and_another_has_not(tmp_path: Path) -> None:
    """Rates to chance, by the model of the trace and by one of half its rate."""
    trace = poisson(tmp_path)
    (tmp_path / "slow").mkdir()
    slow = model_text("slow", poisson(tmp_path / "slow", iops=1000))
    for text, ratio in ((model_text("a", trace), 1), (slow, 0.5)):
        found = {one.name: one.model / one.trace for one in compared(trace, text)}
        assert found["read IOPS"] == pytest.approx(ratio, rel=0.1)
        assert found["write IOPS"] == pytest.approx(ratio, rel=0.15)
        assert found["read p50 (us)"] == pytest.approx(1, rel=0.1)


def test_it_can_be_left_out(tmp_path: Path) -> None:
    trace = poisson(tmp_path)
    done = ioplan("model", trace.path, "--not-simulated")
    assert done.code == 0 and done.err == "" and "simulated" not in done.out


def test_of_a_long_trace_the_first_part_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = poisson(tmp_path)
    assert part_of(trace, tmp_path) is trace
    monkeypatch.setattr(simulated, "MOST_IOS", 500)
    part = part_of(trace, tmp_path)
    assert (part.ios == trace.ios[:500]).all()
    first, *rows = measured_lines(part, model_text("a", part), trace.header.count)
    assert first.endswith("of 1GiB, first 500 I/Os: trace, model, ratio") and rows


def test_a_run_that_fails_is_told_in_its_place(tmp_path: Path) -> None:
    """Blocks smaller than the drive's cannot be replayed; the model is written."""
    trace = poisson(tmp_path)
    ios = np.array(trace.ios)
    ios["size"] = 100
    write(trace.path, [ios])
    done = ioplan("model", trace.path)
    assert done.code == 0 and "# Not measured on a simulated drive: " in done.out
