"""Latencies over time: heat maps in which every I/O has its place, and stretches of a run."""

from itertools import product
from math import inf

import pytest
from command import ioplan, plan_file
from figures import (
    counts,
    flat,
    histogram,
    interval,
    latencies_ns,
    measured,
    progress,
    record,
    stream,
)
from report_charts import charts, column, printed
from rich.text import Text
from sessions import put as put_session

from ioplan import iops_text, metric_text
from ioplan.language import Metric, parse_metric
from ioplan.records import RunDetail
from ioplan.results.measure import IntervalCounts, Sample, figure, stretch
from ioplan.results.report import spec
from ioplan.results.store import Store

LATENCY = "latency"
MOST_COLUMNS, MOST_ROWS = 120, 48
STALL_NS = 10**9


def picture(store, *metrics):
    (found,) = charts(store, "heatmap", *metrics, by="time")
    return found


def latency(stream=None):
    return Metric(name=LATENCY, stream=stream)


def put(store, seconds, stalled):
    """A run of two streams, of which one stalls in one second."""
    reads = [latencies_ns(second, 50) for second in range(seconds)]
    reads[stalled] += [STALL_NS] * 5
    other = stream("b", write=counts([77] * 3))
    parts = (stream("a", read=counts(some)) for some in reads)
    made = measured(*(progress(n, part, other) for n, part in enumerate(parts, 1)))
    store.add(record(1), made.detail)
    return reads


