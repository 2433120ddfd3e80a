"""The suites' figures: params that tests use, room for steady state, recorded loads."""

from math import sqrt

import numpy as np
import pytest
from command import ioplan, plan_file, succeed
from suite_rows import PLANS, TB, plan_of

from ioplan.language import WriteStep, check_file
from ioplan.planner import Prepare, Run, unfold


@pytest.mark.parametrize("name", PLANS)
def test_profiles_set_only_what_tests_use(name):
    profiles = [one for one in PLANS[name].items if type(one).__name__ == "Profile"]
    settings = [each for one in profiles for each in one.settings]
    said = {each.name.text for each in settings if each.value.kind != "name"}
    assert said <= {*plan_of(PLANS[name]).parameters}


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("pts/pts_iops", "pre.steady_most=1 pass"),
        ("pts/pts_cross_stimulus", "pre.wipc_fill=1 pass"),
        ("reviews/p3700", "pre.wipc_fill=1 pass"),
        ("reviews/m9100", "pre.scramble=1 pass"),
        ("quick/datasheet", "pre.scramble=1 pass"),
    ],
)
def test_what_no_test_uses_cannot_be_set(name, setting):
    for command in ("check", "plan"):
        done = ioplan(command, name, "--set", setting)
        param = setting.partition("=")[0]
        assert done.code == 2
        assert f"no test uses the param {param!r}" in done.err
        assert f"{', '.join(plan_of(PLANS[name]).parameters)}\n" in done.err
        assert done.err.count("error:") == 1


def test_a_param_is_reached_through_all_that_tests_name(tmp_path):
    library = """
      param a = 1 pass  param b = 4  param c = b  param d = 3  param e = 2
      precondition inner { write random 4KiB, qd d, a }
      precondition outer { inner idle 1s }
      workload deep = random 4KiB 100/0, qd c
      workload other = random 4KiB 100/0, qd e
    """
    plan_file(tmp_path, library, "library.ioplan")
    plan = """
      use "library.ioplan" as lib
      param unused = 5s  param pause = 1s  param limit = 1ms  param most = 1_500 iops
      test "unused" {
        after lib.outer  run lib.deep for 1s  idle pause
        vary rate in 1_000 iops, 2_000 iops  skip when rate > most
        expect mean < limit
      }
    """
    found = check_file(plan_file(tmp_path, plan))
    known = {"pause", "limit", "most", "lib.a", "lib.b", "lib.c", "lib.d"}
    assert {*found.parameters} == known


def test_an_edited_plan_need_not_use_what_was_set(tmp_path, store_path):
    """A session that has begun keeps its settings."""
    text = 'param t = 9s test "T" { run random 4KiB 100/0, qd 1 for t }'
    path = plan_file(tmp_path, text)
    done = succeed("run", path, "--backend", "sim", "--set", "t=1s", "--json")
    session = done.of("session")[0]["id"]
    plan_file(tmp_path, text.replace("for t", "for 2s"))
    assert ioplan("check", path, "--set", "t=1s").code == 2
    succeed("resume", session, "--json")


# room for steady state: its window fits behind what it waits for

SLOW, FAST = 180e6, 3.2e9
"""Bytes per second: what a slow drive sustains, what a fast one fills with at most."""


def rooms(plan):
    """How many windows of each rule fit, on 1 TB, with what asks for it."""
    for test in plan.tests:
        if test.rounds:
            yield test.title, test.rounds.at_most / test.rounds.rule.window
    for step in unfold(plan):
        if isinstance(step, Run) and step.template.rule and step.every_ns:
            rule, length = step.template.rule, step.length
            left_s = []
            if length.run_ns is not None:
                left_s.append(length.run_ns / 1e9 - rule.least_passes * TB / SLOW)
            if length.passes is not None:
                left_s.append((length.passes - rule.least_passes) * TB / FAST)
            windows = min(left_s) / (step.every_ns / 1e9) / rule.window
            yield f"{step.test.title}: {step.template.text}", windows
        one = step.step if isinstance(step, Prepare) else None
        if isinstance(one, WriteStep) and one.rule:
            every_s = (one.every_ns or 0) / 1e9
            most = one.passes if one.passes is not None else float("inf")
            left = (most - one.rule.least_passes) * TB / FAST
            yield f"{step.test.title}: {one.text}", left / every_s / one.rule.window


