"""How a run ends does not change what it does; a permutation is asked for by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from plans import checked
from sim_drive import DRIVES, WRITES, Bench

from ioplan.backends import TargetFacts
from ioplan.planner import all_jobs, unfold
from ioplan.results.store import Store
from ioplan_sim import DriveSpec

GIB = 1 << 30
FACTS = TargetFacts(path="t", kind="file", capacity_bytes=GIB, block_bytes=512)
PERMUTED = WRITES.model_copy(update={"permuted": True})
PAIR = {"passes": {"passes": 2}, "bytes": {"limit_bytes": 2 * GIB}}


def amplification(stream: Any, **limit: Any) -> float:
    """Of the second run, as the first one fills the drive."""
    bench = Bench(DriveSpec(), GIB)
    bench.run(stream, **limit)
    found = bench.run(stream, **limit)[0].facts["write_amplification"]
    assert isinstance(found, float)
    return found


@pytest.mark.long
def test_bytes_and_passes_wear_a_drive_alike() -> None:
    anew = [amplification(WRITES, **limit) for limit in PAIR.values()]
    once = [amplification(PERMUTED, **limit) for limit in PAIR.values()]
    assert anew[0] == pytest.approx(anew[1], rel=0.05)
    assert once[0] == pytest.approx(once[1], rel=0.05)
    assert anew[0] > 1.2 * once[0]


def jobs(text: str) -> list[bool]:
    """Whether each job of a plan permutes."""
    steps = unfold(checked(text))
    return [job.streams[0].permuted for _, job in all_jobs(steps, FACTS, False)]


@pytest.mark.parametrize(
    ("run", "permuted"),
    [
        ("run random 4KiB 0/100, 2 passes", False),
        ("run random 4KiB 0/100 for 2GiB", False),
        ("run random 4KiB 0/100, permuted, 2 passes", True),
        ("run random 4KiB 0/100, permuted for 2GiB", True),
        ("run random 4KiB 100/0, permuted for 10s", True),
    ],
)
def test_a_run_permutes_where_it_says_so(run: str, permuted: bool) -> None:
    assert jobs(f'test "T" {{ {run} }}') == [permuted]


@pytest.mark.parametrize(
    ("write", "permuted"),
    [
        ("random 4KiB, 2 passes", True),
        ("sequential 4KiB, 2 passes", False),
        ("random 4KiB, zipf 1.1, 2 passes", False),
        ("random sizes { 4KiB 50%, 8KiB 50% }, 2 passes", False),
        ("random 4KiB for 1h", False),
        ("random 4KiB, permuted for 1h", True),
        ("random 4KiB, until steady iops every 1s, at most 4 passes", False),
    ],
)
def test_a_precondition_by_passes_permutes(write: str, permuted: bool) -> None:
    text = f"precondition p {{ write {write} }}\n"
    text += 'test "T" { after p run random 4KiB 100/0 for 1s }'
    assert jobs(text) == [permuted, False]


def test_plan_and_record_say_which(tmp_path: Path, store_path: Path) -> None:
    text = "precondition p { write random 4KiB, 1 pass }\n"
    text += 'test "T" { after p run random 4KiB 0/100 for 1s }\n'
    text += 'test "U" { run random 4KiB 0/100, permuted, 1 pass }\n'
    path = plan_file(tmp_path, text)
    drive = ("--sim", DRIVES / "datacentre.toml", "--create", "1GiB")
    plan = " ".join(ioplan("plan", path, "--capacity", "1GiB").out.split())
    assert "write random 4KiB, 1 pass (permuted)" in plan
    done = ioplan("run", path, *drive)
    assert done.code == 0, done.err
    assert "p: random permuted 4KiB writes" in done.out
    with Store.open(store_path) as store:
        records = store.records(store.session("last").id)
        said = [one.asked.job.streams[0].permuted for one in records]
    assert said == [True, False, True]
