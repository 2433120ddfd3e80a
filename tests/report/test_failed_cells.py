"""What failed is marked, with no point and no axis that ends before; losses after power cuts."""

import io

import pytest
from figures import changed, measurement, record, run
from report_charts import ID, charts, composed, printed
from rich.console import Console
from sessions import GONE, STOPPED, SWEPT, failed_sweep, put

from ioplan.language import SteadyRule, parse_metric
from ioplan.records import PowerCutMade
from ioplan.results.measure import Figure, assess
from ioplan.results.report import FAILED, convergence, points, show_records, spec
from ioplan.results.store import Store

OK = [qd for qd in SWEPT if qd not in (STOPPED, GONE)]
NOTE = f"{FAILED} failed or stopped, so without a figure: 2 runs"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("swept") / "results.db") as opened:
        put(opened, *failed_sweep())
        yield opened


def chart(store, kind, metrics, by=""):
    return charts(store, kind, *metrics.split(), by=by)[0]


def drawn_part(picture):
    """What a terminal shows, without the notes."""
    text = printed(picture)
    assert all(note in text for note in picture.notes)
    return text.partition(NOTE)[0]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_sweep_keeps_its_axis_and_marks_what_failed(swept, kind):
    found = chart(swept, kind, "iops", "qd")
    assert NOTE in found.notes
    rows = {str(row["x"]).removesuffix(".0"): row for row in found.frame.records()}
    assert list(rows) == list(SWEPT)
    assert [qd for qd, row in rows.items() if row["status"] == "ok"] == OK
    assert {qd for qd, row in rows.items() if row["y"] is None} == {STOPPED, GONE}
    text = drawn_part(found)
    assert text.count(FAILED) == 2
    lines = text.rstrip().splitlines()
    for n, qd in enumerate(SWEPT):
        assert qd in lines[-1 if kind == "lines" else n + 2]


@pytest.mark.parametrize("kind", ["lines", "bars", "heatmap"])
def test_the_page_draws_a_mark_in_place_of_a_point(swept, kind):
    """Only lines are given the rows without a value: they are broken there."""
    found = chart(swept, kind, "iops", "qd size" if kind == "heatmap" else "qd")
    made = spec(found)
    failed = [one for one in made["layer"] if one["mark"].get("text") == FAILED]
    broken = "datum.status && datum.status !== 'ok'"
    assert [one["transform"] for one in failed] == [[{"filter": broken}]]
    ok = {"filter": f"!({broken})"}
    cursor = {"filter": "datum.i === cursor"}
    for one in made["layer"]:
        if one not in failed and one["mark"]["type"] != "line":
            assert any(each in one["transform"] for each in (ok, cursor)), one
    x = made["encoding"]["x"]
    shown = x["axis"].get("values") or x["scale"]["domain"]
    assert [str(value).removesuffix(".0") for value in shown] == list(SWEPT)
    if kind == "heatmap":
        text = drawn_part(found)
        assert text.count(FAILED) == 2
        assert all(f" {qd} " in text for qd in SWEPT)


def test_a_table_marks_its_row(swept):
    found = chart(swept, "table", "iops mean", "qd")
    rows = {row["d0"]: row for row in found.frame.records()}
    assert rows[GONE]["m0"] is None and rows[STOPPED]["m1"] is None
    printed_rows = [line for line in printed(found).splitlines() if line.strip()]
    lines = {line.split()[0]: line for line in printed_rows}
    for qd in SWEPT:
        assert lines[qd].split()[-1] == ("ok" if qd in OK else "failed")
        assert (FAILED in lines[qd]) == (qd not in OK)


def test_where_no_axis_has_a_place_for_it_it_is_a_note(swept):
    for kind, metric, by, key in (
        *((one, "p99", "", "d0") for one in ("percentiles", "cumulative", "histogram")),
        ("lines", "mean", "iops", "at"),
    ):
        found = chart(swept, kind, metric, by)
        assert {row[key] for row in found.frame.records()} == set(OK)
        assert NOTE in found.notes


def test_a_run_over_time_is_marked_where_it_ended(swept):
    """Its intervals were measured; the mean of the last part is not that of a run."""
    found = chart(swept, "lines", "iops", "time")
    assert f"{FAILED} where a run failed or was stopped" in found.notes
    rows = list(found.frame.records())
    ends = [row for row in rows if row["status"] != "ok"]
    assert len(ends) == 2 and all(row["y"] is None for row in ends)
    assert {row["x"] for row in ends} == {3.0}
    assert len([row for row in rows if row["y"] is not None]) == 9
    assert found.overlay is None


def test_where_all_has_failed_the_page_and_the_terminal_say_so(store, tmp_path):
    """A cell whose round failed is marked, too: a mean of the other rounds would not be
    that of the window."""
    for seq in (1, 2):
        store.add(*run(seq, cell={"qd": f"{seq}"}, status="failed"))
    found = chart(store, "lines", "mean", "qd")
    assert [row["y"] for row in found.frame.records()] == [None, None]
    assert drawn_part(found).count(FAILED) == 2
    gone = chart(store, "percentiles", "p99")
    assert not gone.frame.rows and NOTE in gone.notes
    assert "nothing to draw" in printed(gone)
    with Store.open(tmp_path / "rounds.db") as rounds:
        put(rounds, *in_rounds(failed=3))
        bars, over = (
            list(chart(rounds, kind, "iops", by).frame.records())
            for kind, by in (("bars", "qd"), ("lines", "round"))
        )
    assert [row["y"] for row in bars] == [None]
    assert [row["status"] for row in over] == ["ok", "ok", "failed", "ok"]


