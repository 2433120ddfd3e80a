"""The suite `cloud/limits` on the scripted device's bucket, where the truth is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

from ioplan.witness.device import Device

pytestmark = pytest.mark.slow
Starts = Callable[..., Device]

BUCKETS = {
    "small": ({"iops": "500 iops", "burst_ios": 2_000}, "L1 IOPS", 500, 2_000, ""),
    "large": ({"iops": "1500 iops", "burst_ios": 6_000}, "L1 IOPS", 1_500, 6_000, ""),
    "bytes": (
        *({"bandwidth": "40MB/s", "burst": "100MB"}, "L2 bandwidth", 40e6, 100e6),
        "_bandwidth",
    ),
}


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later device may get the inode of an earlier one, and is another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("name", BUCKETS)
def test_limit_burst_and_refill_are_found(
    name: str, device: Starts, tmp_path: Path
) -> None:
    throttle, test, limit, size, unit = BUCKETS[name]
    one = device(size="64MiB", throttle=throttle)
    times = {"drain": "12s", "rest": "2s", "again": "8s", "depth": "8"}
    sets = [
        word for key, value in times.items() for word in ("--set", f"{key}={value}")
    ]
    promise = f"promised{unit or '_iops'}={limit * 0.95:.0f}{'B/s' if unit else 'iops'}"
    done = ioplan(
        *("run", "cloud/limits", "--target", one.disk, "--test", test, *sets),
        *("--set", promise, "--interval", "500ms", "--json"),
        *("--store", tmp_path / "store"),
    )
    assert done.code == 0, done.err + done.out[-2000:]
    found = figures(tmp_path / "store", unit)
    assert found["limit"] == pytest.approx(limit, rel=0.05)
    assert found["burst"] == pytest.approx(size, rel=0.05)
    assert found["refill"] == pytest.approx(limit, rel=0.05)


FOUND = re.compile(
    r"sustains (\S+) IOPS \((\S+) MB/s\) after a burst of (\S+) I/Os \((\S+) MB\)"
    r".* (\S+) I/Os were back: (\S+) a second"
)


def figures(store: Path, unit: str) -> dict[str, float]:
    """What the report says of the two runs; of bytes in those of 256 KiB."""
    shown = " ".join(ioplan("show", "--store", store).out.split())
    found = FOUND.search(shown)
    assert found, shown
    iops, megabytes, burst, burst_megabytes, _, refill = map(number, found.groups())
    if unit:
        limit, size = megabytes * 1e6, burst_megabytes * 1e6
        return {"limit": limit, "burst": size, "refill": refill * (256 << 10)}
    return {"limit": iops, "burst": burst, "refill": refill}


def number(text: str) -> float:
    """As it is shown, perhaps with a `k`."""
    return float(text.rstrip("k").replace(",", "").replace("_", "")) * (
        1000 if text.endswith("k") else 1
    )


def test_a_promise_that_is_not_kept_fails(device: Starts, tmp_path: Path) -> None:
    one = device(size="64MiB", throttle={"iops": "400 iops", "burst_ios": 800})
    sets: list[Any] = [
        "--set",
        "rest=1s",
        "--set",
        "again=4s",
        "--set",
        "promised_iops=1000iops",
        "--set",
        "drain=6s",
    ]
    done = ioplan(
        *("run", "cloud/limits", "--target", one.disk, "--test", "L1*", *sets),
        *("--interval", "250ms", "--store", tmp_path / "store"),
    )
    assert done.code == 1 and "drained.sustained" in done.out
