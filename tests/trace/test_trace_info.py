"""What `trace info` says of how many I/Os were outstanding, and of hot places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import ioplan

from ioplan.trace import ANSWERED, DTYPE, NO_RESPONSE, Ios, Prepared, prepared, write
from ioplan.trace import summary as summary_of
from ioplan.trace.summary import COLUMNS, summary


def recorded(count: int = 3000) -> Ios:
    """Poisson arrivals each ms, which take 5 ms each; every tenth is not known."""
    rng = np.random.default_rng(5)
    made = np.zeros(count, ANSWERED)
    made["time_ns"] = np.cumsum(rng.exponential(1e6, count)).astype("u8")
    made["time_ns"] -= made["time_ns"][0]
    made["size"] = 4096
    made["response_ns"] = rng.exponential(5e6, count).astype("u8")
    made["response_ns"][::10] = NO_RESPONSE
    return made


def test_outstanding_is_what_counting_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each arrival against all others, whatever the parts in which it is read."""
    monkeypatch.setattr(prepared, "CHUNK", 700)
    made = recorded()
    write(tmp_path / "x", [made])
    found = summary(Prepared.open(tmp_path / "x")).outstanding
    known = made[made["response_ns"] != NO_RESPONSE]
    begun = known["time_ns"].astype(np.int64)
    ends = begun + known["response_ns"].astype(np.int64)
    there = [((begun <= at) & (ends > at)).sum() for at in begun]
    span_ns = int(made["time_ns"][-1])
    part = np.minimum(begun * COLUMNS // span_ns, COLUMNS - 1)
    along = [max(np.array(there)[part == one]) for one in range(COLUMNS)]
    assert found is not None and found.unknown == 300
    assert found.along == tuple(along) and found.most == max(there)
    inside = np.minimum(ends, span_ns) - begun
    assert found.mean == pytest.approx(inside.sum() / span_ns)
    assert 4 < found.mean < 5  # Little's law: 0.9 for each ms, of 5 ms


def test_a_share_is_in_the_hottest_tenth(tmp_path: Path) -> None:
    made = np.zeros(1000, DTYPE)
    made["time_ns"], made["size"] = np.arange(1000) * 10**6, 4096
    made["offset"] = (np.arange(1000) % 20) << 20
    made["offset"][:500] = 1 << 20
    write(tmp_path / "x", [made])
    found = summary(Prepared.open(tmp_path / "x"))
    assert found.hot_share == pytest.approx(0.55) and found.outstanding is None
    assert sum(found.rates) / COLUMNS == pytest.approx(1000, rel=0.01)


def test_info_draws_them(tmp_path: Path) -> None:
    write(tmp_path / "x", [recorded()])
    done = ioplan("trace", "info", tmp_path / "x")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
    (line,) = [one for one in done.out.splitlines() if one.startswith("outstanding")]
    assert line.endswith("of 300 I/Os not known") and "at most" in line
    assert sum(one.startswith("            |") for one in done.out.splitlines()) == 2
    without = recorded()
    without["response_ns"] = NO_RESPONSE
    for made in (without, recorded()[list(DTYPE.names or ())].astype(DTYPE)):
        write(tmp_path / "x", [made])
        assert "not known: no completion" in ioplan("trace", "info", tmp_path / "x").out


def test_all_units_of_a_large_io_are_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A discard of 1 GiB, 8 MiB within it, and some beside and across its end."""
    monkeypatch.setattr(summary_of, "MOST_WIDE", 1)
    made = np.zeros(6, DTYPE)
    made["time_ns"] = np.arange(6)
    mib = 1 << 20
    made["offset"] = np.array([0, 3 * mib, 4096, 2000 * mib, 1020 * mib, 1500 * mib])
    made["size"] = [1024 * mib, 8 * mib, 4096, 4096, 10 * mib, mib + 1]
    write(tmp_path / "x", [made])
    found = summary(Prepared.open(tmp_path / "x"))
    assert found.touched_bytes == (1030 + 1 + 2) * mib


def test_what_takes_no_time_finds_itself_beside_others(tmp_path: Path) -> None:
    made = np.zeros(4, ANSWERED)
    made["time_ns"] = [0, 0, 500, 500]
    made["size"], made["response_ns"] = 4096, [1000, 1000, 0, 0]
    write(tmp_path / "x", [made])
    found = summary(Prepared.open(tmp_path / "x")).outstanding
    assert found and found.most == 4


@pytest.mark.parametrize(
    ("times_ms", "text"),
    [
        ((0, 500, 1000), "2.00 IOPS, 0.00819 MB/s; highest second 2"),
        ((0, 2), "500 IOPS"),
    ],
)
def test_the_mean_is_not_above_the_highest_second(
    times_ms: tuple[int, ...], text: str, tmp_path: Path
) -> None:
    made = np.zeros(len(times_ms), DTYPE)
    made["time_ns"], made["size"] = np.array(times_ms) * 10**6, 4096
    write(tmp_path / "x", [made])
    (line,) = (
        one
        for one in ioplan("trace", "info", tmp_path / "x").out.splitlines()
        if one.startswith("rate")
    )
    assert text in line and ("highest" in line) == (len(times_ms) == 3)


@pytest.mark.parametrize(
    ("readers", "share"), [(1, 1.0), (2, 0.99), (32, 0.84), (33, 0)]
)
def test_several_that_read_in_sequence_are_sequential(
    readers: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "CHUNK", 37)
    made = np.zeros(200, DTYPE)
    at = np.arange(200)
    made["time_ns"], made["size"] = at, 4096
    made["offset"] = (at % readers) * (1 << 30) + (at // readers) * 4096
    write(tmp_path / "x", [made])
    found = summary(Prepared.open(tmp_path / "x")).sequential_share
    assert found == pytest.approx(share, abs=0.006)
