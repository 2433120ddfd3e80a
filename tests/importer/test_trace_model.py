"""`ioplan model`: a plan with the load of a trace, and how far it is from it."""

import re

import numpy as np
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as some
from imported import streams_of

from ioplan.trace import DISCARD, DTYPE, FLUSH, READ, WRITE, write

SECOND = 10**9
KIB = 1024
SPACE = 1 << 18
"""Blocks of 4 KiB in 1 GiB."""


def modelled(folder, ios):
    """The text of the plan of a trace, and its streams."""
    write(folder / "a.iotrace", [ios])
    done = ioplan("model", folder / "a.iotrace", "--not-simulated")
    assert (done.code, done.err) == (0, "")
    assert "simulated" not in done.out
    return done.out, streams_of(done.out)


def distances(text):
    """Those that the plan says: of sizes, gaps and places."""
    words = " ".join(text.replace("#", "").split())
    return {
        name: float(value)
        for name, value in re.findall(r"(sizes|gaps|places) (\d\.\d+)", words)
    }


def poisson(seed, count, iops, blocks=SPACE):
    """Random reads of 4 KiB, in 1 GiB if nothing else is asked."""
    random = np.random.default_rng(seed)
    made = np.zeros(count, DTYPE)
    times = np.cumsum(random.exponential(SECOND / iops, count)).astype("u8")
    made["time_ns"] = times - times[0]
    made["size"] = 4 * KIB
    made["offset"] = random.integers(0, blocks, count) * 4 * KIB
    return made


def clocked(count, iops, start_ns):
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


def traced(draw):
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
def test_a_model_of_any_trace_is_a_valid_plan(tmp_path_factory, ios):
    path = tmp_path_factory.mktemp("model") / "a.iotrace"
    write(path, [ios])
    done = ioplan("model", path, "--not-simulated")
    if done.code == 2:
        nothing = not (ios["kind"] != FLUSH).any()
        assert nothing or not np.ptp(ios["time_ns"]), done.err
    else:
        assert streams_of(done.out)


