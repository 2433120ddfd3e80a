"""What `trace info` says of how many I/Os were outstanding, and of hot places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import ioplan

from ioplan.trace import prepared
from ioplan.trace.prepared import ANSWERED, DTYPE, NO_RESPONSE, Ios, Prepared, write
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
