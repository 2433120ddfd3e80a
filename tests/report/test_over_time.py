"""Charts over time: each interval has its place, phases are bands, writes are told over bytes, too."""

from contextlib import contextmanager
from itertools import product
from statistics import fmean

import pytest
from command import ioplan, plan_file
from figures import (
    counts,
    flat,
    interval,
    latencies_ns,
    measured,
    progress,
    record,
    result,
    stream,
)
from plans import checked
from report_charts import ID, charts, column, composed, printed
from sessions import put as put_session
from sessions import session

from ioplan import PlanError
from ioplan.job import SECOND_NS
from ioplan.language import METRICS, Metric, parse_metric
from ioplan.records import PhaseResult, RunDetail, TelemetryPoint
from ioplan.results.measure import Sample, figure
from ioplan.results.report import document, modes, spec
from ioplan.results.store import Store
from ioplan.workload import COUNTED, DIRECTIONS, Phase, Rate


def over_time(store, *metrics, kind="lines"):
    return charts(store, kind, *metrics, by="time")[0]


def over_bytes(store):
    return charts(store, "lines", "iops", by="bytes")[0]


def put(store, *series, seq=1, **more):
    """A run with these intervals, one of the steps of a cell."""
    made = record(seq, **{"cell": {}, "step": seq, **more})
    store.add(made, RunDetail(series=series))


def test_a_curve_of_a_stream_is_of_its_own_latencies(store):
    """In each interval, as counted by hand: the other stream is ten times as slow."""
    fast = [latencies_ns(second, 1500) for second in range(4)]
    slow = [[10 * one for one in latencies_ns(9 + second, 1500)] for second in range(4)]
    both = enumerate(zip(fast, slow, strict=True), 1)
    parts = (
        progress(n, stream("fast", read=counts(f)), stream("slow", read=counts(s)))
        for n, (f, s) in both
    )
    made = measured(*parts)
    store.add(record(1), made.detail)
    for name, latencies in (("fast", fast), ("slow", slow)):
        found = over_time(store, Metric(name="max", stream=name))
        assert column(found, "x") == [1, 2, 3, 4]
        assert column(found, "y") == [max(one) for one in latencies]
        found = over_time(store, Metric(name="p99", stream=name), kind="bands")
        p99s_ns = [sorted(one)[1484] for one in latencies]
        assert column(found, "y1") == pytest.approx(p99s_ns, rel=0.01)
        assert found.title == f"Latency percentiles of {name} over time"


@pytest.mark.parametrize(("p50_ns", "scale"), [(30.0, "log"), (150.0, "linear")])
def test_bands_that_lie_close_have_a_linear_axis(store, p50_ns, scale):
    """A run without counts has no curve of a stream."""
    put(store, *(interval(n, 9, p50_ns=p50_ns) for n in (1, 2)))
    assert over_time(store, "p50", kind="bands").y_scale == scale
    for metric in (Metric(name="p99", stream="a"), Metric(name="p95")):
        found = over_time(store, metric)
        assert not found.frame.rows
        assert found.notes == (f"not counted in the intervals of some runs: {metric}",)


def test_a_timeline_has_each_second_but_the_one_cut_short(store):
    put(store, *(interval(n, 100 + n) for n in range(1, 31)), interval(30.1, 1, 0.1))
    found = over_time(store, "iops", kind="scatter")
    assert column(found, "x") == [float(n) for n in range(1, 31)]
    assert column(found, "y") == [100.0 + n for n in range(1, 31)]
    assert found.overlay.rows[0][:3] == (24.0, 30.0, 127.5)
    written = column(over_bytes(store), "x")
    assert written[-1] == 4096 * sum(100 + n for n in range(1, 31))


def test_a_stall_at_the_end_hides_nothing_before_it(store):
    """fio tells of the last seconds and of the stall as of one interval."""
    put(store, *(interval(n, 100) for n in range(1, 9)), interval(33, 200, 25))
    found = over_time(store, "iops", kind="scatter")
    assert column(found, "y") == [100.0] * 8 + [8.0]


