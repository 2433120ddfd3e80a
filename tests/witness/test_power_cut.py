"""What `verify` says of a device's caches after a cut of the power."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file

from ioplan_witness import Device

pytestmark = pytest.mark.slow
Starts = Callable[..., Device]

WRITES = "0/100, qd 4, region 0%..50%"
READS = 'plan "R"\ntest "R" { run sequential 64KiB 100/0, verify, 1 pass }\n'
CACHES: dict[str, dict[str, Any]] = {
    "none": {},
    "honest": {"mode": "volatile"},
    "reordered": {"mode": "volatile", "reordered": True},
    "torn 4KiB": {"mode": "volatile", "torn": "4KiB"},
    "torn 16KiB": {"mode": "volatile", "torn": "16KiB"},
    "torn 256B": {"mode": "volatile", "torn": "256B"},
    "lying, reordered": {"mode": "lying", "reordered": True},
    "capacitor": {"mode": "capacitor"},
    "flushes later": {"mode": "volatile", "flush_delay": "1min"},
    "lying": {"mode": "lying"},
    "FUA ignored": {"mode": "volatile", "fua_ignored": True},
}
FLUSH, FUA, NEITHER = "flush every 16", "fua", "data random"


def survived(
    folder: Path, disk: Device, promise: str, block: str = "4KiB"
) -> dict[str, Any]:
    """The fact `verify` of reads after a cut."""
    (line,) = read_after_cut(folder, disk, promise, READS, block).of("record")
    record = line["record"]
    return {"status": record["status"], **record["backend"]["facts"]["verify"]}


def read_after_cut(
    folder: Path, disk: Device, promise: str, reads: str, block: str = "4KiB"
) -> Done:
    """Writes, a cut, and a pass of reads."""
    run = f"random {block} {WRITES}, {promise}, verify for 4MiB"
    writes = f'plan "W"\ntest "W" {{ run {run} }}\n'
    for name, text in (("w", writes), ("r", reads)):
        if name == "r":
            assert ioplan("device", "cut", disk.folder).code == 0
        plan = plan_file(folder, text, f"{name}.ioplan")
        words = ("--overwrite", disk.disk, "--json", "--store", folder / "store")
        done = ioplan("run", plan, "--target", disk.disk, *words)
    return done


def lost(found: dict[str, Any]) -> set[str]:
    """The classes of blocks that a promise was broken for, or that are no content."""
    names = ("lost_flushed", "lost_fua", "older_than_durable", "torn", "foreign")
    more = ("misdirected", "stale", "no_stamp", "checksum")
    return {name for name in (*names, *more) if found[name]}


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cache", "promise"),
    [
        ("honest", FLUSH),
        ("honest", FUA),
        ("honest", NEITHER),
        ("none", NEITHER),
        ("reordered", FLUSH),
        ("torn 4KiB", FUA),
        ("capacitor", NEITHER),
    ],
)
@pytest.mark.promise("durability.not_accused")
def test_who_keeps_its_promise_is_not_accused(
    cache: str, promise: str, device: Starts, tmp_path: Path
) -> None:
    found = survived(tmp_path, device(cache=CACHES[cache]), promise)
    assert lost(found) == set() and found["status"] == "ok", found
    if cache in ("none", "capacitor"):
        assert found["kept"] > 0 and found["rolled_back"] == 0
    if cache == "honest" and promise == FUA:
        assert found["kept"] > 0 and found["rolled_back"] == 0
    if cache == "honest" and promise == NEITHER:
        assert found["rolled_back"] > 0


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cache", "promise", "broken"),
    [
        ("lying", FLUSH, {"lost_flushed"}),
        ("flushes later", FLUSH, {"lost_flushed"}),
        ("FUA ignored", FUA, {"lost_fua"}),
        ("torn 256B", NEITHER, {"torn"}),
    ],
)
@pytest.mark.promise("durability.broken")
def test_a_broken_promise_is_named_and_fails_the_run(
    cache: str, promise: str, broken: set[str], device: Starts, tmp_path: Path
) -> None:
    found = survived(tmp_path, device(cache=CACHES[cache]), promise)
    assert lost(found) == broken and found["status"] == "failed", found
    assert "was written last" in found["first"][0]["what"] or broken == {"torn"}


@pytest.mark.long
@pytest.mark.parametrize("cache", ["honest", "reordered", "torn 4KiB"])
def test_no_seed_of_a_device_has_it_accused(
    cache: str, device: Starts, tmp_path: Path
) -> None:
    for seed in range(2, 12):
        one = device(cache=CACHES[cache], seed=seed)
        found = survived(tmp_path, one, FLUSH, block="16KiB")
        assert lost(found) == set() and found["promised_by_flush"] > 0, (seed, found)


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cache", "reordered"), [("lying, reordered", True), ("lying", False)]
)
def test_an_earlier_state_is_told_from_a_mixture(
    cache: str, reordered: bool, device: Starts, tmp_path: Path
) -> None:
    found = survived(tmp_path, device(cache=CACHES[cache]), FLUSH)
    assert lost(found) == {"lost_flushed"}
    assert (found["reordered"] > 0) is reordered, found
    assert found["reordered"] <= found["lost_flushed"]


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cache", "unit_bytes"), [("torn 4KiB", 4096), ("torn 16KiB", 0), ("reordered", 0)]
)
def test_torn_writes_are_counted_with_their_unit_and_no_error(
    cache: str, unit_bytes: int, device: Starts, tmp_path: Path
) -> None:
    one = device(cache=CACHES[cache])
    found = survived(tmp_path, one, NEITHER, block="16KiB")
    assert lost(found) == set() and found["status"] == "ok", found
    assert (found["torn_writes"] > 0) is (unit_bytes > 0), found
    assert found["torn_unit_bytes"] == unit_bytes


@pytest.mark.long
def test_a_lie_about_flushes_is_no_lie_about_fua(
    device: Starts, tmp_path: Path
) -> None:
    found = survived(tmp_path, device(cache=CACHES["FUA ignored"]), FLUSH)
    assert lost(found) == set(), found


def test_what_survived_can_be_expected(device: Starts, tmp_path: Path) -> None:
    expects = "expect lost_flushed == 0 expect rolled_back > 0 expect kept == 1"
    reads = READS.replace("1 pass }", f"1 pass {expects} }}")
    one = device(cache=CACHES["honest"])
    done = read_after_cut(tmp_path, one, NEITHER, reads)
    verdicts = [v["outcome"] for v in done.of("record")[0]["record"]["verdicts"]]
    assert verdicts == ["undecided", "held", "failed"], "nothing was promised"
    assert done.code == 1, done.out[-2000:]
    calm = plan_file(tmp_path, reads.replace("verify, ", ""), "calm.ioplan")
    words = ("--target", one.disk, "--store", tmp_path / "store")
    assert "no block was judged" in ioplan("run", calm, *words).out


def test_without_the_journal_nothing_is_accused(device: Starts, tmp_path: Path) -> None:
    one = device(cache=CACHES["lying"])
    survived(tmp_path, one, NEITHER)
    shutil.rmtree(tmp_path / "state/ioplan/stamps")
    assert ioplan("device", "cut", one.folder).code == 0
