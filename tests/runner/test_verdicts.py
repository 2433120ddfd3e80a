"""Expectations: each operator, what cannot be decided, and the baseline's rules."""

import pytest
from figures import SECOND_NS, counts, record, stream
from plans import checked
from sessions import session

from ioplan.job import Result
from ioplan.language import parse_metric
from ioplan.results.measure import Figure, Measurement, Sample
from ioplan.results.report import Judgement, verdict_lines
from ioplan.results.store import Store
from ioplan.runner import BaselineSession, judge


def expectation(text):
    plan = checked(f'test "T" {{ run random 4KiB 70/30 for 1h\n expect {text} }}')
    (found,) = plan.tests[0].expectations
    return found


def measured(ios, latency_ns=1000, run_ns=SECOND_NS):
    made = Measurement()
    part = stream(read=counts([latency_ns] * ios))
    made.add(Result(run_ns=run_ns, streams=(part,)))
    return made


def sample(ios, latency_ns=1000):
    made = measured(ios, latency_ns)
    return Sample(record(1, made=made), made.detail)


@pytest.mark.parametrize(
    ("operator", "held"),
    [
        ("<", (True, False, False)),
        ("<=", (True, True, False)),
        (">", (False, False, True)),
        (">=", (False, True, True)),
        ("==", (False, True, False)),
        ("!=", (True, False, True)),
    ],
)
def test_operators(operator, held):
    for ios, expected in zip((99, 100, 101), held, strict=True):
        verdict = judge(expectation(f"iops {operator} 100"), [sample(ios)])
        assert verdict.outcome == ("held" if expected else "failed")
        assert (verdict.actual, verdict.limit, verdict.unit) == (ios, 100, "1/s")
        assert verdict.expectation == f"expect iops {operator} 100"
        assert verdict.why == ""


@pytest.mark.parametrize(
    ("text", "limit", "unit"),
    [
        ("p50 < 2ms", 2e6, "ns"),
        ("bandwidth > 1MiB/s", 2**20, "B/s"),
        ("iops > 50_000 iops", 50_000, "1/s"),
        ("cpu < 80%", 80, "%"),
        ("errors == 0", 0, ""),
    ],
)
def test_limits_are_in_the_unit_of_the_metric(text, limit, unit):
    verdict = judge(expectation(text), [sample(100)])
    assert (verdict.limit, verdict.unit) == (limit, unit)


@pytest.mark.promise("verdicts.few_samples")
def test_a_percentile_of_too_few_is_undecided():
    verdict = judge(expectation("p99.9 < 1s"), [sample(100)])
    assert (verdict.outcome, verdict.actual) == ("undecided", None)
    assert verdict.why == "needs 10,000 I/Os, had 100"


def test_what_did_not_happen_is_undecided():
    verdict = judge(expectation("write.mean < 1s"), [sample(100)])
    assert (verdict.outcome, verdict.why) == ("undecided", "no I/O completed")


def after_cut(lost):
    """A run that has judged blocks after a power cut."""
    promised = {"promised_by_flush": 1}
    facts = {"verify": {"kept": 1, "lost_flushed": lost, **promised}}
    one = record(1)
    backend = one.backend.model_copy(update={"facts": facts})
    return Sample(one.model_copy(update={"backend": backend}), sample(1).detail)


@pytest.mark.parametrize(
    ("text", "lost", "cuts", "told"),
    [
        ("lost_flushed == 0", 0, 10, "0 in 10 cuts: at most 26 % with 95 % confidence"),
        ("lost_flushed == 0", 0, 1, "0 in 1 cut: at most 95 % with 95 % confidence"),
        ("lost_flushed == 0", 0, 0, ""),
        ("lost_flushed == 0", 2, 10, ""),
        ("rolled_back == 0", 0, 10, ""),
    ],
)
def test_a_zero_after_power_cuts_has_its_bound(text, lost, cuts, told):
    verdict = judge(expectation(text), [after_cut(lost)], cuts=cuts)
    assert verdict.outcome == ("failed" if lost else "held")
    found = [Judgement(verdict.expectation, verdict.outcome, {}, verdict)]
    (line,) = verdict_lines(found)
    assert verdict.why == told and (f"({told})" in line.text) is bool(told)


