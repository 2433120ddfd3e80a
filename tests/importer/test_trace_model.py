"""`ioplan model`: a plan with the load of a trace, and how far it is from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as some

from ioplan.language import Source, check
from ioplan.trace import (
    DISCARD,
    DTYPE,
    FLUSH,
    READ,
    WRITE,
    Ios,
    Prepared,
    TraceError,
    write,
)
from ioplan_importer.trace_model.command import (
    Distance,
    distance,
    model_text,
    phase_edges,
)
from ioplan_importer.trace_model.fit import (
    CELLS,
    FIXED,
    POISSON,
    Fit,
    Phase,
    fit,
    gamma_below,
    phases,
)

SECOND = 10**9
KIB = 1024


def written(folder: Path, ios: Ios) -> Prepared:
    write(folder / "a.iotrace", [ios])
    return Prepared.open(folder / "a.iotrace")


def fitted(trace: Prepared) -> tuple[list[Phase], list[Fit]]:
    counts = phases(trace, phase_edges(trace))
    return counts, [fit(one) for one in counts]


def off(folder: Path, ios: Ios) -> Distance:
    return distance(*fitted(written(folder, ios)))


def poisson(seed: int, count: int, iops: float) -> Ios:
    """Random reads of 4 KiB in 1 GiB."""
    random = np.random.default_rng(seed)
    made = np.zeros(count, DTYPE)
    times = np.cumsum(random.exponential(SECOND / iops, count)).astype("u8")
    made["time_ns"] = times - times[0]
    made["size"] = 4 * KIB
    made["offset"] = random.integers(0, 1 << 18, count) * 4 * KIB
    return made


def clocked(count: int, iops: int, start_ns: int) -> Ios:
    """Writes of 16 KiB in sequence, with FUA, and a flush behind each four."""
    made = np.zeros(count * 5 // 4, DTYPE)
    at = np.arange(len(made))
    flush, number = at % 5 == 4, at - at // 5
    made["time_ns"] = start_ns + (number * (SECOND // iops))
    made["kind"] = np.where(flush, FLUSH, WRITE)
    made["size"] = np.where(flush, 0, 16 * KIB)
    made["offset"] = np.where(flush, 0, number * 16 * KIB)
    made["flags"] = ~flush
    return made


def traced(draw: Any) -> Ios:
    count = draw(some.integers(1, 60))
    random = np.random.default_rng(draw(some.integers(0, 1 << 32)))
    made = np.zeros(count, DTYPE)
    gaps = random.integers(0, draw(some.sampled_from((1, 2, 10**4, 10**10))), count)
    made["time_ns"] = np.cumsum(gaps) - gaps[0]
    made["kind"] = random.choice(
        draw(some.lists(some.integers(0, 3), min_size=1)), count
    )
    most = draw(some.sampled_from((2, 9000, 1 << 22, 1 << 31)))
    made["size"] = random.integers(1, most, count)
    made["offset"] = random.integers(0, draw(some.sampled_from((1, 1 << 43))), count)
    if draw(some.booleans()):
        ends = np.cumsum(made["size"].astype("u8"))
        made["offset"] = np.concatenate(([0], ends[:-1]))
    made["flags"] = random.integers(0, 2, count)
    flush = made["kind"] == FLUSH
    made["size"][flush] = made["offset"][flush] = 0
    return made


@given(ios=some.composite(traced)())
@pytest.mark.long
def test_a_model_of_any_trace_is_a_valid_plan(
    tmp_path_factory: pytest.TempPathFactory, ios: Ios
) -> None:
    trace = written(tmp_path_factory.mktemp("model"), ios)
    try:
        text = model_text("a.iotrace", trace)
    except TraceError as error:
        nothing = not (ios["kind"] != FLUSH).any()
        assert nothing or not trace.header.span_ns, error
        return
    assert check(Source("a.ioplan", text), (), {}).tests


@pytest.mark.parametrize(
    ("count", "each_ms"), [(200, 5), (100, 10), (50, 3), (5000, 1)]
)
def test_a_short_clock_is_a_clock(count: int, each_ms: int, tmp_path: Path) -> None:
    """Of N I/Os there are N - 1 gaps, so that N by the span is a bit too fast."""
    _, found = fitted(written(tmp_path, clocked(count, 1000 // each_ms, 0)))
    assert {one.variation for one in found} == {FIXED}


def test_the_parameters_of_a_known_load_are_found(tmp_path: Path) -> None:
    """Random reads for 100 s, then writes by the clock: two phases."""
    first = poisson(1, 50_000, 500)
    second = clocked(200_000, 2_000, int(first["time_ns"][-1]) + SECOND)
    first["kind"][::4] = WRITE
    first["size"][:20_000] = 64 * KIB
    trace = written(tmp_path, np.concatenate((first, second)))
    _, (reads, writes) = fitted(trace)
    assert reads.end_ns == pytest.approx(int(first["time_ns"][-1]), rel=0.02)
    assert reads.iops == pytest.approx(500, rel=0.03)
    assert writes.iops == pytest.approx(2_000, rel=0.03)
    assert (reads.variation, writes.variation) == (POISSON, FIXED)
    assert reads.reads == pytest.approx(750, abs=5)
    assert reads.random == (1000, 1000)
    assert reads.sizes[0] == {
        4096: pytest.approx(600, abs=10),
        65536: pytest.approx(400, abs=10),
    }
    assert (writes.reads, writes.sizes[1], writes.random[1]) == (0, {16384: 1000}, 1)
    assert (writes.flush_every, writes.fua, reads.flush_every, reads.fua) == (
        4,
        True,
        0,
        False,
    )
    text = model_text("known", trace)
    assert re.search(r"phase_2 = sequential 16KiB 0/100", " ".join(text.split()))
    assert "flush every 4" in text and "fua" in text


def test_shares_of_sequential_io_and_hot_places_are_found(tmp_path: Path) -> None:
    """Nine of ten random reads in a tenth of the space; each is followed by two."""
    random = np.random.default_rng(3)
    ios = poisson(2, 60_000, 1_000)
    hot = random.random(20_000) < 0.9
    blocks = np.where(
        hot,
        random.integers(0, 26_214, 20_000),
        random.integers(26_214, 262_140, 20_000),
    )
    ios["offset"] = (np.repeat(blocks, 3) + np.tile([0, 1, 2], 20_000)) * 4 * KIB
    counts, (one,) = fitted(written(tmp_path, ios))
    assert one.random[0] == pytest.approx(333, abs=3)
    assert one.places[0] == (
        pytest.approx(9_000, abs=100),
        pytest.approx(CELLS // 10, abs=2),
    )
    assert distance(counts, [one]).places < 0.012


def test_what_a_model_has_not_is_its_distance(tmp_path: Path) -> None:
    """Pairs of arrivals at one time: half of the gaps are 0, of gamma's none are."""
    ios = poisson(4, 40_000, 1_000)
    assert off(tmp_path, ios).gaps < 0.02
    ios["time_ns"][1::2] = ios["time_ns"][::2]
    assert 0.2 < off(tmp_path, ios).gaps < 0.5
    many = poisson(5, 40_000, 1_000)
    many["size"] = np.random.default_rng(6).integers(1, 21, 40_000) * 4 * KIB
    assert off(tmp_path, many).sizes == pytest.approx(0.1, abs=0.06)