def test_both_tables_of_runs_have_figures_until_then_and_the_mark(swept):
    out, records = io.StringIO(), list(swept.records(ID))
    console = Console(file=out, width=80)
    show_records(console, swept, swept.session(ID), records, tables=True)
    table = out.getvalue().partition("IOPS by queue depth")[0]
    lines = {}
    for line in filter(str.strip, table.splitlines()):
        lines.setdefault(line.split()[0], line.replace(" all ", " "))
    sign = f"{FAILED} failed or stopped: the figures are of what was done until then"
    (section,) = composed(swept).sections
    assert sign in out.getvalue() and sign in section.signs
    assert lines[GONE].split()[1:] == [FAILED, "failed"]
    assert lines[STOPPED].split()[2] == FAILED and "µs" in lines[STOPPED]
    rows = {row["d0"]: row for row in reversed(list(section.runs.records()))}
    assert [rows[qd]["status"] for qd in SWEPT] == ["ok", "failed", "ok", "failed"]
    assert rows[GONE]["iops"] is None and rows[STOPPED]["iops"]


def in_rounds(failed):
    """Four rounds of a tracked cell, one of which failed."""
    rule, values, made = SteadyRule(metric=parse_metric("iops"), window=3), [], []
    for number in range(1, 5):
        one, update = record(number, round=number, cell={"qd": "4"}), {}
        if number == failed:
            values.append(Figure(None, f"round {number} failed"))
            update = {"status": "failed"}
        else:
            values.append(Figure(one.total.iops))
            update = {"steady": assess(rule, values)}
        made.append(one.model_copy(update=update))
    return made


def test_a_round_that_failed_is_no_point_of_the_convergence():
    """Nor is its window drawn, of which it would be a 0.

    After round 1 has failed, rounds 3 and 4 are there, 1 too, and the window of three
    is not 1, 3, 4.
    """
    (found,) = convergence(points({"A": in_rounds(failed=2)}), [])
    rows = {row["x"]: row for row in found.frame.records()}
    assert rows[2.0]["y"] is None and rows[2.0]["status"] == "failed"
    assert [number for number, row in rows.items() if row["y"] is not None] == [1, 3, 4]
    assert found.overlay is None
    assert found.notes[0] == "A: not steady: round 2 failed"
    assert FAILED in printed(found).partition("A: not")[0]
    (found,) = convergence(points({"A": in_rounds(failed=1)}), [])
    assert found.overlay.rows[0][:2] == (2.0, 4.0)


MADE = record(1, measurement(), cell={})
PROMISES = (
    *("lost_flushed", "lost_fua", "older_than_durable"),
    *("torn", "checksum", "misdirected", "foreign"),
)


def cut():
    return changed(MADE, power_cut=PowerCutMade(at_s=1.0, off_s=2.0))


def read(**found):
    known = dict.fromkeys(PROMISES, 0) | {"promised_by_flush": 5} | found
    facts = {"verify": known}
    return changed(MADE, backend=MADE.backend.model_copy(update={"facts": facts}))


def judged(store, *runs, id=ID):
    """The report's lines on a session of these runs."""
    made = [
        changed(one, seq=n, run_id=f"r{n}", step=n) for n, one in enumerate(runs, 1)
    ]
    found = composed(store, put(store, *made, id=id)).sections[0].remarks
    return [(one.outcome, one.text) for one in found if "power cut" in one.text]


@pytest.mark.parametrize(("cuts", "text"), [(1, "95 %"), (10, "26 %"), (59, "5.0 %")])
@pytest.mark.promise("durability.bound")
def test_zero_losses_are_a_bound(store, cuts, text):
    """As docs/durability.md has them; 59 is the well-known least number for 5 %."""
    ((outcome, line),) = judged(store, *(cut(), read()) * cuts)
    assert outcome == "held" and f"at most {text} of such cuts" in line


def test_a_loss_is_counted_by_its_cut(store):
    """And how a promise was broken is said."""
    for number, name in enumerate(PROMISES):
        lost, id = read(**{name: 3}), f"20261122-054512-aaa{number}"
        ((outcome, line),) = judged(store, cut(), lost, lost, cut(), read(), id=id)
        assert outcome == "failed", name
        assert line.startswith("a promise was broken by 1 of 2 power cuts")
    torn = {"torn_writes": 2, "torn_unit_bytes": 8192}
    more = {"torn_writes": 1, "torn_unit_bytes": 12288}
    lost = read(lost_flushed=9, reordered=1, overtaken=1, **more)
    assert judged(store, cut(), read(**torn), cut(), lost) == [("failed", BROKEN)]


BROKEN = (
    "a promise was broken by 1 of 2 power cuts; durable blocks were lost though writes "
    "issued after them survived; entries of a log were lost though writes that follow "
    "it survived; 3 writes torn, at multiples of 4KiB"
)


def test_a_cut_after_which_nothing_promised_was_read_says_nothing(store):
    """As where all is overwritten after it, or no flush ended before it; nor does what
    was not read, or read before a cut."""
    nothing = read(promised_by_flush=0, rolled_back=4)
    runs, other = [cut(), nothing, cut(), nothing], "20261122-054512-aaaa"
    text = "nothing that had been promised was read after 2 power cuts"
    assert judged(store, *runs) == [("undecided", text)]
    more = (cut(), read(promised_by_read=1))
    ((outcome, line),) = judged(store, *runs, *more, id=other)
    assert outcome == "held" and line.endswith(f"break one; {text}")
    assert line.startswith("no promise was broken by 1 power cut: with 95 %")
    both = ((cut(), MADE, read(rolled_back=4)), (cut(), read()))
    one, same = (judged(store, *o, id=f"2027-{n}") for n, o in enumerate(both))
    assert one == same
    assert judged(store, read(lost_fua=1), cut(), id="2028") == []
