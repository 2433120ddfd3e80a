"""Headlines: which figures a test is told by, that they are the export's, and leagues."""

import csv
import io
import sqlite3
from functools import cache
from itertools import product

import pytest
from command import ioplan, plan_file
from figures import (
    SESSION_ID,
    assessed,
    at_rate,
    changed,
    interval,
    measurement,
    record,
)
from report_charts import headline, headlines_by_test
from sessions import put

from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import BackendFacts, Found
from ioplan.results.report import cards, contests, document
from ioplan.results.store import Store
from ioplan.workload import Rate, SizeShare

measured_once = cache(measurement)
SIZES = {"4KiB": 4096, "64KiB": 65536}


def made_run(seq, cell, seconds=6, ios=200, **more):
    """A run of a cell: queue depth, share of reads, block size, rate."""
    size_bytes = SIZES[cell.get("size", "4KiB")]
    shares = (SizeShare(size_bytes=size_bytes, percent=100),)
    load = {"read_sizes": shares, "write_sizes": shares, "qd": int(cell.get("qd", "4"))}
    load["read_percent"] = float(cell.get("read", "100%").removesuffix("%"))
    load["rate"] = Rate(iops=float(cell["rate"])) if "rate" in cell else None
    found = measured_once(seq, seconds, ios)
    made = record(seq, found, cell=dict(cell), load=load, **more)

    def sized(part):
        amount = part.ios * size_bytes
        rate = {"bytes": amount, "bandwidth_bytes_per_s": amount / made.run_s}
        return part.model_copy(update=rate)

    directions = {name: sized(part) for name, part in made.directions.items()}
    made = changed(made, directions=directions, total=sized(made.total))
    return made, found.detail


def headlines_of(path, made):
    with Store.open(path) as store:
        put(store, *made)
        return headlines_by_test(store, [one for one, _ in made]).get("demo", ())


def sweep(**axes):
    return [dict(zip(axes, cell, strict=True)) for cell in product(*axes.values())]


def runs_of(cells, **more):
    """Each with more I/Os than the one before."""
    return [
        made_run(seq, cell, ios=150 + 20 * seq, **more)
        for seq, cell in enumerate(cells, start=1)
    ]


@pytest.mark.parametrize(
    ("read", "prepared", "doubted"),
    [("0%", False, True), ("0%", True, False), ("100%", False, False)],
)
def test_a_cell_before_the_cache_was_full_is_doubted(tmp_path, read, prepared, doubted):
    """Unless the drive was prepared between, or the cell writes nothing."""
    made = [made_run(1, {"qd": "1", "read": read}, seconds=60)]
    made += [made_run(2, {}, kind="prepare")] if prepared else []
    falling, detail = made_run(3, {"qd": "4", "read": "0%"}, seconds=60)
    series = tuple(interval(n, 2400 if n <= 11 else 670) for n in range(1, 61))
    made += [(falling, detail.model_copy(update={"series": series}))]
    found = headlines_of(tmp_path / "s.db", made)
    doubts = [o.against for o in found if o.cell["qd"] == "1"]
    assert doubts
    assert all(
        ("burst value: the drive slowed down later" in some) is doubted
        for some in doubts
    )


AXES = [
    ({}, "mean latency, QD 4; IOPS, QD 4; worst second, QD 4; p99, QD 4"),
    ({"qd": "1 2 8"}, "mean latency, QD 1; IOPS, QD 8; worst second, QD 8; p99, QD 1"),
    (
        {"size": "4KiB 64KiB"},
        "mean latency, size 4KiB; IOPS, size 4KiB; throughput, size 64KiB; "
        "worst second, size 4KiB",
    ),
    (
        {"qd": "1 8", "size": "64KiB"},
        "mean latency, QD 1; throughput, QD 8; worst second, QD 8; p99, QD 1",
    ),
    (
        {"qd": "1 8", "read": "50% 100% 0%"},
        "mean latency, random reads, QD 1; IOPS, random reads, QD 8; "
        "mean latency, random writes, QD 1; IOPS, random writes, QD 8",
    ),
    (
        {"region": "0%..50% 50%..100%"},
        "highest mean latency; lowest IOPS, region 0%..50%; "
        "worst second, region 0%..50%; highest p99",
    ),
    (
        {"rate": "100 1000"},
        "mean latency, rate 100; mean latency, rate 1000; worst; p99, rate 100",
    ),
]


