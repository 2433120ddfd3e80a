"""Steady state, and when a cell's mean is known, against what is worked out otherwise."""

import math
import re

import numpy as np
import pytest
from cell_truth import SHAPES, SPREADS, STEP, WITHIN, errors, naive, related, table
from command import ioplan, plan_file
from figures import BLOCK_BYTES, SECOND_NS, counts, stream
from generated import check_part
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from paths import ROOT

from ioplan.job import Progress, Wear
from ioplan.language import SteadyRule, parse_metric
from ioplan.results.measure import Figure, SteadyWatch, Windows, assess, decide

SNIA = SteadyRule(metric=parse_metric("iops"))
NARROW = SteadyRule(
    metric=parse_metric("read.p99"), window=3, range_percent=5, slope_percent=1
)
near = st.builds(
    lambda values, scale: [scale * value for value in values],
    st.lists(st.floats(80, 120), min_size=5, max_size=8),
    st.sampled_from([1.0, 1e-9, 7.0, 1e12]),
)
"""In any unit."""


def judged(values, rule=SNIA):
    return assess(rule, [Figure(value) for value in values])


def test_a_decay_becomes_steady_only_once_it_is_flat():
    """A drive that halves its distance to its level each round.

    Worked out by hand: after 9 rounds the range is 21.4 %, after 10 the slope is
    10.7 %, after 11 both are within their limits.
    """
    values = [100 + 400 * 0.5**number for number in range(20)]
    found = [judged(values[:rounds]) for rounds in range(5, 21)]
    assert [one.reached for one in found] == [False] * 6 + [True] * 10
    assert found[4].why.startswith("range 21.4 % (limit 20 %)")
    assert found[5].why == "slope 10.7 % (limit 10 %)"


@given(near)
@pytest.mark.promise("steady.definition")
def test_definition(values):
    """Over the last five: range 20 % of the mean, rise of the fitted line 10 %.

    The line goes through the mean in the middle, as a report draws it.
    """
    window = np.array(values[-5:])
    slope, first = np.polyfit(range(5), window, 1)
    spread = (window.max() - window.min()) / window.mean() * 100
    rise = 4 * abs(slope) / window.mean() * 100
    assume(abs(spread - 20) > 1e-6 and abs(rise - 10) > 1e-6)
    found = judged(values)
    assert found.values == tuple(window)
    assert found.slope == pytest.approx(slope, abs=1e-9 * found.mean)
    assert found.mean - 2 * found.slope == pytest.approx(first)
    assert found.range_percent == pytest.approx(spread)
    assert found.slope_percent == pytest.approx(rise, abs=1e-9)
    assert found.reached == bool(spread <= 20 and rise <= 10)
    assert ("range" in found.why) == (spread > 20)
    assert ("slope" in found.why) == (rise > 10)
    assert found.reached == (found.why == "")


@pytest.mark.promise("steady.definition")
def test_a_limit_that_is_met_exactly_is_met():
    for values, range_percent, slope_percent in (
        ([90, 110, 100, 90, 110], 20, 8),  # the range is exactly the limit
        ([95, 97.5, 100, 102.5, 105], 10, 10),  # the slope is
        ([0.95, 0.975, 1, 1.025, 1.05], 10, 10),
        ([100] * 5, 0, 0),
    ):
        for factor in (1, 1 / 3, 1e7 / 3):
            found = judged([value * factor for value in values])
            assert found.reached
            assert found.range_percent == pytest.approx(range_percent)
            assert found.slope_percent == pytest.approx(slope_percent)
    assert judged([90, 110.001, 100, 90, 110]).why.startswith("range")
    assert judged([94.99, 97.5, 100, 102.5, 105.01]).why == "slope 10.02 % (limit 10 %)"
    trap = judged([100, 92, 84, 76, 68])  # as the specification has it
    assert (
        trap.why == "range 38.1 % (limit 20 %), slope 38.1 % (limit 10 %)"
        and not trap.reached
    )


def test_a_window_that_is_not_full_or_lacks_a_value():
    for n in range(5):
        found = judged([100.0] * n)
        assert not found.reached and found.why == f"{n} of 5 values so far"
    values = [Figure(100.0)] * 4
    found = assess(SNIA, [*values, Figure(None, "needs 1,000 I/Os, had 5")])
    assert found.why == "needs 1,000 I/Os, had 5"
    assert assess(SNIA, [Figure(None, "no"), *values, Figure(100.0)]).reached
    nothing = judged([0.0] * 5)
    assert not nothing.reached and nothing.why == "iops is 0"
    assert (nothing.range_percent, nothing.slope_percent) == (0, 0)