def drawn(one: Fit, count: int) -> dict[str, np.ndarray]:
    """What the clauses say, drawn I/O by I/O."""
    random = np.random.default_rng(7)
    widths = np.array([width for _, width in one.places])
    parts = np.array([part for part, _ in one.places])
    at = random.choice(len(parts), count, p=parts / parts.sum())
    places = (np.cumsum(widths) - widths)[at] + random.random(count) * widths[at]
    sizes, shape = one.sizes[0], one.variation**-2
    return {
        "offset": places / CELLS,
        "size": random.choice(list(sizes), count, p=np.array([*sizes.values()]) / 1000),
        "gap": random.gamma(shape, SECOND / one.iops / shape, count),
    }


def largest_difference(one: np.ndarray, other: np.ndarray) -> float:
    """Kolmogorov and Smirnov's distance of two samples, by its definition."""
    both = np.sort(np.concatenate((one, other)))
    found = [
        np.searchsorted(np.sort(some), both, "right") / len(some)
        for some in (one, other)
    ]
    return float(np.abs(found[0] - found[1]).max())


def test_the_distance_is_that_of_what_the_clauses_draw(tmp_path: Path) -> None:
    ios = poisson(8, 100_000, 1_000)
    random = np.random.default_rng(9)
    ios["size"] = random.geometric(0.1, 100_000) * 4 * KIB
    ios["offset"] = (random.beta(1, 4, 100_000) * (1 << 18)).astype("u8") * 4 * KIB
    ios["time_ns"] = np.cumsum(random.gamma(0.25, 4 * SECOND / 1000, 100_000))
    ios["time_ns"] -= ios["time_ns"][0]
    trace = written(tmp_path, ios)
    counts, fits = fitted(trace)
    assert len(fits) == 1 and fits[0].variation == pytest.approx(2, abs=0.2)
    said = distance(counts, fits)
    model = drawn(fits[0], 200_000)
    space = trace.header.end_bytes
    assert largest_difference(ios["offset"] / space, model["offset"]) == pytest.approx(
        said.places, abs=0.006
    )
    assert largest_difference(ios["size"], model["size"]) == pytest.approx(
        said.sizes, abs=0.006
    )
    assert largest_difference(
        np.diff(ios["time_ns"].astype(float)), model["gap"]
    ) == pytest.approx(said.gaps, abs=0.03)