@pytest.mark.parametrize(("axes", "expected"), AXES)
def test_the_axes_decide(tmp_path, axes, expected):
    """And each is a figure of the export, of a cell among those that it is chosen from."""
    cells = sweep(**{name: values.split() for name, values in axes.items()})
    path = tmp_path / "s.db"
    found = headlines_of(path, runs_of(cells))
    told = [", ".join(filter(None, (h.name, h.kind, h.where))) for h in found]
    for text, start in zip(told, expected.split("; "), strict=True):
        assert text.startswith(start)
    check_exported(found, path)


COLUMNS = {"iops": "iops", "bandwidth": "bandwidth_bytes_per_s", "mean": "mean_ns"}


def check_exported(found, path):
    words = ("export", "last", "--format", "csv", "--store", path)
    runs, series = (
        list(csv.DictReader(io.StringIO(ioplan(*words, *more).out)))
        for more in ((), ("--series",))
    )
    for one in found:
        if one.value is None:
            assert "needs 1,000 I/Os" in one.why
            continue
        choose = max
        if one.name.startswith("worst"):
            choose, amount = min, "ios" if one.metric == "iops" else "bytes"
            done = (f"read_{amount}", f"write_{amount}")
            values = [
                sum(int(row[name]) for name in done) / float(row["length_s"])
                for row in series
                if is_among(row, one)
            ]
        else:
            name = parse_metric(one.metric).name
            column = COLUMNS.get(name, f"{name}_ns")
            rows = [row for row in runs if row["scope"] == "total"]
            values = [float(row[column]) for row in rows if is_among(row, one)]
            choose = min if one.name.startswith("lowest") else max
        assert one.value == pytest.approx(choose(values), rel=1e-12)


def is_among(row, one):
    return any(
        all(row.get(f"cell.{name}", row.get(name)) == text for name, text in cell)
        for cell in one.among
    )


def test_rounds_tell_the_steady_window_and_its_range(tmp_path):
    steady = assessed(90.0, 100.0, 110.0, window=3, slope_percent=20.0)
    made = [made_run(n, {}, round=n, steady=steady) for n in (1, 2, 3)]
    _, told, *_ = headlines_of(tmp_path / "s.db", made)
    assert (told.name, told.figure) == ("steady IOPS", "100 IOPS (range 20 %)")


def test_what_failed_has_no_figure(tmp_path):
    """Others are told by what they differ in from those that failed."""
    one, (other, detail) = runs_of(sweep(size=("4KiB", "64KiB")))
    made = [one, (changed(other, status="failed"), detail)]
    found = headlines_of(tmp_path / "s.db", made)
    assert {one.where for one in found if one.value} == {"size 4KiB"}
    none = [(one.where, one.why) for one in found if not one.value]
    assert none == [("size 64KiB", "failed")]


FOUND = Found(
    seek="seek highest qd in 1..8 where p99 <= 1us", goal="highest", axis="qd",
    kind="number", value=None, yes_at=None, no_at=1.0, confirmed=False, monotone=True,
    confidence_percent=95.0, probes=1, bytes=0, run_s=1.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"found": FOUND}, "1 search found no value"),
        ({"status": "failed"}, "1 run failed"),
    ],
)
def test_no_headline_has_a_reason(tmp_path, more, why):
    path = tmp_path / "s.db"
    found = headlines_of(path, [made_run(1, {"qd": "1"}, **more)])
    assert all(one.value is None for one in found)
    assert why in " ".join(ioplan("show", "--store", path).out.split())


def test_a_list_of_sessions_has_their_best_figures(tmp_path):
    """The newest of them; one that cannot be read is listed all the same."""
    path, cells = tmp_path / "s.db", sweep(qd=("1", "8"))
    mean, rate, *_ = headlines_of(path, runs_of(cells))
    assert (rate.where, mean.where) == ("QD 8", "QD 1")
    told = " ".join(ioplan("ls", "--store", path).out.split())
    assert f"{rate.figure} ▲, {mean.figure} ▲" in told and "IOPS" in rate.figure
    with sqlite3.connect(path) as damaged:
        damaged.execute("UPDATE run SET extras = '{}'")
    done = ioplan("ls", "--store", path)
    assert done.code == 0 and SESSION_ID in done.out and "IOPS" not in done.out