def test_the_plan_may_say_otherwise():
    """Two rounds are steady if they differ by no more than the slope."""
    found = judged([100, 101, 102], NARROW)
    assert found.why == "slope 1.98 % (limit 1 %)"
    assert (found.metric, found.window) == ("read.p99", 3)
    assert (found.range_limit_percent, found.slope_limit_percent) == (5, 1)
    two = replace(SNIA, window=2)
    for rule, values, why in (
        (NARROW, [100, 101, 100], ""),
        (NARROW, [100, 106, 100], "range 5.88 % (limit 5 %)"),
        (two, [50, 95.1, 104.9], ""),
        (two, [94.9, 105.1], "slope 10.2 % (limit 10 %)"),
        (two, [100], "1 of 2 values so far"),
    ):
        assert judged(values, rule).why == why


# a precondition's write, judged as it goes on
def interval(t_ns, length_ns, ios, warmup=False):
    part = stream(write=counts([1000] * ios))
    return Progress(t_ns=t_ns, interval_ns=length_ns, warmup=warmup, streams=(part,))


def watched(lengths_ns, every_ns, ios, **more):
    """What is told of each window, and after which interval it was steady."""
    told = []
    rule = replace(SNIA, least_passes=more.pop("least_passes", SNIA.least_passes))
    watch = SteadyWatch(
        rule, Windows(every_ns), lambda steady, _: told.append(steady), **more
    )
    now_ns, ended = 0, []
    for length_ns, amount in zip(lengths_ns, ios, strict=True):
        now_ns += length_ns
        ended.append(watch.add(interval(now_ns, length_ns, amount)))
    return told, ended


def test_windows_are_judged_one_by_one():
    """Without the warm-up."""
    told, ended = watched([SECOND_NS] * 12, 2 * SECOND_NS, [100] * 12)
    assert [len(steady.values) for steady in told] == [1, 2, 3, 4, 5, 5]
    assert [steady.reached for steady in told] == [False] * 4 + [True] * 2
    assert ended.index(True) == 9 and told[-1].values == (100,) * 5
    watch = SteadyWatch(SNIA, Windows(SECOND_NS), lambda *_: pytest.fail("a window"))
    assert not watch.add(interval(SECOND_NS, SECOND_NS, 9, warmup=True))
    assert watch.last.why == "0 of 5 values so far"


def test_a_value_is_that_of_its_window():
    """Not of all that was written so far; intervals need not be as long as asked for."""
    told, _ = watched([SECOND_NS] * 6, 2 * SECOND_NS, [400, 200, 100, 60, 20, 0])
    assert told[-1].values == (300, 80, 10)
    for off_ns in (-1000, 1000):
        told, _ = watched([SECOND_NS + off_ns] * 10, 2 * SECOND_NS, [100] * 10)
        assert len(told) == 5


WAF = SteadyRule(metric=parse_metric("waf"))


def worn(media, every_bytes):
    """What is said of a drive by its counts so far, in intervals of 1000 writes."""
    told = []
    windows = Windows(every_bytes, "bytes", lambda progress: progress.wear)
    watch = SteadyWatch(WAF, windows, lambda steady, number: told.append(steady))
    for number, count in enumerate(np.cumsum(media).tolist(), start=1):
        grown = {"host_written_bytes": number * 1000, "media_written_bytes": int(count)}
        wear = Wear(source="made", span_s=number, **grown)
        one = interval(number * SECOND_NS, SECOND_NS, 1000)
        watch.add(one.model_copy(update={"wear": wear}))
    return told


def test_amplification_is_that_of_each_window_of_bytes():
    """A drive with erased blocks left is flat and not steady; without a meter each
    window says so."""
    window_bytes = 2 * 1000 * BLOCK_BYTES
    told = worn([2000, 4000] * 5, window_bytes)
    assert [steady.reached for steady in told] == [False] * 4 + [True]
    assert told[-1].values == (3.0,) * 5
    rising = worn([2000, 2000, 3000, 3000, 4000, 4000] * 2, window_bytes)
    assert rising[2].values == (2.0, 3.0, 4.0) and not rising[-1].reached
    erased = worn([1000] * 8 + [2000] * 5, 1000 * BLOCK_BYTES)
    assert erased[7].why == "WAF is 1.00: garbage collection has not begun"
    assert [steady.reached for steady in erased] == [False] * 12 + [True]
    watch = SteadyWatch(WAF, Windows(1000, "bytes"), lambda *_: None)
    assert not any(watch.add(interval(n, 1, 1000)) for n in range(9))
    assert watch.last.why.startswith("not measured: the drive has no log")