def test_steps_follow_one_another(store):
    """On a simulated clock all of them began at once; what is cut short was written."""
    for seq in (1, 2):
        series = (interval(1, 10), interval(2, 10), interval(2.1, 5, 0.1))
        put(store, *series, seq=seq, run_s=2.1)
    assert column(over_bytes(store), "x") == [4096 * n for n in (10, 20, 35, 45)]
    assert column(over_time(store, "iops"), "x") == pytest.approx([1, 2, 3.1, 4.1])


def test_iops_over_time_add_up_to_those_of_the_record(store):
    """Reads and writes together; trims only by their name."""
    parts = [[latencies_ns(10 * n + k, 50 + n) for k in range(3)] for n in (1, 2)]
    wholes = [flat(found) for found in zip(*parts, strict=True)]
    one, two, both = (
        stream(**dict(zip(DIRECTIONS, map(counts, each), strict=True)))
        for each in (*parts, wholes)
    )
    made = measured(progress(1, one), progress(2, two), result(2, both))
    store.add(record(1, made), made.detail)
    sample = Sample(record(1, made), made.detail)
    prefixes = ("", "read.", "write.", "trim.")
    for name, prefix in product(("iops", "bandwidth"), prefixes):
        metric = parse_metric(prefix + name)
        mean = fmean(column(over_time(store, metric), "y"))
        assert mean > 0
        assert mean == pytest.approx(figure(metric, [sample]).value)


SCOPES = ("", *(f"{one}." for one in COUNTED), "log.", "log.read.", "log.commit.")
LOADS = """workload both {
  log = random 4KiB 50/50, trim 10%, sync every 8
  main = random 4KiB 50/50, trim 10%, sync every 8
}
test "T" { run both for 5s
"""


def accepted():
    """What a chart over time may have, whatever the name and of whatever part."""
    names = (*METRICS, "p50", "p90", "p99", "p99.9", "p99.99")
    lines = [f"chart lines {s}{n} over time" for n, s in product(names, SCOPES)]
    first = LOADS.count("\n") + 1
    while True:  # not all errors are told at once
        try:
            (test,) = checked(LOADS + "\n".join(lines) + " }").tests
            return [one.metrics[0] for one in test.charts]
        except PlanError as refused:
            wrong = {one.as_json()["line"] - first for one in refused.diagnostics}
            lines = [line for at, line in enumerate(lines) if at not in wrong]


def test_what_the_checker_accepts_over_time_is_drawn(store):
    """Of an interval that knows all there is."""
    did = dict.fromkeys(COUNTED, counts([5, 7]))
    made = measured(progress(1, stream("log", **did), stream("main", **did)))
    known = dict.fromkeys(TelemetryPoint.model_fields, 1.0)
    readings = TelemetryPoint.model_validate(known)
    detail = made.detail.model_copy(update={"telemetry": (readings,)})
    store.add(record(1, made, cell={}), detail)
    found = accepted()
    assert len(found) > 60
    for metric in found:
        assert over_time(store, metric).frame.rows, metric


@pytest.mark.parametrize("name", ["iops", "p99"])
def test_a_metric_of_a_step_is_drawn_of_its_runs_only(store, name):
    """Of one in the series, and of one that is counted for each stream."""
    for seq, step in ((1, "first"), (2, "then")):
        load = stream("load", read=counts(latencies_ns(seq, 1000 * seq)))
        made = measured(*(progress(second, load) for second in range(1, 5)))
        asked = {"cell": {}, "name": step, "step": seq}
        store.add(record(seq, run_s=4.0, **asked), made.detail)
    then, first = (Metric(name=name, step=step) for step in ("then", "first"))
    both = over_time(store, then, first)
    named = (column(both, "x"), column(both, both.channels.color or ""))
    assert dict(zip(*named, strict=True)) == {
        **dict.fromkeys((1.0, 2.0, 3.0, 4.0), f"first.{name}"),
        **dict.fromkeys((5.0, 6.0, 7.0, 8.0), f"then.{name}"),
    }
    one, bands = over_time(store, then), over_time(store, then, kind="bands")
    for found in (one, bands):
        assert column(found, "x") == [5.0, 6.0, 7.0, 8.0]
        assert "at step then" in found.title
    assert name != "iops" or {*column(one, "y")} == {2000}


