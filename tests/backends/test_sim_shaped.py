"""A shaped write on the simulated drive, by the map of its pages alone."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from sim_drive import Bench, spare_drive, stream

from ioplan.workload import Stream
from ioplan_sim import DriveSpec, FlashSpec
from ioplan_sim.flash import Flash
from ioplan_sim.placement import Shaped, fall
from ioplan_sim.ssd import large_blocks

SPARES = (7, 15, 28)
PAGES = 1 << 15


@pytest.mark.parametrize("spare", SPARES)
def test_the_last_block_keeps_what_theory_says(spare: int) -> None:
    """Write amplification is 1 / (1 - kept), by a formula without `kept`."""
    kept = exp(-fall(spare))
    assert 1 / (1 - kept) == pytest.approx(large_blocks(spare / 100), rel=1e-9)


@pytest.mark.parametrize("spare", SPARES)
@pytest.mark.parametrize("step", [1, 100, 5000, 10**6])
def test_each_slot_is_written_and_the_flash_once(spare: int, step: int) -> None:
    count = 5000
    shaped, found = Shaped(count, spare, np.random.default_rng(1)), []
    for _ in range(0, 2 * count, step):
        found += shaped.take(step).tolist()
    assert {*found} == {*range(count)}
    assert len(found) == pytest.approx(count * (1 + spare / 100), rel=0.01)
    last = {slot: place for place, slot in enumerate(found)}
    valid = np.array([last[slot] == place for place, slot in enumerate(found)])
    for part, flags in enumerate(np.array_split(valid, 5)):
        expected = exp(-fall(spare) * (1 - (part + 0.5) / 5))
        assert flags.mean() == pytest.approx(expected, abs=0.05)


def amplification(flash: Flash, rng: np.random.Generator, passes: float) -> float:
    """Of so many passes of random writes."""
    host, programmed = flash.host_pages, flash.programmed_pages
    for _ in range(int(passes * PAGES) // 256):
        flash.write(rng.integers(0, PAGES, 256), 1.0)
    return (flash.programmed_pages - programmed) / (flash.host_pages - host)


@pytest.mark.parametrize("spare", SPARES)
def test_the_next_writes_are_amplified_as_in_steady_state(spare: int) -> None:
    """After what is left of the erased blocks, a twentieth of a pass."""
    rng = np.random.default_rng(1)
    old, new = (Flash(spare_drive(PAGES, spare)) for _ in range(2))
    old.write(rng.permutation(PAGES), 1.0)
    amplification(old, rng, 3)
    shaped = Shaped(PAGES, spare, rng)
    while len(places := shaped.take(4096)):
        new.write(places, 1.0)
    assert new.programmed_pages <= 1.001 * PAGES * (1 + spare / 100)
    amplification(new, rng, 0.1)
    steady, found = amplification(old, rng, 1), amplification(new, rng, 1)
    assert found == pytest.approx(steady, rel=0.03)


def writes(size_bytes: int, **more: float) -> Stream:
    return stream(size_bytes, read_percent=0, qd=8, **more)


def amplified(passes: float, *before: tuple[Stream, float]) -> float:
    """By random 4 KiB on units of 16 KiB, after so many passes of other writes."""
    flash = FlashSpec.model_validate({"map": "16KiB", "erase_block": "1MiB"})
    spec = DriveSpec.model_construct(over_provisioning=15.0, flash=flash)
    bench = Bench(spec, 1 << 28)
    for written, count in before:
        bench.run(written, passes=count)
    found, _ = bench.run(writes(4096), passes=passes)
    return float(found.facts["write_amplification"])


def test_a_write_smaller_than_a_unit_writes_all_of_it() -> None:
    assert amplified(0.1) == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize("size_bytes", [4096, 16384])
@pytest.mark.long
def test_a_shaped_pass_leaves_the_steady_state_of_units(size_bytes: int) -> None:
    """Also of pieces of units, for four times the flash."""
    steady = amplified(0.3, (writes(4096), 2))
    found = amplified(0.3, (writes(size_bytes, spare_percent=15), 1.15))
    assert steady > 8
    assert found == pytest.approx(steady, rel=0.05)
