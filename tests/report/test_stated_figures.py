"""What a report states of headlines: one figure everywhere, its marks, and one sentence."""

import html
import re
from math import exp

import paths
import pytest
from cases import marked
from command import ioplan, plan_file
from figures import SECOND_NS, counts, measured, record, result, stream
from fooled import EXAMPLES, last_records
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import checked
from report_charts import headline, headlines_by_test

from ioplan import metric_text
from ioplan.cli import plan_of
from ioplan.core import percent_text
from ioplan.job import Progress
from ioplan.results.measure import Sample
from ioplan.results.report import comparison_sentence, contests
from ioplan.results.store import Store
from ioplan.runner import judge

DEEP = {"where": "QD 64"}
LATENCY = {"unit": "ns", "quantity": "p99 latency", "more_is_better": False}
LATENCY |= dict.fromkeys(("metric", "name"), "p99")
SEARCH = {"name": "highest QD", "unit": "", "metric": "qd", "goal": "highest"}


def pair(one, other, **more):
    return {"A": headline(one, **more), "B": headline(other, **more)}


def stated(tests):
    """The sentence on two drives or more, by test and label."""
    found = [
        one
        for test, by_label in tests.items()
        for one in contests(test, {label: [h] for label, h in by_label.items()})
    ]
    labels = [*dict.fromkeys(label for some in tests.values() for label in some)]
    return comparison_sentence(found, labels)


SIM = {"is_simulated": True, "against": ("simulated",)}
QD_1 = frozenset({(("qd", "1"),)})
LONG = "a test with a title that is long " * 3
SENTENCES = [
    # the largest and the smallest difference
    (
        {"t": pair(11_000.0, 99_000.0), "u": pair(4e5, 4.2e5, **DEEP)},
        "B reaches 9.0 times the IOPS of A in t, QD 1; IOPS within 5.0 % in u, QD 64.",
    ),
    (
        {
            "t": pair(11.0, 99.0),
            "u": pair(40.0, 20.0, **DEEP),
            "v": pair(10.0, 80.0),
        },
        "B reaches 9.0 times the IOPS of A in t, QD 1; A leads in u, QD 64.",
    ),
    ({"t": pair(100.0, 120.0)}, "B reaches 20 % more IOPS than A in t, QD 1."),
    # a latency that is less is better
    (
        {"t": pair(200.0, 50.0, **LATENCY)},
        "B's p99 latency is 4.0 times lower than A's in t, QD 1.",
    ),
    (
        {"t": pair(100.0, 80.0, **LATENCY)},
        "B's p99 latency is 20 % lower than A's in t, QD 1.",
    ),
    # what is within its own errors is equal
    ({"t": pair(1.0, 1.1, error_percent=15.0)}, "B and A are equal in every headline."),
    (
        {
            "t": pair(1.0, 1.01),
            "u": pair(1.0, 1.01),
            "v": pair(1.0, 9.0, against=("warned",)),
        },
        "B and A are equal in the 2 headlines that can be compared.",
    ),
    (
        {"t": pair(1.0, 2.0), "u": pair(1.0, 1.01)},
        "B reaches 2.0 times the IOPS of A in t, QD 1; equal IOPS in u, QD 1.",
    ),
    # what is doubted, open, missing, zero, or of other cells counts for nothing
    ({"t": pair(128.0, 128.0, bound="≥", **SEARCH)}, ""),
    ({"t": pair(128.0, 64.0, **SEARCH)}, ""),
    ({"t": {"A": headline(10.0, against=("warned",)), "B": headline(20.0)}}, ""),
    ({"t": {"A": headline(None, why="failed"), "B": headline(20.0)}}, ""),
    ({"t": pair(0.0, 20.0)}, ""),
    ({"t": {"A": headline(1.0, among=QD_1), "B": headline(2.0)}}, ""),
    ({"t": pair(1.0, 2.0, is_shortened=True)}, ""),
    # a drive is not compared with a simulated one, two simulated ones are
    ({"t": {"A": headline(10.0), "S": headline(400.0, **SIM)}}, ""),
    (
        {"t": {"A": headline(10.0), "S": headline(400.0, **SIM), "B": headline(20.0)}},
        "B reaches 2.0 times the IOPS of A in t, QD 1.",
    ),
    ({"t": pair(1.0, 4.0, **SIM)}, "B reaches 4.0 times the IOPS of A in t, QD 1."),
    # a second fact that does not fit is left out, and a first one leaves nothing
    (
        {"t": pair(11.0, 99.0), LONG: pair(4.0, 4.2)},
        "B reaches 9.0 times the IOPS of A in t, QD 1.",
    ),
    ({f"{LONG} {LONG}": pair(11.0, 99.0)}, ""),
]