def cards_of(tests, labels, *links):
    entries = {test: contests(test, by_label) for test, by_label in tests.items()}
    return cards(entries, labels, *links)


def card_of(**headlines):
    """The card of one headline of several drives."""
    (card,) = cards_of({"t": {k: [h] for k, h in headlines.items()}}, [*headlines])
    return card


def test_bars_are_sorted_and_the_best_is_marked():
    """A doubted figure is not the best, and a drive without a figure comes last."""
    rates = card_of(A=headline(1.0), B=headline(None, why="failed"), C=headline(2.0))
    assert [bar.label for bar in rates.bars] == ["C", "A", "B"]
    assert [bar.is_best for bar in rates.bars] == [True, False, False]
    assert rates.notes == ("B: failed",) and "higher is better" in rates.caption
    fast = {"unit": "ns", "metric": "mean", "more_is_better": False}
    latencies = card_of(A=headline(10.0, **fast), B=headline(20.0, **fast))
    assert [bar.label for bar in latencies.bars] == ["A", "B"]
    assert "lower is better" in latencies.caption
    doubted = card_of(A=headline(9.0, against=("not steady",)), B=headline(2.0))
    assert [bar.is_best for bar in doubted.bars] == [False, False]
    assert doubted.notes == ("A: not steady",) and not doubted.bars[0].is_firm
    equal = card_of(A=headline(2.0), B=headline(2.0))
    assert [bar.is_best for bar in equal.bars] == [True, True]
    assert [bar.is_best for bar in card_of(A=headline(2.0)).bars] == [False]


def test_a_simulated_drive_stands_below_the_drives():
    model = headline(900.0, is_simulated=True, against=("simulated",))
    card = card_of(S=model, A=headline(100.0), B=headline(200.0))
    assert [bar.label for bar in card.bars] == ["B", "A", "S"]
    assert [bar.is_best for bar in card.bars] == [True, False, False]
    (first, second) = card_of(S=model, T=model).bars
    assert first.is_best and second.is_best and first.is_firm


def test_a_simulated_drive_does_not_rank_where_no_drive_has_a_figure():
    """Nor where all runs of the drive failed, so that it has no headline at all."""
    model, failed = headline(900.0, is_simulated=True), headline(None, why="failed")
    card = card_of(S=model, A=failed)
    assert [bar.label for bar in card.bars] == ["A", "S"]
    (contest,) = contests("t", {"S": [model], "A": []}, ["S"])
    assert contest.ranked == [] and contest.in_order == ["A", "S"]
    (contest,) = contests("t", {"S": [model], "T": []}, ["S", "T"])
    assert contest.ranked == ["S"]