def test_points_of_steps_are_one_curve_with_one_window(store):
    """A run to settle, and one to measure: the last fifth is the second run."""
    for seq, seconds in ((1, 80), (2, 20)):
        series = (interval(n, 100 * seq) for n in range(1, seconds + 1))
        put(store, *series, seq=seq, run_s=seconds)
    found = over_time(store, "iops", kind="scatter")
    assert found.overlay.rows == [(80.0, 100.0, 200.0, 200.0, 200.0)]
    assert found.notes[-1] == "A, 1 min 20 s to 1 min 40 s: IOPS 200"


FALLS = [interval(n, 2400 if n <= 11 else 670) for n in range(1, 61)]
"""A cache that is full after 11 s, with the latencies of the same intervals."""


@pytest.mark.parametrize(("metric", "first"), [("iops", 2400.0), ("p99", 200.0)])
@pytest.mark.parametrize("is_planned", [False, True])
def test_each_level_of_a_run_is_marked(store, metric, first, is_planned):
    """Unless the plan changes the rate."""
    rate = Rate(iops=1500, first_per_s=2400, last_per_s=670)
    put(store, *FALLS, load={"rate": rate} if is_planned else {})
    found = over_time(store, metric)
    if is_planned:
        assert len(found.overlay.rows) == 1
        return
    assert [row[:2] for row in found.overlay.rows] == [(0.0, 11.0), (11.0, 60.0)]
    assert found.overlay.rows[0][2] == first
    assert "before and after the rate changed" in found.notes[0]
    assert " 0 s to 11 s: " in found.notes[1]


@pytest.mark.parametrize("is_planned", [False, True])
def test_figures_of_a_run_that_changed_are_marked_in_tables(store, is_planned):
    """They are of all of its time, and the headline is of what was sustained."""
    rate = Rate(iops=1500, first_per_s=2400, last_per_s=670)
    put(store, *FALLS, load={"rate": rate} if is_planned else {})
    (section,) = composed(store).sections
    mixed = "figures of a whole run whose rate changed within it"
    assert (mixed in section.signs[0]) == (not is_planned)
    (headlines,) = section.headlines.values()
    worst = [one.name for one in headlines if one.name.startswith("worst")]
    assert bool(worst) == (not is_planned)


def test_long_times_have_round_ticks(tmp_path):
    """Whole minutes or hours."""
    for end_s, step_s, last_s in ((300, 60, 300), (22 * 3600, 4 * 3600, 24 * 3600)):
        with Store.open(tmp_path / f"{end_s}.db") as store:
            store.begin(session())
            put(store, *(interval(n, 1, 60) for n in range(60, end_s + 1, 60)))
            spec = modes(over_time(store, "iops"))["together"]["spec"]
        axis = spec["encoding"]["x"]["axis"]
        assert axis["values"] == [*range(0, last_s + 1, step_s)]
        assert axis["labelExpr"].endswith("tick(datum.value, 's')")


MANY = 6000
"""Twice as many points as are drawn."""


def test_a_long_timeline_is_thinned_to_means(store):
    put(store, *(interval(n, n % 2) for n in range(1, MANY + 1)))
    found = over_time(store, "iops", kind="scatter")
    assert set(column(found, "y")) == {0.5} and len(found.frame.rows) == MANY / 2
    assert "each point stands for 2 intervals" in found.notes


