"""`ioplan model`: what a model's run issues is what its trace has, by a test device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ioplan

from ioplan.language import check_file
from ioplan.planner import Run, unfold
from ioplan.trace import DTYPE, READ, WRITE, Ios, write
from ioplan.workload import Hotspots, Stream
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]

COUNT, SECOND, BLOCK = 3_000, 10**9, 4096


def recorded() -> Ios:
    """Reads of 4 and 16 KiB, and 30 % writes of 8 KiB; every second I/O continues the
    one before it of its direction; half of the others are in the first fifth."""
    random = np.random.default_rng(5)
    made = np.zeros(COUNT, DTYPE)
    times = np.cumsum(random.exponential(SECOND / 1_000, COUNT)).astype("u8")
    made["time_ns"] = times - times[0]
    made["kind"] = np.where(random.random(COUNT) < 0.3, WRITE, READ)
    made["size"] = (
        np.where(made["kind"] == WRITE, 2, random.choice([1, 4], COUNT)) * BLOCK
    )
    hot = random.random(COUNT) < 0.5
    made["offset"] = (
        np.where(
            hot, random.integers(0, 1600, COUNT), random.integers(1600, 8000, COUNT)
        )
        * BLOCK
    )
    for kind in (READ, WRITE):
        own = np.flatnonzero(made["kind"] == kind)
        for before, after in zip(own[::2], own[1::2], strict=False):
            made["offset"][after] = made["offset"][before] + made["size"][before]
    return made


def modelled(path: Path, ios: Ios) -> Stream:
    """The stream of the model of a trace."""
    write(path, [ios])
    plan = path.with_suffix(".ioplan")
    assert ioplan("model", str(path), "-o", str(plan)).code == 0
    (step,) = unfold(check_file(plan))
    assert isinstance(step, Run)
    (stream,) = step.workload.streams
    return stream


def issued(device: Device) -> Ios:
    """What arrived in the run: its writes, and the reads between them."""
    entries = seen(device)
    writes = np.flatnonzero(entries["kind"] == WRITE)
    entries = entries[writes[0] : writes[-1] + 1]
    made = np.zeros(len(entries), DTYPE)
    made["time_ns"] = entries["arrived_ns"] - entries["arrived_ns"][0]
    for field in ("kind", "offset", "size"):
        made[field] = entries[field]
    return made


@pytest.mark.long
def test_a_models_run_has_the_load_of_its_trace(
    device: Callable[..., Device], tmp_path: Path
) -> None:
    asked, plan = (
        modelled(tmp_path / "web.iotrace", recorded()),
        tmp_path / "web.ioplan",
    )
    made = device(size="32MiB")
    target = ("--target", made.disk, "--overwrite-data", made.disk)
    done = ioplan("run", str(plan), *target, "--backend", "io_uring", "--json")
    assert done.record["status"] == "ok", (done.err, plan.read_text())
    found = modelled(tmp_path / "issued.iotrace", issued(made))
    assert asked.rate and found.rate and asked.rate.iops and found.rate.iops
    assert found.rate.iops == pytest.approx(asked.rate.iops, rel=0.06)
    assert found.read_percent == pytest.approx(asked.read_percent, abs=4)
    assert found.random_percent == pytest.approx(asked.random_percent, abs=6)
    for sizes, others in (
        (found.read_sizes, asked.read_sizes),
        (found.write_sizes, asked.write_sizes),
    ):
        shares = {one.size_bytes: one.percent for one in sizes}
        assert shares == pytest.approx({o.size_bytes: o.percent for o in others}, abs=5)
    assert hot_percent(found) == pytest.approx(50, abs=5)


def hot_percent(stream: Stream) -> float:
    """Of the random I/Os, the share in the first fifth of the space."""
    assert isinstance(stream.distribution, Hotspots)
    end_percent, found = 0.0, 0.0
    for spot in stream.distribution.spots:
        end_percent += spot.space_percent
        found += spot.io_percent * (end_percent <= 21)
    return found
