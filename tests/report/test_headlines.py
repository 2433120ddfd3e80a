"""Headlines: which figures a test is told by, that they are the export's, and leagues."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from run_data import measurement, record, session, workload

from ioplan import iops_text
from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import BackendFacts, Found, RunDetail, RunRecord, Steady
from ioplan.records.record import Asked
from ioplan.results.exports.columns import counted_of, run_rows, series_rows
from ioplan.results.report import Headline, Reader, by_test, overall, points
from ioplan.results.report.headlines.doubts import BEFORE, Doubts
from ioplan.results.report.headlines.headlines import headlines, summary, summary_text
from ioplan.results.report.headlines.league import contests, league
from ioplan.results.report.headlines.wording import nothing_text, together
from ioplan.results.report.terminal.league import league_note, league_table
from ioplan.results.store import Store
from ioplan.workload import Rate, SizeShare

Made = list[tuple[RunRecord, RunDetail]]
SIZES = {"4KiB": 4096, "64KiB": 65536}


def made_run(
    seq: int, cell: Mapping[str, str], *, seconds: int = 6, ios: int = 200, **more: Any
) -> tuple[RunRecord, RunDetail]:
    """A run of a cell: queue depth, share of reads, block size, rate."""
    load, job = workload()
    shares = (SizeShare(size_bytes=SIZES[cell.get("size", "4KiB")], percent=100),)
    changed = {
        "qd": int(cell.get("qd", "4")),
        "read_percent": float(cell.get("read", "100%").removesuffix("%")),
        "rate": Rate(iops=float(cell["rate"])) if "rate" in cell else None,
        "read_sizes": shares,
        "write_sizes": shares,
    }
    stream = load.streams[0].model_copy(update=changed)
    asked = Asked(
        plan="demo",
        plan_file="demo.ioplan",
        test="demo",
        cell=dict(cell),
        kind="run",
        step=0,
        workload=load.model_copy(update={"streams": (stream,)}),
        job=job,
        round=more.pop("round", 0),
    )
    found = measurement(seq, seconds, ios)
    fields: dict[str, Any] = {"made": found, "asked": asked, **more}
    return _sized(record(seq, **fields), shares[0].size_bytes), found.detail


def _sized(made: RunRecord, block_bytes: int) -> RunRecord:
    """With as many bytes as its I/Os have."""
    changed = {
        direction: result.model_copy(update=_bytes(result.ios, block_bytes, made.run_s))
        for direction, result in made.directions.items()
    }
    total = made.total.model_copy(
        update=_bytes(made.total.ios, block_bytes, made.run_s)
    )
    return made.model_copy(update={"directions": changed, "total": total})


def _bytes(ios: int, block_bytes: int, run_s: float) -> dict[str, float]:
    amount = ios * block_bytes
    return {"bytes": amount, "bandwidth_bytes_per_s": amount / run_s}


def headlines_of(path: Path, made: Made) -> tuple[Headline, ...]:
    with Store.open(path) as store:
        store.begin(session())
        for one in made:
            store.add(*one)
        found = points({"A": [record for record, _ in made]})
        return headlines(found, Reader(store))


def sweep(**axes: Sequence[str]) -> list[dict[str, str]]:
    return [dict(zip(axes, cell, strict=True)) for cell in product(*axes.values())]


def runs_of(cells: Sequence[Mapping[str, str]], **more: Any) -> Made:
    """Each with more I/Os than the one before."""
    return [
        made_run(seq, cell, ios=150 + 20 * seq, **more)
        for seq, cell in enumerate(cells, start=1)
    ]


def falling(seq: int, cell: Mapping[str, str]) -> tuple[RunRecord, RunDetail]:
    """A run whose rate falls from 2400 to 670 I/Os per second within it."""
    made, detail = made_run(seq, cell, seconds=60)
    rates = [2400 if n < 11 else 670 for n in range(60)]
    series = tuple(
        one.model_copy(update={"ios": dict.fromkeys(one.ios, rate)})
        for one, rate in zip(detail.series, rates, strict=True)
    )
    return made, detail.model_copy(update={"series": series})


@pytest.mark.parametrize(
    ("read", "prepared", "doubted"),
    [("0%", (), True), ("0%", (2,), False), ("100%", (), False)],
)
def test_a_cell_before_the_cache_was_full_is_doubted(
    tmp_path: Path, read: str, prepared: tuple[int, ...], doubted: bool
) -> None:
    """Unless the drive was prepared between, or the cell writes nothing."""
    first = made_run(1, {"qd": "1", "read": read}, seconds=60)
    made = [first, falling(3, {"qd": "4", "read": "0%"})]
    with Store.open(tmp_path / "s.db") as store:
        store.begin(session())
        for one in made:
            store.add(*one)
        known = Doubts(frozenset(), 0, prepared)
        found = points({"A": [record for record, _ in made]})
        all_of = headlines(found, Reader(store), None, known)
    of_first = [one for one in all_of if one.cell["qd"] == "1"]
    assert of_first
    assert all((BEFORE in one.against) is doubted for one in of_first)


def told(found: Sequence[Headline]) -> list[str]:
    return [", ".join(filter(None, (h.name, h.kind, h.where))) for h in found]


def test_a_cell_is_told_by_what_it_differs_in_from_those_that_failed(
    tmp_path: Path,
) -> None:
    size = {"size": ("4KiB", "64KiB")}
    done, lost = runs_of(sweep(**size))
    failed = (lost[0].model_copy(update={"status": "failed"}), lost[1])
    found = headlines_of(tmp_path / "s.db", [done, failed])
    assert {one.where for one in found if one.value} == {"size 4KiB"}
    (lost_one,) = (one for one in found if one.value is None)
    assert (lost_one.where, lost_one.why) == ("size 64KiB", "failed")


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (
            {},
            ["mean latency, QD 4", "IOPS, QD 4", "worst second, QD 4", "p99, QD 4"],
        ),
        (
            {"qd": ("1", "2", "8")},
            ["mean latency, QD 1", "IOPS, QD 8", "worst second, QD 8", "p99, QD 1"],
        ),
        (
            {"size": ("4KiB", "64KiB")},
            [
                "mean latency, size 4KiB",
                "IOPS, size 4KiB",
                "throughput, size 64KiB",
                "worst second, size 4KiB",
            ],
        ),
        (
            {"qd": ("1", "8"), "read": ("50%", "100%", "0%")},
            [
                "mean latency, random reads, QD 1",
                "IOPS, random reads, QD 8",
                "mean latency, random writes, QD 1",
                "IOPS, random writes, QD 8",
            ],
        ),
        (
            {"region": ("0%..50%", "50%..100%")},
            [
                "highest mean latency",
                "lowest IOPS, region 0%..50%",
                "worst second, region 0%..50%",
                "highest p99",
            ],
        ),
        (
            {"rate": ("100", "1000")},
            [
                "mean latency, rate 100",
                "mean latency, rate 1000",
                "worst",
                "p99, rate 100",
            ],
        ),
    ],
)
def test_the_axes_decide(
    tmp_path: Path, axes: dict[str, tuple[str, ...]], expected: list[str]
) -> None:
    found = told(headlines_of(tmp_path / "s.db", runs_of(sweep(**axes))))
    assert len(found) == len(expected)
    assert all(
        one.startswith(start) for one, start in zip(found, expected, strict=True)
    )


def test_large_blocks_are_told_in_bytes(tmp_path: Path) -> None:
    cells = sweep(qd=("1", "8"), size=("64KiB",))
    _, told, *_ = headlines_of(tmp_path / "s.db", runs_of(cells))
    assert (told.name, told.unit, told.where) == ("throughput", "B/s", "QD 8")


def test_rounds_tell_the_steady_window_and_its_range(tmp_path: Path) -> None:
    steady = Steady(
        metric="iops",
        unit="1/s",
        values=(90.0, 100.0, 110.0),
        mean=100.0,
        range_percent=20.0,
        slope_percent=3.0,
        range_limit_percent=20.0,
        slope_limit_percent=10.0,
        window=3,
        reached=True,
        why="",
    )
    made = [made_run(n, {}, round=n, steady=steady) for n in (1, 2, 3)]
    _, told, *_ = headlines_of(tmp_path / "s.db", made)
    assert (told.name, told.figure) == ("steady IOPS", "100 (range 20 %)")


def test_what_failed_or_has_too_few_has_no_headline(tmp_path: Path) -> None:
    made = runs_of(sweep(qd=("1", "2", "8")))
    made[2] = made_run(3, {"qd": "8"}, ios=900, status="failed")
    found = headlines_of(tmp_path / "s.db", made)
    assert [(one.where, one.why) for one in found if not one.value] == [
        ("QD 8", "failed")
    ]
    gone = [made_run(1, {"qd": "1"}, status="failed")]
    assert headlines_of(tmp_path / "t.db", gone) == ()


def test_why_there_is_none_is_told(tmp_path: Path) -> None:
    found = Found(
        seek="seek highest qd in 1..8 where p99 <= 1us",
        goal="highest",
        axis="qd",
        kind="number",
        value=None,
        yes_at=None,
        no_at=1.0,
        confirmed=False,
        monotone=True,
        confidence_percent=95.0,
        probes=1,
        bytes=0,
        run_s=1.0,
    )
    sought = [made_run(1, {}, found=found)]
    assert headlines_of(tmp_path / "s.db", sought) == ()
    assert (
        nothing_text(points({"A": [sought[0][0]]}))
        == "no figure: no qd that was tried held"
    )
    failed = [made_run(n, {"qd": "1"}, status="failed")[0] for n in (1, 2)]
    assert nothing_text(points({"A": failed})) == "no figure: 1 cell failed"


def test_nothing_is_told_twice(tmp_path: Path) -> None:
    """Figures of one place stand together."""
    found = headlines_of(tmp_path / "s.db", runs_of(sweep(qd=("1", "2", "8"))))
    lines = together(found)
    assert [one.name for one in lines[1]] == ["IOPS", "worst second"]


AXES = st.fixed_dictionaries(
    {},
    optional={
        "qd": st.sets(st.sampled_from(("1", "2", "4", "8")), min_size=1, max_size=3),
        "read": st.sets(st.sampled_from(("100%", "70%", "0%")), min_size=1),
        "size": st.sets(st.sampled_from(("4KiB", "64KiB")), min_size=1),
        "rate": st.sets(st.sampled_from(("100", "1000")), min_size=1),
    },
)
COLUMNS = {"iops": "iops", "bandwidth": "bandwidth_bytes_per_s", "mean": "mean_ns"}


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(axes={}, seed=39, failing=0)  # too few I/Os for a p99
@given(axes=AXES, seed=st.integers(1, 50), failing=st.integers(0, 3))
@pytest.mark.long
def test_each_headline_is_a_figure_of_the_export(
    tmp_path_factory: pytest.TempPathFactory,
    axes: dict[str, set[str]],
    seed: int,
    failing: int,
) -> None:
    cells = sweep(**{name: sorted(values) for name, values in axes.items()})
    made = [
        made_run(
            n,
            cell,
            seconds=6,
            ios=100 + (seed * n * 37) % 90,
            status="failed" if failing == n else "ok",
        )
        for n, cell in enumerate(cells, start=1)
    ]
    found = headlines_of(tmp_path_factory.mktemp("p") / "s.db", made)
    assert len(found) <= 4
    assert bool(found) == any(record.status == "ok" for record, _ in made)
    for one in found:
        among = [
            pair for pair in made if tuple(pair[0].asked.cell.items()) in one.among
        ]
        if one.value is None:
            failed = any(record.status != "ok" for record, _ in among)
            assert failed or "needs 1_000 I/Os" in one.why, one
            continue
        exported = _exported(one, among)
        choose = min if one.name.startswith(("lowest", "worst")) else max
        assert one.value == pytest.approx(choose(exported), rel=1e-12)
        assert all(record.status == "ok" for record, _ in among)


def _exported(one: Headline, made: Made) -> list[float]:
    """The rows of the export that a headline is chosen from."""
    counted = counted_of([record for record, _ in made])
    if one.name.startswith("worst"):
        amount = "ios" if one.metric == "iops" else "bytes"
        return [
            (row[f"read_{amount}"] + row[f"write_{amount}"]) / row["length_s"]
            for record, detail in made
            for row in series_rows(record, counted, detail.series)
        ]
    name = parse_metric(one.metric).name
    column = COLUMNS.get(name, f"{name}_ns")
    totals = (next(run_rows(record, counted)) for record, _ in made)
    return [row[column] for row in totals]


def test_a_list_of_sessions_has_their_best_figures(tmp_path: Path) -> None:
    """The newest of them; one that cannot be read is listed all the same."""
    path, cells = tmp_path / "s.db", sweep(qd=("1", "8"))
    mean, rate, *_ = headlines_of(path, runs_of(cells))
    assert (rate.where, mean.where) == ("QD 8", "QD 1")
    with Store.open(path) as store:
        assert summary_text(store, session().id) == f"{rate.figure} IOPS, {mean.figure}"
    told = " ".join(ioplan("ls", "--store", path).out.split())
    assert f"{rate.figure} IOPS, {mean.figure}" in told
    with sqlite3.connect(path) as damaged:
        damaged.execute("UPDATE run SET record = '{}'")
    done = ioplan("ls", "--store", path)
    assert done.code == 0 and session().id in done.out and "IOPS" not in done.out


def test_what_is_worst_is_not_what_a_session_is_told_by() -> None:
    second = headline(9.0, name="worst second")
    assert summary([second, headline(5.0), headline(7.0)]) == [headline(7.0)]


# ---- several sessions


def headline(value: float, **more: Any) -> Headline:
    fields: dict[str, Any] = {
        "name": "lowest IOPS",
        "metric": "iops",
        "value": value,
        "unit": "1/s",
        "kind": "",
        "where": "QD 8",
        "cell": {"qd": "8"},
        "among": frozenset({(("qd", "1"),), (("qd", "8"),)}),
        "definition": "",
    }
    return Headline(**fields | more)


def latency(value: float) -> Headline:
    return headline(value, name="mean latency", metric="mean", unit="ns")


def test_a_league_has_ratios_ranks_and_a_geometric_mean() -> None:
    tests = {
        "rates": {"A": [headline(100.0)], "B": [headline(200.0, where="QD 1")]},
        "latencies": {"A": [latency(10.0)], "B": [latency(20.0)]},
    }
    found = overall(tests, ["A", "B"])
    assert found and found.base == "A"
    rates, latencies = found.contests
    assert rates.ratio("B", "A") == 2.0 and rates.rank("B", "A") == 1
    assert latencies.ratio("B", "A") == 2.0 and latencies.rank("B", "A") == 2
    assert [one.geometric_mean for one in found.standings] == pytest.approx([1.0, 1.0])
    assert [one.rank for one in found.standings] == [1, 1]


def test_other_cells_are_not_compared() -> None:
    """The highest of a shorter sweep is no match for that of a longer one."""
    short = headline(50.0, among=frozenset({(("qd", "1"),)}))
    (one,) = contests("t", {"A": [headline(100.0)], "B": [short]})
    assert one.ratio("B", "A") is None and one.rank("B", "A") is None
    found = league([one], ["A", "B"])
    assert found and found.standings[-1].rank is None


def test_a_session_without_figures_is_neither_base_nor_ranked() -> None:
    tests = {
        "one": {"B": [headline(100.0)], "C": [headline(50.0)]},
        "two": {"B": [headline(100.0)], "C": [headline(50.0)]},
    }
    found = overall(tests, ["A", "B", "C"])
    assert found and found.base == "B"
    assert [(one.label, one.rank) for one in found.standings] == [
        ("B", 1),
        ("C", 2),
        ("A", None),
    ]
    assert found.standings[-1].measured == 0


@given(
    st.lists(
        st.lists(st.floats(1e-3, 1e9), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
def test_ranks_follow_the_geometric_means(figures: list[list[float]]) -> None:
    """Whichever session is the base."""
    labels = ["A", "B", "C"]
    tests = {
        f"t{n}": {label: [headline(v)] for label, v in zip(labels, row, strict=True)}
        for n, row in enumerate(figures)
    }
    found = overall(tests, labels)
    assert found
    for one in found.standings:
        at = labels.index(one.label)
        expected = prod(row[at] / row[0] for row in figures) ** (1 / len(figures))
        assert one.geometric_mean == pytest.approx(expected, rel=1e-6)
    means = [one.geometric_mean or 0.0 for one in found.standings]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("count", [2, 12])
def test_a_league_fits_a_terminal(count: int) -> None:
    """A few sessions side by side, more below one another, the best first."""
    labels = [f"drive {n:02}" for n in range(count)]
    tests = {
        f"A{test} random read of small blocks": {
            label: [headline(1e5 * (n + test))] for n, label in enumerate(labels, 1)
        }
        for test in range(8)
    }
    found = overall(tests, labels)
    assert found
    console = Console(file=io.StringIO(), width=80)
    console.print(league_table(found, console))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert all(len(text) <= 80 for text in shown.splitlines())
    assert iops_text(1e5 * count) in shown
    places = [shown.index(label) for label in reversed(labels)]
    assert places == sorted(places)


def test_a_simulated_session_has_no_rank_among_drives() -> None:
    model = headline(900.0, is_simulated=True)
    drives = {"A": [headline(100.0)], "B": [headline(200.0)]}
    found = overall({"t": {"S": [model], **drives}}, ["S", "A", "B"])
    assert found and found.base == "A" and found.unranked == ("S",)
    ranks = [(one.label, one.rank, one.geometric_mean) for one in found.standings]
    assert ranks == [("B", 1, 2.0), ("A", 2, 1.0), ("S", None, None)]
    (one,) = found.contests
    assert [one.rank(label, "A") for label in ("S", "A", "B")] == [None, 2, 1]
    assert "no rank among drives" in league_note(found)
    both = overall({"t": {"S": [model], "T": [model]}}, ["S", "T"])
    assert both and [one.rank for one in both.standings] == [1, 1]
    assert not both.unranked and "no rank" not in league_note(both)


def test_headlines_know_what_was_simulated(tmp_path: Path) -> None:
    for name in ("sim", "io_uring", "none_of_these"):
        backend = BackendFacts(name=name, version="1")
        runs = runs_of(sweep(qd=("1", "2")), backend=backend)
        found = headlines_of(tmp_path / f"{name}.db", runs)
        assert {one.is_simulated for one in found} == {name == "sim"}


def test_one_session_has_no_league() -> None:
    assert overall({"t": {"A": [headline(1.0)]}}, ["A"]) is None


WRITES = "sequential 4KiB 0/100"
FLUSHED = f"{WRITES}, sync every 1"
BOTH = f"workload both {{\ndata = random 4KiB 100/0\nlog = {FLUSHED}\n}}\n"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (f"run {FLUSHED} for 4s", ["commit.mean", "iops", "iops", "commit.p99"]),
        (f"run {WRITES} for 4s", ["mean", "iops", "iops", "p99"]),
        (f"run {FLUSHED}, fua for 4s", ["commit.mean", "iops", "iops", "commit.p99"]),
        (
            "run random 4KiB 70/30, sync every 8 for 4s",
            ["commit.mean", "mean", "iops", "iops"],
        ),
        (
            "run both for 4s",
            ["commit.mean", "mean", "iops", "iops"],
        ),
        (
            f"seek highest qd in 1..4 where commit.mean < 1s\nrun {FLUSHED} for 4s",
            ["qd", "iops", "commit.p99"],
        ),
        (
            f"run {WRITES}, sync every 1000000000 for 4s",
            ["mean", "iops", "iops", "p99"],
        ),
        (f"headline mean\nrun {FLUSHED} for 4s", ["mean"]),
    ],
    ids=["log", "no flush", "fua", "mix", "beside", "seek", "never", "named"],
)
def test_what_flushes_is_told_by_its_commit(
    tmp_path: Path, store_path: Path, block: str, expected: list[str]
) -> None:
    """And the figure is that which `show --metric` has."""
    plan = plan_file(tmp_path, f'{BOTH}test "T" {{\n{block}\n}}\n')
    call = ("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan(*call).code == 0
    with Store.to_read(store_path) as store:
        last = store.session("last")
        told_by = by_test(store, list(store.records(last.id)), plan_of(last))["T"]
    assert [one.metric for one in told_by] == expected
    latency = next(one for one in told_by if one.unit == "ns")
    shown = ioplan("show", "--metric", latency.metric).out
    assert latency.figure.split(" ±")[0] in shown