FIGURE = st.one_of(st.floats(1e-3, 1e9), st.sampled_from((1.0, 2.0)))
THREE_FIGURES = st.lists(FIGURE, min_size=3, max_size=3)


@pytest.mark.parametrize(("tests", "sentence"), SENTENCES)
def test_the_sentence_has_at_most_two_facts(tests, sentence):
    assert stated(tests) == sentence
    assert len(sentence) <= 160


@given(st.lists(THREE_FIGURES, min_size=1, max_size=6))
def test_the_sentence_is_of_the_best_two(figures):
    """Made anew of all figures: the two with the best mean places, and no difference
    between them is larger than the first one that is told."""
    tests = {
        f"t{n}": {label: headline(v) for label, v in zip("ABC", row, strict=True)}
        for n, row in enumerate(figures)
    }
    text = stated(tests)
    places = [
        sum(sorted(row, reverse=True).index(row[at]) for row in figures)
        for at in range(3)
    ]
    assert text
    for at, label in enumerate("ABC"):
        better = sum(other < places[at] for other in places)
        if re.search(rf"\b{label}\b", text):
            assert better < 2
    if found := re.match(r"([ABC]) reaches ([\d.]+) times the IOPS of ([ABC])", text):
        one, other = ("ABC".index(found[n]) for n in (1, 3))
        most = max(max(r[one] / r[other], r[other] / r[one]) for r in figures)
        assert float(found[2]) == pytest.approx(most, rel=0.06)


@pytest.mark.long
def test_the_message_of_a_review_is_the_first_sentence(tmp_path):
    """In-place memory against flash: far ahead at QD 1, not in random reads at 64."""
    store, page = tmp_path / "r.db", tmp_path / "r.html"
    for drive in ("datacentre", "crosspoint"):
        sim = ("--backend", "sim", "--sim", paths.ROOT / f"examples/sim/{drive}.toml")
        how = ("--profile", "short", "-q", "--store", store)
        assert ioplan("run", "reviews/p4800x", *how, *sim).code in (0, 1)
    ids = ioplan("ls", "--store", store, "--format", "csv").out.splitlines()[1:]
    two = [row.split(",")[0] for row in ids]
    assert ioplan("report", *two, "--store", store, "-o", page).code == 0
    (told,) = re.findall(r'<p class="sentence">(.*?)</p>', page.read_text("utf-8"))
    told = html.unescape(re.sub(r"<[^>]+>", "", told))
    first, _, last = told.partition("; ")
    assert first.startswith("crosspoint's p99 latency is ") and "QD 1" in first, told
    assert "equal throughput in " in last and len(told) <= 160


BURST = "burst 5s of 20_000 iops as peak, then 25s of 500 iops as calm"
TWO = """workload two {
  a = random 4KiB 100/0, qd 4
  b = sequential 64KiB 0/100, qd 1, starts after 5s
}
"""

PLANS = {
    "a burst": (
        f"run random 8KiB 70/30, qd 64, {BURST} for 2min",
        *("iops", "read.iops", "mean", "read.p99", "bandwidth", "write.mean"),
        *("iops during peak", "p99 during peak", "mean during calm"),
        *("bandwidth during 40s..50s", "read.p99 during 40s..50s", "p50 during 0s..5s"),
        *("write.iops during calm", "worst_second.iops", "worst_second.p99"),
        "intervals of p99 above 200us",
    ),
    "streams": (
        "run two for 20s",
        *("iops", "a.iops", "b.bandwidth", "a.p99", "a.p99 during b", "a.mean"),
        *("a.iops during 0s..5s", "read.mean", "p99", "max"),
    ),
    "rounds": (
        "run random 4KiB 50/50, qd 8 for 1s\nrounds until steady iops, at most 12, over 5",
        *("iops", "read.iops", "p99", "mean", "bandwidth"),
    ),
    "until steady": (
        "run random 4KiB 0/100, qd 8, until steady iops every 1s, at most 4 passes",
        *("iops", "write.iops", "p99"),
    ),
    "a full cache": (
        "run sequential 128KiB 0/100, qd 8 for 60s",
        *("iops", "bandwidth", "write.bandwidth", "p99", "mean"),
    ),
    "cells": (
        "run random 4KiB for 1s\nvary qd in 1, 4\nvary read in 0%, 50%, 100%",
        *("iops", "bandwidth", "p99", "mean"),
    ),
    "trims": ("run random 4KiB 0/100, trim 100% for 1s", "iops", "mean"),
}


