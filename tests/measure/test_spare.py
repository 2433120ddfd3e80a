"""Write amplification by the spare, and what a drive's own says of a stated one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.records import RunRecord
from ioplan.results.measure import steady_waf
from ioplan.results.measure.wear import StatedSpare, spare_percent_of
from ioplan.results.store import Store
from ioplan_sim.ssd import large_blocks

SPARES = (7, 15, 28)


@pytest.mark.parametrize("percent", [2, *SPARES, 100])
def test_the_model_is_that_of_another_derivation(percent: float) -> None:
    """Xiang and Kurkoski's, by Lambert's function."""
    assert steady_waf(percent) == pytest.approx(large_blocks(percent / 100), rel=1e-6)
    assert spare_percent_of(steady_waf(percent)) == pytest.approx(percent)


def test_a_spare_fits_within_a_fifth() -> None:
    stated = StatedSpare(15)
    assert not stated.misfit(1.19 * steady_waf(15))
    assert not stated.misfit(0.81 * steady_waf(15))
    assert stated.misfit(steady_waf(28)).endswith("it reads as 28 %")
    assert "not fit" in stated.misfit(1.0)


def test_units_of_a_map_may_multiply_it() -> None:
    stated = StatedSpare(15, sizes=4)
    assert not stated.misfit(steady_waf(15))
    assert not stated.misfit(4 * steady_waf(15))
    assert "28 %" in stated.misfit(4 * steady_waf(28))


def test_what_is_not_collected_is_spare() -> None:
    stated = StatedSpare(7, is_least=True)
    stated.uncollected(21)
    assert not stated.misfit(steady_waf(28))
    stated = StatedSpare(7)
    stated.uncollected(21)
    assert stated.misfit(steady_waf(28))


def shaped(
    folder: Path,
    spare: str,
    real: int,
    more: str = "",
    capacity: str = "32GiB",
    every: str = "1%",
) -> tuple[RunRecord, RunRecord]:
    """The second step, and the run after it, on a drive of a spare."""
    drive = folder / "drive.toml"
    drive.write_text(f'over_provisioning = "{real}%"\n{more}')
    write = (
        f"write random 4KiB, qd 32, until steady waf every {every}, at most 2 passes"
    )
    text = (
        'plan "P"\non unsteady continue\nprecondition p {\n  purge\n'
        f"  write random 4KiB shaped, spare {spare}, qd 32\n  {write}\n}}\n"
        'test "T" { after p run random 4KiB 0/100, qd 32 for 10s }\n'
    )
    store = folder / "results.db"
    call = ("run", plan_file(folder, text), "--sim", drive, "--create", capacity)
    assert ioplan(*call, "--store", store, "--quiet").code == 0
    with Store.open(store) as found:
        *_, step, run = found.records(found.session("last").id)
    return step, run


def waf(run: RunRecord) -> float:
    assert run.wear
    assert run.wear.media_written_bytes
    return run.wear.media_written_bytes / run.wear.host_written_bytes


@pytest.mark.parametrize("spare", ["auto", "7%"])
def test_memory_that_is_written_in_place_is_steady_after_a_pass(
    tmp_path: Path, spare: str
) -> None:
    in_place = "[flash]\nin_place = true\n"
    step, run = shaped(tmp_path, spare, 5, in_place)
    assert step.steady
    assert step.steady.reached, step.steady.why
    assert step.wear
    assert 0.9 < step.wear.host_written_bytes / (32 << 30) < 1.4  # in large windows
    assert waf(run) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ('step = "64MiB"', ""),  # 1.6 windows
        ('every = "2min"', "nothing was written"),
    ],
)
def test_a_coarse_log_is_enough_and_a_late_one_is_told(
    tmp_path: Path, log: str, why: str
) -> None:
    step, _ = shaped(tmp_path, "28%", 28, f"[log]\n{log}\n", "4GiB")
    assert step.steady
    assert step.steady.reached == (not why)
    assert why in step.steady.why


@pytest.mark.slow
@pytest.mark.parametrize("real", SPARES)
@pytest.mark.long
def test_a_spare_is_found_and_the_state_is_steady(tmp_path: Path, real: int) -> None:
    """Of a small drive the windows are longer: erase blocks are a larger share of it."""
    (tmp_path / "right").mkdir()
    _, right = shaped(tmp_path / "right", f"{real}%", real)
    step, run = shaped(tmp_path, "auto", real, every="3%")
    assert step.steady
    assert step.steady.reached, step.steady.why
    assert waf(run) == pytest.approx(waf(right), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "real"), [p for p in product(SPARES, SPARES) if p[0] != p[1]]
)
@pytest.mark.long
def test_a_wrong_spare_is_not_called_steady(
    tmp_path: Path, stated: int, real: int
) -> None:
    step, _ = shaped(tmp_path, f"{stated}%", real)
    assert step.steady
    assert not step.steady.reached
    if (stated, real) == (7, 28):
        _, _, read = step.steady.why.rpartition("it reads as ")
        assert float(read.removesuffix(" %")) == pytest.approx(real, abs=3)
