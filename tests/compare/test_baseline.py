"""Limits of a baseline: which session it is, and of which it is none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file

from ioplan.results.store import Store

pytestmark = pytest.mark.usefixtures("store_path")
BASED = 'test "T" { run random 4KiB 100/0 for 1s\n expect iops >= 1% of baseline }'


def newest() -> str:
    return str(ioplan("ls", "--format", "jsonl").lines[0]["id"])


def based(folder: Path, size: str, *words: str, text: str = BASED) -> str:
    """A session on the simulated drive of a size; its id."""
    options = ("--backend", "sim", "--quiet", "--create", size, *words)
    ioplan("run", plan_file(folder, text), *options)
    return newest()


def verdict_with(
    folder: Path, key: str, size: str, text: str = BASED
) -> dict[str, Any]:
    """The one verdict of a run on the simulated drive of a size, with a baseline."""
    words = ("--backend", "sim", "--create", size, "--json", "--baseline", key)
    done = ioplan("run", plan_file(folder, text), *words)
    (verdict,) = done.of("verdict")
    assert done.code == (verdict["outcome"] != "held"), done.err
    return verdict


@pytest.mark.promise("verdicts.baseline")
def test_a_named_baseline_of_another_run_or_drive_is_no_limit(tmp_path: Path) -> None:
    """The run was done there, too, and its figure would be held."""
    first = based(tmp_path, "256MiB")
    same = verdict_with(tmp_path, first, "256MiB")
    assert same["outcome"] == "held"
    larger = BASED.replace("4K", "8K")
    other = verdict_with(tmp_path, first, "256MiB", larger)
    assert other["outcome"] == "no baseline"
    elsewhere = verdict_with(tmp_path, first, "512MiB")
    assert elsewhere["outcome"] == "undecided"
    assert f"baseline {first} is of ioplan sim SIM" in elsewhere["why"]


def test_the_last_baseline_is_of_the_same_plan_and_drive(tmp_path: Path) -> None:
    """Neither the newest session, nor the newest of this plan, is it."""
    mine = based(tmp_path, "256MiB")
    based(tmp_path, "256MiB", text='plan "Other"\n' + BASED)
    based(tmp_path, "512MiB")
    verdict = verdict_with(tmp_path, "last", "256MiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("held", mine)
    assert verdict["limit"] == pytest.approx(verdict["baseline_value"] / 100)


def test_a_baseline_by_tag_is_of_this_drive_before_others(tmp_path: Path) -> None:
    mine = based(tmp_path, "256MiB", "--tag", "golden")
    other = based(tmp_path, "512MiB", "--tag", "golden")
    assert verdict_with(tmp_path, "golden", "256MiB")["baseline"] == mine
    assert verdict_with(tmp_path, "golden", "512MiB")["baseline"] == other
    verdict = verdict_with(tmp_path, "golden", "1GiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("undecided", "")
    assert "is of 512MiB in blocks of 512 B, this run of 1GiB" in verdict["why"]


def test_a_killed_or_missing_baseline_is_none(store_path: Path, tmp_path: Path) -> None:
    """A verdict shows the limit, the baseline and its session."""
    mine = based(tmp_path, "256MiB")
    run = ("run", plan_file(tmp_path, BASED), "--backend", "sim", "--create", "256MiB")
    shown = " ".join(ioplan(*run, "--baseline", "last").out.split())
    assert re.search(rf"limit [\d.]+, baseline [\d.k]+ in session {mine}", shown)
    for key in ("last@/no/where", "drive:NONE", "nothing"):
        done = ioplan(*run, "--baseline", key)
        assert done.code == 2 and "no" in done.err and "session" in done.err
    with Store.open(store_path) as store:
        for one in store.sessions():
            store.finish(one.id, "interrupted", "2026-01-01T00:00:00Z")
    done = ioplan(*run, "--baseline", "last")
    assert done.code == 2 and "leave --baseline out of the first run" in done.err


@pytest.mark.slow
@pytest.mark.promise("verdicts.baseline")
def test_a_baseline_by_another_backend_is_no_limit(tmp_path: Path) -> None:
    """A file's figure is none of the simulated drive, though the path is the same."""
    text = BASED.replace("1s", "200ms").replace("iops >= 1%", "p99 <= 900%")
    file = plan_file(tmp_path, text)
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--json")
    ioplan("run", file, "--backend", "io_uring", *options)
    first = newest()
    done = ioplan("run", file, "--backend", "sim", *options, "--baseline", first)
    (verdict,) = done.of("verdict")
    assert done.code == 1 and verdict["outcome"] == "undecided"
    assert f"baseline {first} is by io_uring, this run by sim" in verdict["why"]
