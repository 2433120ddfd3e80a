"""Passes on the simulated drive have the I/Os and bytes that the engine's have."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file

KIB = 1024
RUNS = (
    "sequential 4KiB 0/100, qd 4, 1 pass",
    "sequential 48KiB 0/100, qd 4, 3 passes",
    "sequential 48KiB 70/30, qd 4 each, threads 3, 3 passes",
    "sequential 128KiB 0/100, qd 4, 2.3 passes",
    "sequential 4KiB 100/0, qd 4 each, threads 3, 0.7 passes",
    "random 48KiB 0/100, qd 4, permuted, 3 passes",
    "random 12KiB 0/100, qd 4 each, threads 3, permuted, 3 passes",
)


def totals(plan: Path, folder: Path, *target: str | Path) -> list[tuple[int, int]]:
    """I/Os and bytes of its runs."""
    store = ("--store", folder / "results.db")
    done = ioplan("run", plan, *target, *store, "-q")
    assert done.code in (0, 1), done.err
    rows = ioplan("export", "last", "--format", "jsonl", *store).lines
    return [(row["total"]["ios"], row["total"]["bytes"]) for row in rows]


@pytest.mark.slow
def test_passes_are_those_of_the_engine(tmp_path: Path, rough_sim: None) -> None:
    """Of a target that is a whole number of none of these sizes."""
    tests = (f'test "T{n}" {{ run {run} }}' for n, run in enumerate(RUNS))
    plan = plan_file(tmp_path, "\n".join(tests))
    size = ("--create", "10036KiB")
    by_engine = totals(plan, tmp_path, *size, "--target", tmp_path / "scratch")
    by_sim = totals(plan, tmp_path, *size, "--backend", "sim")
    assert len(by_sim) == len(RUNS) and dict(zip(RUNS, by_sim, strict=True)) == dict(
        zip(RUNS, by_engine, strict=True)
    )


@pytest.mark.parametrize(
    ("io", "ios", "moved_bytes"),
    [
        ("sequential 128KiB 0/100", 22_888_185, 3 * 10**12),
        ("sequential 128KiB 50/50", 22_888_185, 3 * 10**12),
        ("random 128KiB 0/100, permuted", 3 * 7_629_394, 3 * 7_629_394 * 128 * KIB),
    ],
)
def test_the_last_io_of_each_pass_is_cut(
    io: str, ios: int, moved_bytes: int, tmp_path: Path, rough_sim: None
) -> None:
    """7,629,394.53 times 128 KiB are 1 TB."""
    plan = plan_file(tmp_path, f'test "T" {{ run {io}, qd 32, 3 passes }}\n')
    target = ("--backend", "sim", "--create", "1TB", "--interval", "60s")
    assert totals(plan, tmp_path, *target) == [(ios, moved_bytes)]
