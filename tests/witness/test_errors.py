"""`errors allowed`: the faults of a scripted device, as a record has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file

from ioplan.witness.device import Device

EVERY_TENTH = [{"error": "EIO", "every": 10, "nth": 10}]


def run(device: Device, folder: Path, clause: str, length: str = "1s") -> Done:
    """A run of reads with this clause."""
    plan = f'test "A" {{ run random 4KiB 100/0, qd 4{clause} for {length} }}'
    target = ("--target", device.disk, "--backend", "io_uring", "--json")
    return ioplan("run", plan_file(folder, plan), *target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clause", "says"),
    [
        ("", "I/Os failed"),
        (", errors allowed up to 5", ": 6 I/Os failed"),
        (", errors allowed up to 5%", "main may have 5 % and has 10 %"),
    ],
)
def test_more_errors_than_allowed_fail_the_run(
    clause: str, says: str, device: Callable[..., Device], tmp_path: Path
) -> None:
    done = run(device(fault=EVERY_TENTH), tmp_path, clause)
    record = done.of("record")[0]["record"]
    assert done.code != 0 and record["status"] == "failed"
    assert says in record["message"], record["message"]


@pytest.mark.slow
@pytest.mark.parametrize("clause", ["", " up to 15%", " up to 1_000_000"])
def test_allowed_errors_are_counted_by_errno(
    clause: str, device: Callable[..., Device], tmp_path: Path
) -> None:
    """And their latencies are not those of the reads."""
    slow = [{"shape": "fixed", "value": "2ms"}]
    made = device(fault=EVERY_TENTH, latency=slow)
    done = run(made, tmp_path, f", errors allowed{clause}")
    assert done.code == 0, done.out
    record: dict[str, Any] = done.of("record")[0]["record"]
    read = record["directions"]["read"]
    errors = record["backend"]["facts"]["errors"]
    assert errors["main"]["EIO"]["ios"] == read["errors"]
    assert read["errors"] == pytest.approx(read["ios"] / 9, abs=2)
    assert errors["main"]["EIO"]["mean_ns"] >= 2_000_000
    assert any("main:" in one and "EIO" in one for one in record["warnings"])
