"""What the first screen says must be known: each chip, its tone, where it leads."""

import pytest
from figures import assessed, changed, run
from plans import checked
from report_charts import ID, composed

from ioplan.records import DriveState, Verdict
from ioplan.results.report import session_sections

NOT_FINISHED = ("warning", "the session did not finish", "")
NONE = ("soft", "no expectations judged", "")
POWER = ("soft", "power, temperature: not measured", "")


def verdict(outcome, actual, line="p99 <= 2ms"):
    expectation = f"expect {line}"
    return Verdict(
        expectation=expectation, outcome=outcome, actual=actual, limit=2e6, unit="ns"
    )


def state(lacks):
    amounts = {"written_capacities": 0, "random_capacities": 0, "unwritten_percent": 0}
    return DriveState(since="purge", evidence="", lacks=lacks, **amounts)


def report_of(store, *records):
    """A session of runs, each of a test, with what differs from a sound one."""
    for seq, (test, more) in enumerate(records, 1):
        one, detail = run(seq)
        cell = {"cell": {"qd": f"{seq}"}}
        store.add(changed(one, test=test, **cell | more), detail)
    return composed(store)


def chips(found):
    return [(one.tone, one.text, one.link) for one in found.screen.chips]


CASES = [
    ([("A", {})], [NONE]),
    (
        [("A", {}), ("B", {"status": "failed", "message": "gone"})],
        [("bad", "1 run failed", "test-2"), NONE],
    ),
    (
        [("A", {}), ("B", {"warnings": ("hot",)}), ("B", {"warnings": ("hot",)})],
        [NONE, ("warning", "warnings in 2 runs", "test-2")],
    ),
    (
        [("A", {"shortened": True, "profile": "smoke"})],
        [NONE, ("warning", "profile smoke: no preconditioning", "")],
    ),
    (
        [("A", {"steady": assessed(1.0, 9.0, 1.0, 9.0, 1.0)})],
        [NONE, ("warning", "steady state not reached in 1 of 1 cases", "test-1")],
    ),
    (
        [
            ("A", {"verdicts": (verdict("held", 1e6),)}),
            ("B", {"verdicts": (verdict("undecided", 1e6), verdict("held", 1.0, "x"))}),
        ],
        [("warning", "1 of 3 expectations undecided", "test-2")],
    ),
]


@pytest.mark.parametrize(("records", "expected"), CASES)
def test_each_chip_has_a_tone_and_leads_to_its_test(store, records, expected):
    expected = [*expected, NOT_FINISHED, POWER]
    assert chips(report_of(store, *records)) == expected


def test_a_session_that_ran_all_its_runs_did_finish_though_some_failed(store):
    """That they failed says the chip of the runs."""
    plan = checked('test "A" { run random 4KiB 100/0 for 1s }')
    one, detail = run(1)
    more = {"status": "failed", "message": "gone", "cell": {}}
    store.add(changed(one, test="A", **more), detail)
    store.finish(ID, "failed", "2026-11-21T05:46:12Z")
    records = list(store.records(ID))
    for known in (None, plan):
        _, screen = session_sections(store, store.session(ID), records, known)
        texts = [chip.text for chip in screen.chips]
        assert "1 run failed" in texts
        assert ("the session did not finish" in texts) == (known is None)


def test_the_gravest_five_are_shown(store):
    """And the sentence is of the expectation that missed its limit by most."""
    found = report_of(
        store,
        ("A", {"verdicts": (verdict("failed", 3e6), verdict("held", 1.0, "x <= 1"))}),
        (
            "B",
            {
                "verdicts": (verdict("failed", 8e6),),
                "warnings": ("hot",),
                "status": "failed",
                "steady": assessed(1.0, 9.0, 1.0, 9.0, 1.0),
            },
        ),
    )
    assert [text for _, text, _ in chips(found)] == [
        "1 run failed",
        "2 of 3 expectations failed",
        "steady state not reached in 1 of 1 cases",
        "warnings in 1 run",
        "the session did not finish",
    ]
    assert found.screen.outcome == "failed"
    assert found.screen.sentence == (
        "2 of 3 expectations failed: p99 at QD 2 is 8.00 ms, limit 2.00 ms."
    )


UNREAD = "of the blocks it reads were never written"
STATES = [
    (
        ["only 40 % of the drive written so far"] * 2,
        "only 4 % of the drive written so far",
    ),
    ([f"7 % {UNREAD}"] * 2, f"100 % {UNREAD}"),
    (["only 1 % of its region overwritten at random"] * 3, f"6 % {UNREAD}"),
    (["writes to only 2 % of the drive"], "only 0.9 × capacity written so far"),
    (["3 % of the drive empty"], "31 % of the drive empty"),
]


@pytest.mark.parametrize(("others", "gravest"), STATES)
def test_the_state_of_the_drive_is_the_gravest_and_not_the_most_frequent(
    store, others, gravest
):
    texts = [*others, gravest, *others]
    runs = [("A", {"state": state(text)}) for text in texts]
    (chip,) = (o for o in report_of(store, *runs).screen.chips if "state of" in o.text)
    assert chip.text == f"state of the drive: {gravest}"


@pytest.mark.parametrize(
    ("actual", "line", "sentence"),
    [
        (2.0004e6, "p99 <= 2ms", "p99 at QD 1 is 2.0004 ms, limit 2.00 ms."),
        (
            4e6,
            "mean < 2ms when qd == 1",
            "mean latency at QD 1 is 4.00 ms, limit 2.00 ms.",
        ),
    ],
)
def test_the_sentence_has_the_digits_that_tell_figure_and_limit(
    store, actual, line, sentence
):
    found = report_of(store, ("A", {"verdicts": (verdict("failed", actual, line),)}))
    assert found.screen.sentence == f"1 of 1 expectation failed: {sentence}"


def test_the_first_line_has_date_runs_and_version(store):
    store.finish(ID, "ok", "2026-11-21T05:46:12Z")
    found = report_of(store, ("A", {}), ("B", {}))
    records = list(store.records(ID))
    began, runs, version = found.screen.line.split(" · ")
    assert began == f"{store.session(ID).started_at[:16].replace('T', ' ')} UTC"
    assert runs.startswith(f"{len(records)} runs, ") and version.startswith("ioplan ")
    (drive,) = found.screen.drives
    assert drive.label == found.sources[0].label and not drive.is_simulated