@pytest.mark.parametrize("seconds", [1, 30, 250])
def test_every_io_has_its_place(store, seconds):
    reads = put(store, seconds, seconds // 2)
    found = picture(store, latency("a"))
    assert sum(column(found, "count")) == len(flat(reads))
    assert len(set(column(found, "x"))) <= MOST_COLUMNS
    assert len(set(column(found, "y"))) <= MOST_ROWS
    cells = list(found.frame.records())
    for cell in cells[:: max(1, len(cells) // 50)]:
        among = flat(reads[round(cell["x"]) : round(cell["x2"])])
        assert cell["count"] == sum(cell["y"] <= one < cell["y2"] for one in among)
    (slow,) = (cell for cell in cells if cell["y2"] > STALL_NS)
    assert slow["count"] == 5 and slow["x"] <= seconds // 2 < slow["x2"]


def test_the_lines_are_percentiles_of_all_latencies(store):
    reads = put(store, 300, 7)
    for row in picture(store, latency("a")).overlay.records():
        first, last = round(row["x"]), round(row["x2"])
        whole = histogram(flat(reads[first:last]))
        assert [row["p50"], row["p99"]] == whole.percentiles_ns((50, 99))


def test_a_panel_for_each_stream(store):
    put(store, 5, 2)
    found = picture(store, latency("a"), latency("b"), latency())
    panels = found.frame.column(found.channels.panel).order
    assert panels == ("a.latency", "b.latency", "latency")
    made = spec(found)
    assert made["usermeta"]["choices"]["color"]["log"]["field"] == "count"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_drawn_in_the_terminal(store, width):
    put(store, 300, 150)
    rows = printed(picture(store, latency("a"), latency("b")), width).splitlines()
    top = next(row for row in rows if "│" in row and row.strip("│ \n"))
    plotted = top.partition("│")[2]
    at = next(place for place, sign in enumerate(plotted) if sign != " ")
    across = max(len(row.partition("└")[2]) for row in rows)
    assert at / across == pytest.approx(0.5, abs=0.03)


DRIVES, SECONDS = 100, 40
COLUMNS = 20
SLOW, STALLED = 37, 25
"""The drive that stalls, and in which second."""
P99 = Metric(name="p99", stream="reader")
FIGURE, USUAL_ROW = 10, 34
"""Columns for the figure in a terminal, and the height of a row of few on the page."""


def reads(drive, second):
    found = latencies_ns(SECONDS * drive + second, 30)
    return found + [STALL_NS] * 5 * ((drive, second) == (SLOW, STALLED))


@pytest.mark.long
def test_each_figure_is_of_all_latencies_of_its_time(store):
    """Of a hundred drives, of which each is a row."""
    names, ids = [f"Drive {drive:03}" for drive in range(DRIVES)], {}
    for drive, name in enumerate(names):
        parts = (
            progress(second + 1, stream("reader", read=counts(reads(drive, second))))
            for second in range(SECONDS)
        )
        one = (record(1), measured(*parts).detail)
        ids[name] = put_session(store, one, id=f"20270101-{drive:06}-aaaa")
    (found,) = charts(store, "heatmap", P99, by="time", of=ids)
    assert found.frame.column("row").order == tuple(names)
    times = found.frame.column("x").order
    assert len(times) == COLUMNS and times[1] == "2 s"
    values = column(found, "y")
    assert len(values) == DRIVES * len(times)
    for drive, at in product((0, SLOW, 99), (0, STALLED // 2, 19)):
        some = flat([reads(drive, 2 * at), reads(drive, 2 * at + 1)])
        expected = min(histogram(some).percentile_ns(99), max(some))
        assert values[drive * len(times) + at] == expected
    slow = [at for at, value in enumerate(values) if value > STALL_NS / 2]
    assert slow == [SLOW * len(times) + STALLED // 2]

    made = spec(found)
    assert made["height"] < USUAL_ROW * DRIVES / 2
    assert made["encoding"]["y"]["scale"]["domain"][0] == "Drive 099"
    assert made["encoding"]["x"]["axis"]["labelOverlap"] == "greedy"
    for width, colors in product((60, 80, 200), (None, "truecolor")):
        _is_drawn_in_the_terminal(found, width, colors)


def _is_drawn_in_the_terminal(found, width, colors):
    """A line for each."""
    rows = Text.from_ansi(printed(found, width, colors)).plain.splitlines()
    assert max(map(len, rows)) <= width
    lines = [row for row in rows if row.startswith("Drive ")]
    assert len(lines) == DRIVES
    assert lines[SLOW].endswith(" s") and not lines[SLOW - 1].endswith(" s")
    if not colors:
        assert [line for line in lines if "█" in line] == [lines[SLOW]]
        at, label = lines[SLOW].index("█"), len("Drive 000 ")
        wide = (width - label - FIGURE) // COLUMNS
        assert (at - label) // wide == STALLED // 2
        assert lines[SLOW].count("█") == wide


def test_each_metric_has_a_picture_and_each_axis_a_name(store):
    for seq in (1, 2):
        made = measured(progress(1, stream("reader", read=counts([7] * 30))))
        store.add(record(seq), made.detail)
    found = charts(store, "heatmap", P99, "read.iops", by="time")
    assert [one.title for one in found] == [
        "p99 latency of reader over time",
        "Read IOPS over time",
    ]
    assert column(found[0], "y") == [7, 7] and column(found[1], "y") == [30, 30]
    assert found[0].frame.column("row").order == ("qd 2", "qd 4")


STALL = 200_000_000
LASTING = 6
STALLED_AT = 4
"""The interval, from 1, in which one read of a stream takes long."""
BURSTS = """
workload mixed {
  reader = random 8KiB 100/0, qd 4
  writer = random 8KiB 0/100, qd 4, burst 1s of 2_000 iops, then 4s of 100 iops
}
test "Burst" { run mixed for 5s }
"""


def stalled():
    """Two streams, of which one stalls in one interval."""
    reads = [latencies_ns(second, 3000) for second in range(LASTING)]
    writes = [latencies_ns(second + 50, 2000) for second in range(LASTING)]
    reads[STALLED_AT - 1] += [STALL] * 100
    parts = [
        (stream("a", read=counts(r)), stream("b", write=counts(w)))
        for r, w in zip(reads, writes, strict=True)
    ]
    made = measured(*(progress(n, *both) for n, both in enumerate(parts, 1)))
    return made, reads, writes


def between(made, begin_s, end_s):
    return stretch(IntervalCounts(made.detail.intervals), begin_s * 1e9, end_s * 1e9)


def test_a_stall_is_in_its_interval_and_stream_only():
    made, *_ = stalled()
    for second, name in product(range(LASTING), "ab"):
        found = between(made, second, second + 1)
        p99_ns, max_ns = (
            found.figure(Metric(name=one, stream=name)).value for one in ("p99", "max")
        )
        is_there = (second, name) == (STALLED_AT - 1, "a")
        assert (p99_ns > STALL / 2) == (max_ns >= STALL) == is_there


@pytest.mark.parametrize(("begin", "end"), [(0, 2), (2, 5), (3, 4), (0, LASTING)])
@pytest.mark.promise("figures.stretch")
def test_percentiles_are_of_latencies_not_of_percentiles(begin, end):
    made, reads, writes = stalled()
    found = between(made, begin, end)
    values = {"a.read": flat(reads[begin:end]), "b.write": flat(writes[begin:end])}
    for name, some in values.items():

        def value(figure, name=name):
            metric = parse_metric(f"{name}.{figure}", ("a", "b"))
            told = found.figure(metric).value
            assert told is None or found.value(metric) == told
            return told

        whole = histogram(some)
        for percent in (50, 99, 99.9):
            if whole.beyond(percent) >= 10:
                by_hand = pytest.approx(whole.percentile_ns(percent), rel=1e-9)
                assert value(f"p{percent:g}") == by_hand
        assert value("mean") == pytest.approx(sum(some) / len(some))
        assert value("iops") == pytest.approx(len(some) / (end - begin))


def test_all_of_a_run_is_the_run():
    made, *_ = stalled()
    whole, told = between(made, -inf, inf), Sample(record(1, made), made.detail)
    names = ("iops", "bandwidth", "mean", "min", "max", "stddev", "p50", "p99.9")
    for name, prefix in product(names, ("", "a.", "b.", "read.", "b.write.")):
        metric = parse_metric(prefix + name, ("a", "b"))
        assert whole.figure(metric) == figure(metric, [told]), metric
    assert whole.figure(Metric(name="sustained")).why == "sustained is of a whole run"
    assert whole.figure(Metric(name="watts")).value is None


def test_few_latencies_have_no_percentile_but_a_point_in_a_chart(store):
    """Runs without counts have none."""
    made = measured(progress(1, stream(read=counts([5, 7, 9]))))
    found, p99 = between(made, 0, 1), Metric(name="p99")
    assert found.figure(p99).value is None and "needs 1,000" in found.figure(p99).why
    assert found.value(p99) == 9
    assert found.value(Metric(name="p99", direction="write")) is None
    store.add(record(1), RunDetail(series=(interval(1, 5), interval(2, 5))))
    drawn = picture(store, latency())
    assert not drawn.frame.rows
    assert drawn.notes == ("no run has counts of its intervals",)


def test_a_part_of_two_runs_of_a_cell_has_its_own_percentiles(store_path):
    made, *_ = stalled()
    alike = {"cell": {"qd": "1"}, "run_id": "r"}
    runs = [record(n, made, iteration=n, **alike) for n in (1, 2)]
    put_session(store_path, *((one, made.detail) for one in runs), ended="ok")
    for during, end, is_stalled in (("0s..1s", 1, False), ("0s..6s", LASTING, True)):
        (row,) = (
            line
            for line in ioplan("show", "--during", during).out.splitlines()
            if " all " in line
        )
        p99 = between(made, 0, end).figure(Metric(name="p99")).value
        assert metric_text(p99, "ns") in row and ("200 ms" in row) is is_stalled


@pytest.mark.long
def test_it_is_shown(tmp_path, store_path):
    plan = plan_file(tmp_path, BURSTS)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "-q")
    assert done.code == 0, done.err
    burst, calm, everything = (
        ioplan("show", "--during", t).out for t in ("0s..1s", "1s..5s", "0s..1h")
    )
    for out, rate in ((burst, "2,000"), (calm, "100")):
        row = next(line for line in out.splitlines() if " writer" in line)
        assert row.split()[2] == rate
    assert "of 0 s to 1 s of the run, 2 whole intervals" in burst
    assert "8 whole intervals" in calm and "expect" not in calm
    with Store.open(store_path) as store:
        (run,) = store.records(store.session("last").id)
    total = next(line for line in everything.splitlines() if " all " in line)
    assert total.split()[1] == iops_text(run.total.iops)


@pytest.mark.usefixtures("store_path")
def test_what_is_no_part_of_a_run_is_refused(tmp_path):
    wrong = ("", "5s", "5s..", "..5s", "5s..3s", "5s..5s", "1..2", "1s..2s..3s", "x..y")
    for text in wrong:
        done = ioplan("show", "--during", text)
        assert done.code == 2 and "is no part of a run" in done.err
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 2s }')
    ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "-q")
    done = ioplan("show", "--during", "9s..10s")
    told = " ".join(done.out.replace(".00", "").split())
    assert done.code == 0
    assert "1 run without intervals that begin in 9 s to 10 s" in told
    done = ioplan("show", "--during", "1s..2s", "--format", "csv")
    assert done.code == 2 and "--during is of what is shown" in done.err