def test_several_simulated_sessions_are_told_in_the_terminal(tmp_path):
    path, (run,) = tmp_path / "s.db", runs_of(sweep(qd=("1",)))
    kinds = {"a": "sim", "b": "sim", "c": "io_uring"}
    for id, name in kinds.items():
        record, detail = run
        own = changed(record, backend=BackendFacts(name=name, version="1"))
        put(path, (own, detail), id=id, ended="ok", target=f"/dev/{id}", backend=name)
    simulated = ioplan("show", "a", "b", "--store", path).out
    assert simulated.count("SIMULATED") == 1 and "Headlines, SIMULATED ─" in simulated
    mixed = ioplan("show", "a", "c", "--store", path).out
    assert "Headlines, 1 of 2 SIMULATED ─" in mixed
    names = [line.split("█")[0] for line in mixed.splitlines() if "█" in line]
    assert ["SIMULATED" in name for name in names] == [False, True] * (len(names) // 2)


def test_of_many_drives_the_best_and_the_median_are_in_sight():
    card = card_of(**{f"d{n:02}": headline(float(n)) for n in range(1, 21)})
    shown = [bar.label for bar in card.bars if not bar.is_folded]
    assert shown == ["d20", "d19", "d18", "d17", "d16", "d10"]
    assert len(card.bars) == 20
    (median,) = (bar for bar in card.bars if bar.name != bar.label)
    assert median.name == "median: d10"
    mixed = card_of(
        **{f"d{n:02}": headline(float(n)) for n in range(1, 13)},
        **{f"s{n:02}": headline(99.0, is_simulated=True) for n in range(12)},
    )
    assert [b.name for b in mixed.bars if b.label != b.name] == ["median: d06"]


def test_what_differs_by_drive_parts_no_card():
    """The value that a search found, and the length of the worst interval."""
    sought = {"is_of_search": True, "cell": {"size": "4KiB"}}
    card = card_of(
        A=headline(2.0, where="62.0k IOPS", **sought),
        B=headline(1.0, where="50.0k IOPS", **sought),
    )
    assert [bar.label for bar in card.bars] == ["A", "B"] and card.title == "t"
    worst = {"quantity": "IOPS", "unit": "1/s"}
    card = card_of(
        A=headline(2e4, name="worst 200 ms", word="worst 200 ms", **worst),
        B=headline(3e4, name="worst 300 ms", word="worst 300 ms", **worst),
    )
    assert [bar.name for bar in card.bars] == ["A, worst 200 ms", "B, worst 300 ms"]
    assert "no ranking" in card.caption and not any(bar.is_best for bar in card.bars)


def test_iops_have_their_unit():
    """In values and limits."""
    rate = headline(62e3, unit="1/s", limit=1e5, unmet=True)
    card = card_of(A=rate)
    assert card.bars[0].text == "62.0k IOPS"
    assert card.limit_text == "limit 100k IOPS: missed"


def test_a_card_has_the_drives_that_ran_its_test():
    """Also those without a headline, as all of their runs failed."""
    tests = {"t": {"A": [headline(1.0)], "B": []}, "u": {"C": [headline(2.0)]}}
    bars = {
        card.title: [(bar.label, bar.text) for bar in card.bars]
        for card in cards_of(tests, ["A", "B", "C"])
    }
    assert bars == {
        "t, QD 1": [("A", "1.00 IOPS"), ("B", "–")],
        "u, QD 1": [("C", "2.00 IOPS")],
    }


def test_an_error_is_drawn_where_it_can_be_seen():
    card = card_of(
        A=headline(100.0, error_percent=5.0), B=headline(50.0, error_percent=1.0)
    )
    assert [(bar.low, bar.high) for bar in card.bars] == [(95.0, 105.0), (None, None)]


def test_each_first_headline_comes_before_any_second():
    tests = {
        name: {"A": [headline(1.0), headline(2.0, where="QD 8")]} for name in ("t", "u")
    }
    titles = [card.title for card in cards_of(tests, ["A"], {"u": "test-2"})]
    assert titles == ["t, QD 1", "u, QD 1", "t, QD 8", "u, QD 8"]


JOB = "20261121-054512-jobs"


@pytest.mark.parametrize(
    ("count", "backends"),
    [(2, ("io_uring",)), (12, ("io_uring",)), (3, ("sim", "io_uring"))],
)
def test_bars_of_several_drives_fit(tmp_path, count, backends):
    """The best first; of many drives some."""
    path, ids = tmp_path / "s.db", []
    one, detail = made_run(1, {"qd": "1"})
    with Store.open(path) as store:
        for number in range(count):
            name = backends[min(number, len(backends) - 1)]
            target = {"identity": {"model": f"drive {number:02}"}}
            how = {"backend": BackendFacts(name=name, version="1"), "target": target}
            made = (at_rate(one, 1000.0 * (number + 1), **how), detail)
            id = f"{JOB}-{number:03}"
            ids.append(put(store, made, id=id, job=JOB, backend=name))
    shown = ioplan("show", JOB, "--store", path).out
    assert all(len(text) <= 80 for text in shown.splitlines())
    bars = shown[shown.index("IOPS · higher is better") :]
    ranked = [f"drive {n:02}" for n in reversed(range("sim" in backends, count))]
    bars, _, _ = bars.partition("and " if count > 8 else "expectations")
    ranked = [label for label in ranked if label in bars]
    assert len(ranked) >= min(count - 1, 6)
    places = [bars.index(label) for label in ranked]
    assert places == sorted(places)
    assert ("more: --tables" in shown) == (count > 8)
    every = ioplan("show", *ids, "--tables", "--store", path).out
    assert "more: --tables" not in every
    assert every.count("drive 00") > shown.count("drive 00") or count <= 8


def test_a_title_does_not_hide_the_sentence(tmp_path):
    """It is left out where a chip says it, whatever words it has."""
    path = tmp_path / "s.db"
    one, detail = made_run(2, {"qd": "1"})  # what was before is not known
    with Store.open(path) as store:
        for number, name in enumerate("AB", 1):
            how = {"target": {"identity": {"model": name}}, "test": "No expectation"}
            how["backend"] = BackendFacts(name="io_uring", version="1")
            made = (at_rate(one, 1000.0 * number, **how), detail)
            put(store, made, id=f"{JOB}-{number:03}", job=JOB)
    shown = ioplan("show", JOB, "--store", path).out
    assert "B reaches 2.0 times the IOPS of A in No expectation" in shown


WRITES = "sequential 4KiB 0/100"
FLUSHED = f"{WRITES}, sync every 1"
BOTH = f"workload both {{\ndata = random 4KiB 100/0\nlog = {FLUSHED}\n}}\n"
COMMITS = {
    "log": (f"run {FLUSHED} for 2s", "commit.mean iops iops commit.p99"),
    "no flush": (f"run {WRITES} for 2s", "mean iops iops p99"),
    "fua": (f"run {FLUSHED}, fua for 2s", "commit.mean iops iops commit.p99"),
    "mix": ("run random 4KiB 70/30, sync every 8 for 2s", "commit.mean mean iops iops"),
    "beside": ("run both for 2s", "commit.mean mean iops iops"),
    "seek": (
        f"seek highest qd in 1..4 where commit.mean < 1s\nrun {FLUSHED} for 2s",
        "qd iops commit.p99",
    ),
    "never": (f"run {WRITES}, sync every 1000000000 for 2s", "mean iops iops p99"),
    "named": (f"headline mean\nrun {FLUSHED} for 2s", "mean"),
}


@pytest.mark.usefixtures("rough_sim")
@pytest.mark.parametrize(
    "names",
    [("log", "mix", "named"), pytest.param(tuple(COMMITS), marks=pytest.mark.long)],
    ids=["some", "all"],
)
def test_flushes_are_commits(names, tmp_path, store_path):
    """What flushes is told by its commit; the figure is that of `show --metric`."""
    tests = "".join(f'test "{name}" {{\n{COMMITS[name][0]}\n}}\n' for name in names)
    plan = plan_file(tmp_path, f"{BOTH}{tests}")
    call = ("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan(*call).code == 0
    with Store.to_read(store_path) as store:
        last = store.session("last")
        plan = plan_of(last)
        found = headlines_by_test(store, list(store.records(last.id)), plan)
        sections = document(store, [last], {last.id: plan}, "").sections
        titles = {own.title: [each.title for each in own.pictures] for own in sections}
    for name in names:
        commits = "Commit latency percentiles over time" in titles[name]
        assert commits == (name in ("log", "fua", "seek", "named")), titles[name]
        metrics = " ".join(one.metric for one in found[name])
        assert metrics == COMMITS[name][1], name
        latency = next(one for one in found[name] if one.unit == "ns")
        shown = ioplan("show", "--metric", latency.metric).out
        assert latency.figure.split(" ±")[0] in shown


def test_the_limit_of_a_headline_is_that_which_it_missed(tmp_path, store_path):
    limits = "expect iops > 1\n  expect iops >= 9_000_000 iops"
    text = f'test "R" {{\n  run random 4KiB 100/0 for 20ms\n  {limits}\n}}'
    run = ("run", plan_file(tmp_path, text), "--backend", "sim", "--create", "64MiB")
    assert "limit 9.00M IOPS: missed" in ioplan(*run).out