@pytest.mark.parametrize(
    ("count", "each_ms"), [(200, 5), (100, 10), (50, 3), (5000, 1)]
)
def test_a_short_clock_is_a_clock(count, each_ms, tmp_path):
    """Of N I/Os there are N - 1 gaps, so that N by the span is a bit too fast."""
    text, streams = modelled(tmp_path, clocked(count, 1000 // each_ms, 0))
    assert {one.rate.arrivals for one in streams if one.rate} == {"fixed"}, text


def test_the_parameters_of_a_known_load_are_in_the_plan(tmp_path):
    """Random reads for 100 s, then writes by the clock: two phases."""
    first = poisson(1, 50_000, 500)
    second = clocked(200_000, 2_000, int(first["time_ns"][-1]) + SECOND)
    first["kind"][::4] = WRITE
    first["size"][:20_000] = 64 * KIB
    text, (reads, writes) = modelled(tmp_path, np.concatenate((first, second)))
    assert reads.ends_ns == pytest.approx(int(first["time_ns"][-1]), rel=0.02)
    assert reads.rate and writes.rate
    assert reads.rate.iops == pytest.approx(500, rel=0.03)
    assert writes.rate.iops == pytest.approx(2_000, rel=0.03)
    assert (reads.rate.arrivals, writes.rate.arrivals) == ("poisson", "fixed")
    assert reads.read_percent == pytest.approx(75, abs=0.5)
    assert (reads.pattern, reads.random_percent) == ("random", 100)
    assert {one.size_bytes: one.percent for one in reads.read_sizes} == {
        4096: pytest.approx(60, abs=1),
        65536: pytest.approx(40, abs=1),
    }
    assert (writes.read_percent, writes.pattern) == (0, "sequential")
    assert [one.size_bytes for one in writes.write_sizes] == [16384]
    assert (writes.fua, reads.fua) == (True, False)
    assert text.count("flush every 4") == 1


def test_shares_of_sequential_io_and_hot_places_are_in_the_plan(tmp_path):
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
    text, (one,) = modelled(tmp_path, ios)
    assert one.random_percent == pytest.approx(33.3, abs=0.3)
    spot, _ = one.distribution.spots
    assert spot.io_percent == pytest.approx(90, abs=1)
    assert spot.space_percent == pytest.approx(10, abs=0.2)
    assert distances(text)["places"] < 0.012


def test_what_a_model_has_not_is_its_distance(tmp_path):
    """Pairs of arrivals at one time: half of the gaps are 0, of gamma's none are."""

    def off(ios):
        return distances(modelled(tmp_path, ios)[0])

    ios = poisson(4, 40_000, 1_000)
    assert off(ios)["gaps"] < 0.02
    ios["time_ns"][1::2] = ios["time_ns"][::2]
    assert 0.2 < off(ios)["gaps"] < 0.5
    many = poisson(5, 40_000, 1_000)
    many["size"] = np.random.default_rng(6).integers(1, 21, 40_000) * 4 * KIB
    assert off(many)["sizes"] == pytest.approx(0.1, abs=0.06)


def drawn(one, count):
    """What the clauses say, drawn I/O by I/O; places are shares of the space."""
    random = np.random.default_rng(7)
    spots = one.distribution.spots
    widths, parts = (
        np.array([getattr(spot, name) for spot in spots]) / 100
        for name in ("space_percent", "io_percent")
    )
    at = random.choice(len(parts), count, p=parts / parts.sum())
    assert one.rate and one.rate.iops
    shape = one.rate.gap_variation**-2
    shares = np.array([size.percent for size in one.read_sizes])
    return {
        "places": (np.cumsum(widths) - widths)[at] + random.random(count) * widths[at],
        "sizes": random.choice(
            [size.size_bytes for size in one.read_sizes], count, p=shares / shares.sum()
        ),
        "gaps": random.gamma(shape, SECOND / one.rate.iops / shape, count),
    }


def largest_difference(one, other):
    """Kolmogorov and Smirnov's distance of two samples, by its definition."""
    both = np.sort(np.concatenate((one, other)))
    found = [
        np.searchsorted(np.sort(some), both, "right") / len(some)
        for some in (one, other)
    ]
    return float(np.abs(found[0] - found[1]).max())


def test_the_distance_is_that_of_what_the_clauses_draw(tmp_path):
    ios = poisson(8, 100_000, 1_000)
    random = np.random.default_rng(9)
    ios["size"] = random.geometric(0.1, 100_000) * 4 * KIB
    ios["offset"] = (random.beta(1, 4, 100_000) * SPACE).astype("u8") * 4 * KIB
    ios["time_ns"] = np.cumsum(random.gamma(0.25, 4 * SECOND / 1000, 100_000))
    ios["time_ns"] -= ios["time_ns"][0]
    text, (one,) = modelled(tmp_path, ios)
    assert one.rate and one.rate.gap_variation == pytest.approx(2, abs=0.2)
    own = {
        "places": ios["offset"] / (ios["offset"] + ios["size"]).max(),
        "sizes": ios["size"],
        "gaps": np.diff(ios["time_ns"].astype(float)),
    }
    model, said = drawn(one, 200_000), distances(text)
    for name, near in (("places", 0.006), ("sizes", 0.006), ("gaps", 0.03)):
        found = largest_difference(own[name], model[name])
        assert found == pytest.approx(said[name], abs=near), name


def test_discards_are_a_share(tmp_path):
    ios = poisson(12, 10_000, 1_000)
    ios["kind"][::10], ios["kind"][1::10] = DISCARD, WRITE
    assert (ios["kind"] == READ).sum() == 8_000
    text, (one,) = modelled(tmp_path, ios)
    assert one.trim_percent == 10, text
    assert one.read_percent == pytest.approx(88.9, abs=0.1)


# on a simulated drive, beside the trace itself


def figures(text):
    """What was measured of the trace and of its model, by what the plan calls it."""
    row = r"# - (.*) (\d[\d,.]*) / (\d[\d,.]*) / [\d.]+$"
    return {
        name: (number(trace), number(model))
        for name, trace, model in re.findall(row, text, re.MULTILINE)
    }


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.long
def test_the_same_load_has_the_same_figures(tmp_path):
    """Rates to chance; and both stand in the plan as they are printed."""
    ios = poisson(1, 2000, 2000, blocks=1 << 14)
    ios["kind"] = np.where(np.random.default_rng(1).random(2000) < 1 / 3, WRITE, 0)
    write(tmp_path / "a.iotrace", [ios])
    done = ioplan("model", tmp_path / "a.iotrace", "-o", tmp_path / "a.ioplan")
    assert done.code == 0, done.err
    text = (tmp_path / "a.ioplan").read_text()
    head = "On a simulated drive of 1GiB: trace / model / ratio"
    assert head in done.err and f"# {head}" in text
    found = figures(text)
    both = {f"{way} {what}" for way in ("read", "write") for what in ("IOPS", "p50 (us)", "p99 (us)")}  # fmt: skip
    assert {*found} == both | {"write amplification"}
    for name, near in (("read IOPS", 0.1), ("write IOPS", 0.15), ("read p50 (us)", 0.1)):  # fmt: skip
        trace, model = found[name]
        assert model == pytest.approx(trace, rel=near), name
    assert found["read IOPS"][0] == pytest.approx(2000 * 2 / 3, rel=0.1)
    assert ioplan("check", tmp_path / "a.ioplan").code == 0


def test_of_a_long_trace_the_first_part_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr("ioplan_importer.trace_model.simulated.MOST_IOS", 500)
    write(tmp_path / "a.iotrace", [poisson(1, 2000, 2000, blocks=1 << 14)])
    done = ioplan("model", tmp_path / "a.iotrace")
    assert "of 1GiB, first 500 I/Os: trace / model / ratio" in done.err
    assert figures(done.out)


def test_a_run_that_fails_is_told_in_its_place(tmp_path):
    """Blocks smaller than the drive's cannot be replayed; the model is written."""
    ios = poisson(1, 2000, 2000, blocks=1 << 14)
    ios["size"] = 100
    write(tmp_path / "a.iotrace", [ios])
    done = ioplan("model", tmp_path / "a.iotrace")
    assert done.code == 0 and "# Not measured on a simulated drive: " in done.out