@pytest.mark.parametrize("profile", ["full", "short"])
@pytest.mark.parametrize("suite", [name for name in PLANS])
def test_a_window_fits_behind_what_it_waits_for(suite, profile):
    for what, windows in rooms(plan_of(PLANS[suite], profile)):
        assert windows >= 1, (what, windows)


# recorded loads: their figures follow from those of their sources


def streams(suite, test, profile="full"):
    """Of the last run of a test that begins so."""
    steps = unfold(plan_of(PLANS[suite], profile))
    runs = [s for s in steps if isinstance(s, Run) and s.test.title.startswith(test)]
    return {one.name: one for one in runs[-1].workload.streams}


LAYERS, PIECE = 32, 512 * 8 * 128 * 2 * 2
"""Of Llama 3.1 8B: layers; tokens, heads, values, K and V, bytes."""
FOUND, ADDED = 105_709 / 12_031, 182_791 / 12_031
"""Blocks of a request in Mooncake's conversation trace."""


def test_the_cache_moves_what_requests_find_and_add():
    asked = streams("ai/kv_cache", "K4")
    loads, saves = asked["loads"], asked["saves"]
    assert loads.rate and saves.rate
    assert loads.sizes_bytes == saves.sizes_bytes == {PIECE} == {2 << 20}
    assert loads.rate.iops == pytest.approx(FOUND * LAYERS, rel=0.002)
    assert saves.rate.iops == pytest.approx(ADDED * LAYERS, rel=0.002)
    together = FOUND * LAYERS
    assert loads.rate.gap_variation == pytest.approx(sqrt(2 * together - 1), rel=0.01)
    mixed = plan_of(PLANS["ai/kv_cache"]).tests[2].axes[0].values
    shares = [value.text for row in mixed for value in row]
    assert shares == [f"{100 * x:.0f}%" for x in (FOUND / (FOUND + ADDED), 2.95 / 3.95)]


def test_loads_that_come_together_vary_so():
    """Requests of Poisson's, each with as many loads as the last, or another number."""
    rng, count = np.random.default_rng(1), 200_000
    for sizes in (np.full(count, 9), 1 + rng.poisson(8, count)):
        at = np.repeat(np.cumsum(rng.exponential(1, count)), sizes)
        gaps = np.diff(at)
        assert gaps.std() / gaps.mean() == pytest.approx(sqrt(2 * 9 - 1), rel=0.02)


FILES = {
    "N1": (146_600_628, 4, 1 << 20),
    "N2": (1251 * 114_660, 8, 256 << 10),
    "N3": (2_828_486, 4, 256 << 10),
}
"""Of each training: bytes of a file, readers, and bytes of an I/O."""


@pytest.mark.parametrize("test", FILES)
def test_a_reader_goes_on_for_as_long_as_a_file(test):
    file_bytes, readers, io_bytes = FILES[test]
    (one,) = streams("ai/loader", test).values()
    assert one.threads == readers and one.sizes_bytes == {io_bytes}
    assert 100 / one.random_percent == pytest.approx(file_bytes / io_bytes, rel=0.03)


def test_resnet50_is_read_as_fast_as_it_trains():
    (one,) = streams("ai/loader", "N4").values()
    assert one.rate and one.rate.bytes_per_s == pytest.approx(
        400 * 114_660 / 0.224, rel=0.01
    )


@pytest.mark.parametrize("profile", ["full", "short", "smoke"])
def test_each_process_flushes_its_file_once_at_its_end(profile):
    (one,) = streams("ai/checkpoint", "M1", profile).values()
    assert one.sync_every and one.threads == 8
    (size,) = one.sizes_bytes
    assert one.sync_every * one.threads * size == one.region.end_bytes


@pytest.mark.parametrize(
    ("suite", "test", "stream", "iops", "variation", "mean_bytes"),
    [
        ("app/oltp", "O1", "data", 3345, 1.07, 8300),
        ("app/oltp", "O1", "log", 1100, 1.0, 18_125),
        ("app/web", "S1", "main", 413, 1.33, 15_420),
    ],
)
def test_what_was_recorded(suite, test, stream, iops, variation, mean_bytes):
    """Rate and variation; the mean size within 10 %, as sizes are round ones."""
    one = streams(suite, test)[stream]
    assert one.rate and one.rate.iops == iops
    assert one.rate.gap_variation == variation
    reads = one.read_percent / 100
    mean = sum(s.size_bytes * s.percent * reads for s in one.read_sizes) / 100
    mean += sum(s.size_bytes * s.percent * (1 - reads) for s in one.write_sizes) / 100
    assert mean == pytest.approx(mean_bytes, rel=0.1)