@pytest.mark.parametrize("shape", [0.01, 0.25, 1.0, 25.0])
def test_the_incomplete_gamma_function_is_what_is_drawn(shape: float) -> None:
    """Against numpy's own generator; of shape 1, also against its closed form."""
    x = np.linspace(0.01, 3, 60) * max(shape, 1)
    samples = np.sort(np.random.default_rng(1).gamma(shape, 1, 1_000_000))
    below = np.searchsorted(samples, x) / len(samples)
    assert np.abs(gamma_below(shape, x) - below).max() < 0.003
    if shape == 1:
        assert np.abs(gamma_below(shape, x) + np.expm1(-x)).max() < 1e-9


@pytest.mark.long
def test_the_command_writes_a_plan_and_replaces_none(tmp_path: Path) -> None:
    written(tmp_path, poisson(10, 2_000, 1_000))
    output = tmp_path / "a.ioplan"
    words = ("model", str(tmp_path / "a.iotrace"), "-o", str(output))
    assert ioplan(*words).code == 0
    assert ioplan("check", str(output)).code == 0
    output.write_text("what somebody wrote\n")
    again = ioplan(*words)
    assert again.code == 2 and "--force" in again.err
    assert output.read_text() == "what somebody wrote\n"
    assert ioplan(*words, "--force").code == 0
    still = tmp_path / "still.iotrace"
    write(still, [poisson(11, 1, 1)])
    refused = ioplan("model", str(still))
    assert refused.code == 2 and "no rate" in refused.err


def test_discards_are_a_share(tmp_path: Path) -> None:
    ios = poisson(12, 10_000, 1_000)
    ios["kind"][::10], ios["kind"][1::10] = DISCARD, WRITE
    assert (ios["kind"] == READ).sum() == 8_000
    _, (one,) = fitted(written(tmp_path, ios))
    assert one.discards == 100 and one.reads == pytest.approx(889, abs=1)