@pytest.mark.parametrize(
    ("text", "had"),
    [
        ("lost_fua == 0", "been written with FUA"),
        ("older_than_durable == 0", "been read after an earlier one"),
        ("overtaken == 0", ""),
        ("torn == 0", ""),
    ],
)
def test_a_zero_of_what_was_never_promised_is_undecided(text, had):
    verdict = judge(expectation(text), [after_cut(0)], cuts=10)
    assert verdict.outcome == ("undecided" if had else "held")
    if had:
        assert verdict.why == f"no block that was read after a power cut had {had}"


RELATIVE = "iops >= 95% of baseline"


@pytest.mark.parametrize(
    ("ios", "outcome"), [(37, "failed"), (38, "held"), (200, "held")]
)
def test_a_share_of_the_baseline(ios, outcome, baseline):
    """Of 40 IOPS."""
    found = baseline.figure(parse_metric("iops"), record(1, run_id="a"), 1)
    verdict = judge(expectation(RELATIVE), [sample(ios)], found)
    assert (verdict.outcome, verdict.limit) == (outcome, 38)


def test_without_a_baseline():
    verdict = judge(expectation(RELATIVE), [sample(100)])
    assert (verdict.outcome, verdict.actual, verdict.limit) == (
        "no baseline",
        100,
        None,
    )
    assert "--baseline" in verdict.why
    absolute = judge(expectation("iops > 1"), [sample(100)])
    assert absolute.outcome == "held"


# an earlier session


@pytest.fixture
def baseline(tmp_path):
    """Rounds 1 to 4 of run "a" have 10, 20, 30, 40 IOPS; "b" has 3 repeats; "c" none."""
    with Store.open(tmp_path / "r.db") as store:
        store.begin(session())
        rows = [("a", 1, 0, 10), ("a", 2, 0, 20), ("a", 3, 0, 30), ("a", 4, 0, 40)]
        rows += [("b", 0, 1, 1), ("b", 0, 2, 2), ("b", 0, 3, 6)]
        for seq, (run_id, number, iteration, ios) in enumerate(rows, 1):
            made = measured(ios)
            one = record(seq, made=made, run_id=run_id)
            asked = one.asked.model_copy(
                update={"round": number, "iteration": iteration}
            )
            store.add(one.model_copy(update={"asked": asked}), made.detail)
        failed = record(9, made=measured(9), run_id="c", status="failed")
        store.add(failed, measured(9).detail)
        return BaselineSession(store, session().id)


@pytest.mark.parametrize(
    ("run_id", "rounds", "iops"),
    [("a", 1, 40), ("a", 2, 35), ("a", 4, 25), ("a", 9, 25), ("b", 1, 3), ("b", 5, 3)],
)
def test_the_baseline_counts_what_the_session_counts(baseline, run_id, rounds, iops):
    """As many of the last rounds, and all repeats."""
    like = record(1, run_id=run_id)
    assert baseline.figure(parse_metric("iops"), like, rounds).figure.value == iops


@pytest.mark.parametrize("run_id", ["c", "unknown"])
def test_the_baseline_has_no_such_run(baseline, run_id):
    found = baseline.figure(parse_metric("iops"), record(1, run_id=run_id), 1)
    why = "the baseline does not contain this run"
    assert found.figure == Figure(None, why)
    verdict = judge(expectation(RELATIVE), [sample(1)], found)
    assert (verdict.outcome, verdict.why) == ("no baseline", found.figure.why)


@pytest.mark.parametrize(
    ("latency_ns", "shown"),
    [(200_013, "200.01 µs"), (199_999, "199.999 µs"), (231_000, "231 µs")],
)
def test_a_line_has_the_digits_that_decide(latency_ns, shown):
    verdict = judge(expectation("max < 200us"), [sample(20, latency_ns)])
    found = [Judgement(verdict.expectation, verdict.outcome, {}, verdict)]
    (line,) = verdict_lines(found)
    assert line.text.endswith(f"{shown}, limit 200 µs")
