"""What `trace info` says of how many I/Os were outstanding, and of hot places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from traces import figure, info_of

from ioplan.trace import ANSWERED, CHUNK, DTYPE, NO_RESPONSE, Ios, write

MIB = 1 << 20


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


def test_outstanding_is_what_counting_gives(tmp_path: Path) -> None:
    """Each arrival against all others, whatever the parts in which it is read."""
    made = recorded(CHUNK + 5000)
    write(tmp_path / "x", [made])
    shown = info_of(tmp_path / "x")
    known = made[made["response_ns"] != NO_RESPONSE]
    begun = known["time_ns"].astype(np.int64)
    ends = begun + known["response_ns"].astype(np.int64)
    begun_by = np.searchsorted(begun, begun, "right")
    there = begun_by - np.searchsorted(np.sort(ends), begun, "right")
    assert figure(shown, r"at most (\d+)") == there.max()
    assert f"of {len(made) - len(known):_} I/Os not known" in shown
    span_ns = int(made["time_ns"][-1])
    mean = (np.minimum(ends, span_ns) - begun).sum() / span_ns
    assert figure(shown, r"outstanding +(\S+) on average") == pytest.approx(
        mean, rel=0.01
    )
    assert 4 < mean < 5  # Little's law: 0.9 for each ms, of 5 ms


def test_a_share_is_in_the_hottest_tenth(tmp_path: Path) -> None:
    made = np.zeros(1000, DTYPE)
    made["time_ns"], made["size"] = np.arange(1000) * 10**6, 4096
    made["offset"] = (np.arange(1000) % 20) << 20
    made["offset"][:500] = 1 << 20
    write(tmp_path / "x", [made])
    shown = info_of(tmp_path / "x")
    assert "locality    55.0 % begin in" in shown and "rate        1.00k IOPS" in shown


def test_info_draws_them(tmp_path: Path) -> None:
    write(tmp_path / "x", [recorded()])
    lines = info_of(tmp_path / "x").splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = [one for one in lines if one.startswith("outstanding")]
    assert line.endswith("of 300 I/Os not known") and "at most" in line
    assert sum(one.startswith("            |") for one in lines) == 2
    without = recorded()
    without["response_ns"] = NO_RESPONSE
    for made in (without, recorded()[list(DTYPE.names or ())].astype(DTYPE)):
        write(tmp_path / "x", [made])
        assert "not known: no completion" in info_of(tmp_path / "x")


def test_all_units_of_a_large_io_are_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A discard of 64 MiB, 8 MiB within it, and some beside and across its end."""
    monkeypatch.setattr("ioplan.trace.summary.MOST_WIDE", 1)
    made = np.zeros(6, DTYPE)
    made["time_ns"] = np.arange(6) * 10**9
    made["offset"] = np.array([0, 3 * MIB, 4096, 200 * MIB, 60 * MIB, 150 * MIB])
    made["size"] = [64 * MIB, 8 * MIB, 4096, 4096, 10 * MIB, MIB + 1]
    write(tmp_path / "x", [made])
    assert "76.5 MB touched" in info_of(tmp_path / "x"), "70 MiB, and 1, and 2"


def test_what_takes_no_time_finds_itself_beside_others(tmp_path: Path) -> None:
    made = np.zeros(4, ANSWERED)
    made["time_ns"] = [0, 0, 500, 500]
    made["size"], made["response_ns"] = 4096, [1000, 1000, 0, 0]
    write(tmp_path / "x", [made])
    assert "at most 4\n" in info_of(tmp_path / "x")


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
    lines = info_of(tmp_path / "x").splitlines()
    (line,) = [one for one in lines if one.startswith("rate")]
    assert text in line and ("highest" in line) == (len(times_ms) == 3)


@pytest.mark.parametrize(
    ("readers", "share"), [(1, 1.0), (2, 0.99), (32, 0.84), (33, 0)]
)
def test_several_that_read_in_sequence_are_sequential(
    readers: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioplan.trace.prepared.CHUNK", 37)
    made = np.zeros(200, DTYPE)
    at = np.arange(200)
    made["time_ns"], made["size"] = at, 4096
    made["offset"] = (at % readers) * (1 << 30) + (at // readers) * 4096
    write(tmp_path / "x", [made])
    found = figure(info_of(tmp_path / "x"), r"sequential +(\S+) %")
    assert found == pytest.approx(100 * share, abs=0.6)