@pytest.mark.long
def test_a_session_shows_its_rounds(tmp_path, store_path):
    """Live, and afterwards: each round, the limits, and what was missing."""
    text = (
        'test "T" { run random 4KiB 0/100, qd 8 for 1s vary qd in 4, 8 '
        "rounds until steady iops when qd == 8, at most 9 }"
    )
    plan = plan_file(tmp_path, text)
    done = ioplan("run", plan, "--backend", "sim", "--create", "1GiB")
    assert done.code == 0, done.err
    assert re.search(r"round 4: iops [\d.]+k; 4 of 5 values so far\n", done.out)
    share = r"[\d.]+ % \(limit {} %\)"
    limits = f"range {share.format(20)}, slope {share.format(10)}: (not )?steady"
    assert re.search(rf"round 5: iops [\d.]+k, {limits}", " ".join(done.out.split()))
    shown = ioplan("show", "--tables").out
    assert re.search(r"round +iops +range \(limit 20 %\) +slope \(limit 10 %\)", shown)
    assert re.search(r"\n +3 +[\d.]+k +3 of 5 values so far", shown)
    assert re.search(r"steady over rounds \d to \d|not steady after 9 rounds", shown)
    tables = [row for row in (done.out + shown).splitlines() if "session" not in row]
    assert max(map(len, tables)) <= 80


def test_nothing_counts_before_the_least_passes():
    """The plateau of a drive that has erased blocks left is flat, too."""
    rates = [100] * 8 + [50] * 5
    passes = {"least_passes": 2.0, "pass_bytes": 4 * 100 * BLOCK_BYTES}
    told, ended = watched([SECOND_NS] * 13, SECOND_NS, rates, **passes)
    assert told[5].why == "1.3 of at least 2 passes so far"
    assert ended == [False] * 12 + [True]
    assert told[-1].values == (50,) * 5


MOST_WRONG_PERCENT = 5
WRONG = re.compile(r"\| ([\d.]+) %,")


def known(*values):
    found = decide(WITHIN, [Figure(v, "failed" if v is None else "") for v in values])
    return found.why


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((100, 100), "2 of 3 values so far"),
        ((100, 100, 100), ""),
        ((0.0, 0.0, 0.0), "iops is 0"),
        ((1, 1, 100, 100, 100, 100), ""),  # the first third does not count
        ((None, 100, 100), "failed"),
        ((None, 100, 100, 100), ""),  # it is forgotten with its third
    ],
)
def test_two_thirds_of_three_rounds_and_more_decide(values, why):
    assert known(*values) == why
    assert known(1, 1, 100, 100) != ""


def student(chance):
    """The quantile of Student's t of 2 degrees of freedom, in closed form."""
    return (2 * chance - 1) / math.sqrt(2 * chance * (1 - chance))


@pytest.mark.parametrize("looks", [1, 2])
def test_the_width_is_students_at_its_look(looks):
    """Each look at the last three has 5 % / (k (k + 1)) of the risk, on two sides."""
    values = [100.0] * (looks - 1) + [99.0, 100.0, 101.0]
    found = decide(WITHIN, [Figure(value) for value in values])
    chance = 1 - 0.05 / (looks * (looks + 1)) / 2
    assert found.half_width_percent == pytest.approx(student(chance) / math.sqrt(3))
    counted = [len(decide(WITHIN, [Figure(1.0)] * n).values) for n in range(1, 10)]
    assert counted == [1, 2, 3, 3, 4, 4, 5, 6, 6]  # two thirds of the rounds


@pytest.mark.parametrize("name", SHAPES)
def test_few_cells_are_decided_wrongly(name):
    """The table below has all spreads."""
    found = errors(SHAPES[name], SPREADS[1], series=50)
    assert found.wrong_percent <= MOST_WRONG_PERCENT


def test_quiet_cells_are_decided_soon_and_not_as_a_script_would():
    """Which stops as soon as the usual interval is narrow: error rates refuse that."""
    found = errors(related, 0.003, series=100)
    assert found.decided_percent == 100 and found.rounds <= 3.5
    rates = [errors(related, spread, naive, 300).wrong_percent for spread in SPREADS]
    assert max(rates) > MOST_WRONG_PERCENT


@pytest.mark.long
def test_the_document_has_the_table(renew):
    found = table()
    check_part(ROOT / "docs/language.md", "rounds by cell", found, renew)
    foreseen = [line for line in found.splitlines()[2:] if STEP not in line]
    wrong = [float(one) for line in foreseen for one in WRONG.findall(line)]
    assert len(wrong) == len(SHAPES) * len(SPREADS) and max(wrong) <= MOST_WRONG_PERCENT
