"""`ioplan model`: what a model's run issues is what its trace has, by a test device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ioplan

from ioplan.trace import DTYPE, READ, WRITE, Ios, Prepared, write
from ioplan_importer.trace_model.command import phase_edges
from ioplan_importer.trace_model.fit import Fit, fit, phases
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


def fitted(path: Path, ios: Ios) -> Fit:
    write(path, [ios])
    trace = Prepared.open(path)
    (only,) = phases(trace, phase_edges(trace))
    return fit(only)


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
    asked = fitted(tmp_path / "web.iotrace", recorded())
    plan = tmp_path / "web.ioplan"
    assert ioplan("model", str(tmp_path / "web.iotrace"), "-o", str(plan)).code == 0
    made = device(size="32MiB")
    target = ("--target", made.disk, "--overwrite-data", made.disk)
    done = ioplan("run", str(plan), *target, "--backend", "io_uring", "--json")
    assert done.of("record"), (done.err, plan.read_text())
    assert done.of("record")[0]["record"]["status"] == "ok", done.err
    found = fitted(tmp_path / "issued.iotrace", issued(made))
    assert found.iops == pytest.approx(asked.iops, rel=0.06)
    assert found.reads == pytest.approx(asked.reads, abs=40)
    assert found.random == pytest.approx(asked.random, abs=60)
    assert asked.variation == 1  # of what arrived: only on an idle CPU
    for one, other in zip(found.sizes, asked.sizes, strict=True):
        assert one == pytest.approx(other, abs=50)
    hot = sum(part for part, end in ends(found) if end <= 2_100)
    assert hot == pytest.approx(5_000, abs=500)


def ends(one: Fit) -> list[tuple[int, int]]:
    """Shares of the random I/Os, each with the end of its stretch of the space."""
    widths = np.cumsum([width for _, width in one.places]).tolist()
    return [(part, end) for (part, _), end in zip(one.places, widths, strict=True)]