def run(folder, text):
    done = ioplan("run", plan_file(folder, text), "--backend", "sim", "-q")
    assert done.code in (0, 1), done.err
    return done


def headlines(store):
    with Store.open(store) as opened:
        last = opened.session("last")
        found = headlines_by_test(opened, list(opened.records(last.id)), plan_of(last))
    return [one for some in found.values() for one in some]


def shown(metric):
    """The figures of all cells, as `show --metric` has them."""
    done = ioplan("show", "last", "--metric", metric)
    assert done.code == 0, done.err
    lines = (line for line in done.out.splitlines() if f"{metric}: " in line)
    return [
        re.split(r" \(the ", line.rpartition(f"{metric}: ")[2])[0] for line in lines
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("rough_sim")
@pytest.mark.parametrize("name", marked(PLANS, pytest.mark.long, "until steady"))
def test_each_headline_is_that_of_show(name, tmp_path, store_path):
    body, *metrics = PLANS[name]
    lines = "".join(f"headline {one}\n" for one in metrics)
    run(tmp_path, f'{TWO}test "t" {{\n{body}\n{lines}}}')
    found = headlines(store_path)
    assert [one.metric.removeprefix("trim.") for one in found] == metrics
    for one in found:
        text = metric_text(one.value, one.unit) if one.value is not None else one.why
        assert text in shown(one.metric), (one.metric, text, shown(one.metric))
        assert one.metric.partition(" during ")[2] in one.name


@pytest.mark.slow
def test_a_failed_limit_is_of_its_metric_alone(tmp_path, store_path):
    body = "run random 4KiB 100/0, qd 4 for 1s\nexpect p99 < 1us\n"
    run(tmp_path, f'test "t" {{\n{body}headline p99\nheadline mean\nheadline iops\n}}')
    found = {one.metric: one for one in headlines(store_path)}
    assert [one.unmet for one in found.values()] == [True, False, False]
    assert all("limit" not in text for one in found.values() for text in one.against)
    assert ioplan("show").out.count("1.00 µs: missed") == 1


@pytest.mark.slow
def test_the_unit_of_a_ratio_stands_once(tmp_path, store_path):
    body = "run random 4KiB 100/0, qd 1 for 200ms\nvary qd in 1, 32"
    text = f'test "t" {{ {body}\n headline iops_per_cpu at qd == 32 }}'
    words = ("--target", tmp_path / "scratch", "--create", "8MiB")
    assert ioplan("run", plan_file(tmp_path, text), *words, "-q").code == 0
    shown = ioplan("show").out.split("Headlines ")[1]
    assert shown.count("per % CPU") == 1 and "1/s" not in shown
    assert re.search(r"█ [0-9.,k]+( ▲)?$", shown, re.MULTILINE), shown
    assert "1/s" not in ioplan("show", "--metric", "iops_per_cpu").out


@pytest.mark.slow
def test_a_rate_that_is_met_has_no_spread(tmp_path, store_path):
    """Though seconds of a Poisson process differ; its place is the rate."""
    run(
        tmp_path,
        'test "t" { run random 4KiB 100/0, qd 64, rate 200 iops poisson for 60s }',
    )
    assert "±" not in ioplan("ls", "--limit", 1).out
    _, shown = ioplan("show").out.split("Headlines")
    assert "±" not in shown and ", 200 IOPS " in shown and "QD 64" not in shown


@pytest.mark.slow
def test_a_rate_that_is_missed_has_a_warning(tmp_path, store_path):
    tests = [
        f'test "{rate}" {{ run random 4KiB 100/0, qd 4, rate {rate} iops for 1s }}'
        for rate in (1_000, 9_000_000)
    ]
    tests += [
        'test "seek" { seek highest rate in 1000 iops..9000000 iops where p99 < 1ms\n'
        "run random 4KiB 100/0, qd 64 for 1s }"
    ]
    run(tmp_path, "\n".join(tests))
    met, missed, *others = last_records(store_path)
    assert "of its rate" not in str([record.warnings for record in (met, *others)])
    share = percent_text(100 * missed.total.ios / (9_000_000 * missed.run_s))
    assert f"stream main: {share} of its rate was reached" in missed.warnings[-1]
    tables = ioplan("show", "--tables").out
    assert f"{share} of its rate was reached" in " ".join(tables.split())


@pytest.mark.slow
def test_flushes_are_no_arrivals_of_a_rate(tmp_path, store_path):
    load = "random 4KiB 0/100, qd 4, flush every 1, rate 9000000 iops"
    run(tmp_path, f'test "t" {{ run {load} for 1s }}')
    (missed,) = last_records(store_path)
    assert missed.streams[0].sync_ios
    share = percent_text(100 * missed.total.ios / (9_000_000 * missed.run_s))
    assert f"stream main: {share} of its rate was reached" in missed.warnings[-1]


UNTIL_STEADY = """precondition fob { purge }
test "t" {
  after fob
  run random 4KiB 0/100, qd 32, until steady iops every 1min, at most 8 passes
  expect mean <= 170us
  expect p99 >= 276us
}"""


@pytest.mark.slow
def test_a_run_that_ends_steady_is_told_by_its_window(tmp_path, store_path):
    """Before it the drive was fresh: 198k IOPS and 162 us over all of the run."""
    done = ioplan("run", plan_file(tmp_path, UNTIL_STEADY), "--backend", "sim")
    assert done.code == 1 and "failed: expect mean" in done.out
    last = last_records(store_path)[-1]
    with Store.open(store_path) as store:
        series = store.detail(last.session, last.seq).series
    window = [one for one in series if one.t_s > last.run_s - 5 * 60]
    ios = sum(one.ios["write"] for one in window)
    mean_ns = sum(one.ios["write"] * one.mean_ns for one in window) / ios
    assert last.total.latency.mean_ns < 0.8 * mean_ns
    (mean,), (iops,), (p99,) = map(shown, ("mean", "iops", "p99"))
    assert mean == metric_text(mean_ns, "ns") and iops == f"{ios / 300e3:.0f}k"
    assert mean_ns == pytest.approx(32 * 300e9 / ios, rel=0.001), "Little's law"
    figures = {one.metric: one.figure for one in headlines(store_path)}
    assert figures["mean"] == mean and figures["p99"] == p99
    row = next(
        line for line in ioplan("show", "--tables").out.splitlines() if p99 in line
    )
    assert mean in row and iops in row
    assert "iops 142k, range" in ioplan("show", "--tables").out
    told = ioplan("history", "--metric", "mean", "--metric", "iops").out
    assert f" {mean} " in told and f" {iops} " in told, told


# a rate that falls within a run
def series(rates):
    """A run of intervals of 100 ms, each at a rate and with a tenth of the latency
    that one I/O at a time would have."""
    parts, total = [], []
    for number, rate in enumerate(rates, start=1):
        latencies_ns = [SECOND_NS // (10 * rate)] * (rate // 10)
        total += latencies_ns
        part = stream(read=counts(latencies_ns))
        event = {"t_ns": number * SECOND_NS // 10, "interval_ns": SECOND_NS // 10}
        parts.append(Progress(warmup=False, streams=(part,), **event))
    made = measured(*parts, result(len(rates) / 10, stream(read=counts(total))))
    return Sample(record(1, made), made.detail)


def outcome(text, sample):
    plan = checked(f'test "T" {{ run random 4KiB 70/30 for 1h\n expect {text} }}')
    return judge(plan.tests[0].expectations[0], [sample]).outcome


@settings(max_examples=20)
@given(st.integers(2, 30), st.integers(1, 30), st.integers(5, 20))
def test_what_held_before_a_fall_is_lost(before, after, share):
    slow, count = 100 * share, before + after
    sample = series([20_000] * before + [slow] * after)
    if after < 2 and count >= 10:
        return  # one interval is a stall
    mean = (20_000 * before + slow * after) / count
    found = outcome(f"iops >= {(slow + mean) / 2:.0f}", sample)
    assert found in ("undecided", "failed")
    if after >= 6 and count >= 10:
        assert found == "failed"
        assert outcome(f"iops >= {0.98 * slow:.0f}", sample) == "held"
    limit_ns, whole_ns = SECOND_NS / 10 / slow * 0.9, 8 * SECOND_NS / 10 / 20_000
    if limit_ns > whole_ns:
        found = outcome(f"p50 < {limit_ns:.0f}ns", sample)
        assert found in ("undecided", "failed")


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("count", [12, 40, 200])
def test_a_slow_decline_is_a_fall(count, share):
    """Without a step, as of a drive whose erased blocks are used up."""
    rates = [3_000 + round(9_000 * exp(-at / share / count)) for at in range(count)]
    sample, mean = series(rates), sum(rates) / count
    assert outcome(f"iops >= {(mean + rates[-1]) / 2:.0f}", sample) != "held"
    assert outcome(f"iops >= {0.9 * rates[-1]:.0f}", sample) == "held"
    rates.sort()
    assert outcome(f"iops >= {0.99 * mean:.0f}", series(rates)) == "held"


@settings(max_examples=20)
@given(st.lists(st.integers(9_000, 11_000), min_size=2, max_size=60))
def test_noise_is_no_fall(rates):
    sample = series(rates)
    assert outcome("iops >= 8000", sample) == "held"
    assert outcome("p99 < 12us", sample) in ("held", "undecided")


WRITE = "run sequential 128KiB 0/100, qd 32"


def printed(folder, first, between, second):
    steps = f"{first} as first\n{between}\n{second} as again"
    text = f'precondition p {{ purge }}\ntest "T" {{ after p\n{steps}\n'
    text += "headline first.bandwidth\nheadline again.bandwidth }"
    plan = plan_file(folder, f'accept "fresh state"\n{text}')
    done = ioplan("run", plan, "--backend", "sim", "--sim", EXAMPLES / "client.toml")
    assert done.code == 0, done.err
    return " ".join(done.out.partition("Headlines")[2].split())


@pytest.mark.parametrize(("pause_s", "least"), [(15, ""), (30, ""), (120, "at least ")])
def test_a_pause_gives_back_what_the_drive_has_freed(
    pause_s, least, tmp_path, store_path
):
    write = f"{WRITE} for 40s"
    told = printed(tmp_path, write, f"idle {pause_s}s", write)
    found = re.search(r"GB, regained in (.*?) without I/O: (\D*)(\d+) MB/s", told)
    assert found and found[2] == least, told
    free = 1 - float(last_records(store_path)[-1].backend.facts["before_cache_fill"])
    assert float(found[3]) == pytest.approx(free * 40e3 / pause_s, rel=0.03)
    assert told.count("regained") == 1
    assert "2.41 GB/s for the first 40.0 GB " in told


def test_the_run_before_may_be_one_of_many(tmp_path, store_path):
    """As of a host that writes a little at a time; what is paused is no whole cache."""
    first = (
        f"{WRITE} for 40s as full\nrepeat 4 {{ idle 5s {WRITE} for 6s as little }}\n"
    )
    told = printed(tmp_path, f"{first}{WRITE} for 2s", "idle 20s", f"{WRITE} for 40s")
    found = re.search(
        r" ([\d.]+) GB/s for [^,]*, regained in 20 s without I/O: (\d+)", told
    )
    assert found and float(found[1]) == pytest.approx(2.4, rel=0.05)
    free = 1 - float(last_records(store_path)[-1].backend.facts["before_cache_fill"])
    assert float(found[2]) == pytest.approx(free * 2000, rel=0.05)


FULL = f"{WRITE} for 40s"
OTHER = "run random 4KiB 0/100, qd 32 for 9min"
UNKNOWN = {
    "no pause": (FULL, "", FULL),
    "not used up": (f"{WRITE} for 5s", "idle 30s", FULL),
    "not seen": (FULL, "idle 30s", f"{WRITE} for 2s"),
    "warm": (FULL, "idle 30s", f"{WRITE} for 38s, warmup 2s"),
    "other writes": (OTHER, "idle 30s", FULL),
    "reads": ("run random 4KiB 100/0, qd 32 for 1s", "idle 30s", FULL),
}


@pytest.mark.parametrize("name", marked(UNKNOWN, pytest.mark.long, "other writes"))
@pytest.mark.usefixtures("store_path")
def test_without_evidence_nothing_is_told(name, tmp_path):
    assert "regained" not in printed(tmp_path, *UNKNOWN[name])