def test_the_window_is_of_what_was_measured_not_of_what_is_drawn(store):
    """Of two percentiles the larger is drawn; their mean is not that of the larger."""
    tails_ns = (400, 4000)
    put(store, *(interval(n, 1, max_ns=tails_ns[n % 2]) for n in range(1, MANY + 1)))
    found = over_time(store, "max", kind="scatter")
    assert set(column(found, "y")) == {4000.0} and found.overlay
    assert found.overlay.rows[0][2] == 2200.0
    assert found.notes[-1].endswith("2.20 µs ± 82 %")


WRITES = "run random 4KiB 0/100, qd 8, rate 10_000 iops for 5s"
OVER_TIME, OVER_BYTES = "IOPS over time", "IOPS over bytes written"
MEANS = ("Mean latency over time", "Mean latency over bytes written")

DRAWN = {
    "no chart": (WRITES, [OVER_TIME, OVER_BYTES]),
    "lines": (
        f"{WRITES} chart lines iops, mean over time",
        [OVER_TIME, MEANS[0], OVER_BYTES, MEANS[1]],
    ),
    "named": (
        f"{WRITES} chart lines iops over time chart lines mean over bytes",
        [OVER_TIME, MEANS[1]],
    ),
    "mixed": (WRITES.replace("0/100", "70/30"), [OVER_TIME]),
    "reads": (WRITES.replace("0/100", "100/0"), [OVER_TIME]),
    "trims": (WRITES.replace("0/100", "0/100, trim 10%"), [OVER_TIME]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_writes_alone_are_drawn_over_bytes(name, tmp_path, store_path):
    text, titles = DRAWN[name]
    plan = plan_file(tmp_path, f'accept "fresh state"\ntest "T" {{ {text} }}')
    done = ioplan("run", plan, "--backend", "sim", "--create", "1GiB")
    assert done.code == 0, done.err
    with Store.open(store_path) as store:
        session = store.session("last")
        plans = {session.id: checked(plan.read_text())}
        (section,) = document(store, [session], plans, "").sections
    found = [o for o in section.pictures if o.frame.column(o.x).unit in ("s", "B")]
    assert [o.title for o in found if "percentiles" not in o.title] == titles
    for one in found:
        if one.frame.column(one.x).unit == "B":
            written = column(one, "x")
            assert written == sorted(written)
            assert written[-1] == pytest.approx(5 * 10_000 * 4096, rel=0.01)


SECONDS = 20
BUSY = Phase(name="busy", start_ns=2 * SECOND_NS, length_ns=SECOND_NS)
BUSY = BUSY.model_copy(update={"every_ns": 5 * SECOND_NS})
CALM = Phase(name="calm", start_ns=3 * SECOND_NS, length_ns=4 * SECOND_NS)
CALM = CALM.model_copy(update={"every_ns": 5 * SECOND_NS})
LATE = Phase(name="late", start_ns=8 * SECOND_NS, length_ns=1 << 62)
BY_HAND = {
    "busy": [(2, 3), (7, 8), (12, 13), (17, 18)],
    "calm": [(3, 7), (8, 12), (13, 17), (18, 20)],
    "late": [(8, 20)],
}
KINDS = [("lines", "p99"), ("bands", "p99"), ("heatmap", "p99"), ("heatmap", "latency")]


def add(store, seq, *phases, qd="1"):
    """A run of reads of 20 s with these phases."""
    reads = (latencies_ns(100 * seq + second, 50) for second in range(SECONDS))
    parts = (progress(n, stream(read=counts(r))) for n, r in enumerate(reads, 1))
    plain = record(seq, cell={"qd": qd}, run_s=float(SECONDS))
    part = {"run_s": 1, "streams": (), "directions": {}, "total": plain.total}
    found = {one.name: PhaseResult(when=one, **part) for one in phases}
    made = plain.model_copy(update={"phases": found})
    store.add(made, measured(*parts).detail)


def asked(store, kind, name, by="time"):
    return charts(store, kind, Metric(name=name), by=by)[0]


def windows(picture):
    found = {}
    for row in picture.phases.records():
        found.setdefault(row["phase"], []).append((row["x"], row["x2"]))
    return found


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_every_picture_over_time_has_them(kind, name, store):
    """In the terminal each begins where its time is on the axis, to a column."""
    add(store, 1, BUSY, CALM, LATE)
    picture = asked(store, kind, name)
    if kind == "heatmap" and name == "p99":
        columns = {(row["x"], row["phase"]) for row in picture.phases.records()}
        assert len(picture.frame.column("x").order) == SECONDS
        for phase, times in BY_HAND.items():
            told = {float(x.split()[0]) for x, p in columns if p == phase}
            assert told == {at for a, b in times for at in range(a, b)}
    else:
        assert windows(picture) == BY_HAND
    layers = str(spec(picture))
    assert all(f"'equal': '{phase}'" in layers for phase in BY_HAND)
    for width in (60, 80, 200):
        check_marks_above(printed(picture, width).splitlines(), kind)


def check_marks_above(rows, kind):
    (late,) = [n for n, row in enumerate(rows) if "├late" in row]
    above, both = rows[late], rows[late + 1]
    assert "phases: busy, calm, late" in rows
    first = 1 if kind in ("lines", "bands") else 0  # an interval is drawn at its end
    begins = [at for at, sign in enumerate(both) if sign == "├"]
    times_s = sorted(a for name in ("busy", "calm") for a, _ in BY_HAND[name])
    assert len(begins) == len(times_s)
    per_s = (begins[-1] - begins[0]) / (times_s[-1] - times_s[0])
    for at, time_s in zip(begins, times_s, strict=True):
        assert at == pytest.approx(begins[0] + per_s * (time_s - times_s[0]), abs=1.01)
    assert above.index("├late") == pytest.approx(begins[0] + 6 * per_s, abs=1.01)
    left = begins[0] - per_s * (2 - first)
    frame = next(row for row in rows if "└" in row or "A ░" in row or "A ▒" in row)
    edge = frame.index("└") + 1 if "└" in frame else frame.index("A ") + 2
    assert left == pytest.approx(edge, abs=1.5)


def test_phases_are_drawn_where_they_are_shared_and_few(tmp_path):
    """Of cells one after the other each has its own time; there are none over bytes, nor
    in older records."""
    often = {"length_ns": 10**6, "every_ns": 5 * 10**7, "start_ns": 0}
    many = [BUSY.model_copy(update={**often, "name": name}) for name in ("a", "b")]

    @contextmanager
    def of(*cells):
        with Store.open(tmp_path / f"{len([*tmp_path.iterdir()])}.db") as store:
            store.begin(session())
            for seq, phases in enumerate(cells, 1):
                add(store, seq, *phases, qd=str(seq))
            yield store

    with of([BUSY], [BUSY]) as store:
        assert windows(asked(store, "lines", "p99")) == {"busy": BY_HAND["busy"]}
        assert asked(store, "lines", "iops", "bytes").phases is None
    with of([BUSY], [CALM]) as store:
        for kind, name in KINDS:
            picture = asked(store, kind, name)
            assert picture.phases is None
            assert "they begin at different times in its curves" in picture.notes[-1]
    with of(many) as store:
        picture = asked(store, "lines", "p99")
        assert picture.phases is None
        assert any("there are more than" in note for note in picture.notes)
    with of([BUSY]) as store:
        (one,), whole = store.records(ID), store.whole_detail(ID, 1)
    phases = {n: p.model_copy(update={"when": None}) for n, p in one.phases.items()}
    with Store.open(tmp_path / "old.db") as old:
        put_session(old, (one.model_copy(update={"phases": phases}), whole))
        assert asked(old, "lines", "p99").phases is None
