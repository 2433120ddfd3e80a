"""Headlines: which figures a test is told by, that they are the export's, and leagues."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from figures import SESSION_ID, at_rate, changed, interval, measurement, record
from hypothesis import given
from hypothesis import strategies as st
from report_charts import composed
from sessions import put

from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import BackendFacts, Found, RunDetail, RunRecord, Steady
from ioplan.results.measure import Measurement
from ioplan.results.report import Headline, by_test, overall
from ioplan.results.store import Store
from ioplan.workload import Rate, SizeShare

Made = list[tuple[RunRecord, RunDetail]]
SIZES = {"4KiB": 4096, "64KiB": 65536}


@cache
def _measured(seq: int, seconds: int, ios: int) -> Measurement:
    return measurement(seq, seconds, ios)


def made_run(
    seq: int, cell: Mapping[str, str], *, seconds: int = 6, ios: int = 200, **more: Any
) -> tuple[RunRecord, RunDetail]:
    """A run of a cell: queue depth, share of reads, block size, rate."""
    size_bytes = SIZES[cell.get("size", "4KiB")]
    shares = (SizeShare(size_bytes=size_bytes, percent=100),)
    load = {
        "qd": int(cell.get("qd", "4")),
        "read_percent": float(cell.get("read", "100%").removesuffix("%")),
        "rate": Rate(iops=float(cell["rate"])) if "rate" in cell else None,
        "read_sizes": shares,
        "write_sizes": shares,
    }
    found = _measured(seq, seconds, ios)
    made = record(seq, found, cell=dict(cell), load=load, **more)
    return _sized(made, size_bytes), found.detail


def _sized(made: RunRecord, block_bytes: int) -> RunRecord:
    """With as many bytes as its I/Os have."""
    directions = {
        direction: result.model_copy(update=_bytes(result.ios, block_bytes, made.run_s))
        for direction, result in made.directions.items()
    }
    total = made.total.model_copy(
        update=_bytes(made.total.ios, block_bytes, made.run_s)
    )
    return changed(made, directions=directions, total=total)


def _bytes(ios: int, block_bytes: int, run_s: float) -> dict[str, float]:
    amount = ios * block_bytes
    return {"bytes": amount, "bandwidth_bytes_per_s": amount / run_s}


def headlines_of(path: Path, made: Made) -> tuple[Headline, ...]:
    with Store.open(path) as store:
        put(store, *made)
        return by_test(store, [one for one, _ in made]).get("demo", ())


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
    series = tuple(interval(n, 2400 if n <= 11 else 670) for n in range(1, 61))
    return made, detail.model_copy(update={"series": series})


@pytest.mark.parametrize(
    ("read", "prepared", "doubted"),
    [("0%", False, True), ("0%", True, False), ("100%", False, False)],
)
def test_a_cell_before_the_cache_was_full_is_doubted(
    tmp_path: Path, read: str, prepared: bool, doubted: bool
) -> None:
    """Unless the drive was prepared between, or the cell writes nothing."""
    made = [made_run(1, {"qd": "1", "read": read}, seconds=60)]
    made += [made_run(2, {}, kind="prepare")] if prepared else []
    made += [falling(3, {"qd": "4", "read": "0%"})]
    found = headlines_of(tmp_path / "s.db", made)
    of_first = [one for one in found if one.cell["qd"] == "1"]
    assert of_first
    assert all(("before a slowdown" in one.against) is doubted for one in of_first)


def told(found: Sequence[Headline]) -> list[str]:
    return [", ".join(filter(None, (h.name, h.kind, h.where))) for h in found]


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
            {"qd": ("1", "8"), "size": ("64KiB",)},
            [
                "mean latency, QD 1",
                "throughput, QD 8",
                "worst second, QD 8",
                "p99, QD 1",
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
    """And each is a figure of the export, of a cell among those that it is chosen from."""
    path, made = tmp_path / "s.db", runs_of(sweep(**axes))
    found = headlines_of(path, made)
    assert len(found) == len(expected)
    assert all(
        one.startswith(start) for one, start in zip(told(found), expected, strict=True)
    )
    check_exported(found, path)


COLUMNS = {"iops": "iops", "bandwidth": "bandwidth_bytes_per_s", "mean": "mean_ns"}


def check_exported(found: Sequence[Headline], path: Path) -> None:
    runs, series = (
        list(csv.DictReader(io.StringIO(ioplan(*export_of(path), *more).out)))
        for more in ((), ("--series",))
    )
    for one in found:
        if one.value is None:
            assert "needs 1_000 I/Os" in one.why
        elif one.name.startswith("worst"):
            amount = "ios" if one.metric == "iops" else "bytes"
            sums = [
                (int(row[f"read_{amount}"]) + int(row[f"write_{amount}"]))
                / float(row["length_s"])
                for row in series
                if is_among(row, one)
            ]
            assert one.value == pytest.approx(min(sums), rel=1e-12)
        else:
            name = parse_metric(one.metric).name
            column = COLUMNS.get(name, f"{name}_ns")
            values = [
                float(row[column])
                for row in runs
                if row["scope"] == "total" and is_among(row, one)
            ]
            choose = min if one.name.startswith("lowest") else max
            assert one.value == pytest.approx(choose(values), rel=1e-12)


def export_of(path: Path) -> tuple[str | Path, ...]:
    return ("export", "last", "--format", "csv", "--store", path)


def is_among(row: Mapping[str, str], one: Headline) -> bool:
    return any(
        all(row.get(f"cell.{name}", row.get(name)) == text for name, text in cell)
        for cell in one.among
    )


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


def test_what_failed_has_no_figure(tmp_path: Path) -> None:
    """Others are told by what they differ in from those that failed."""
    made = runs_of(sweep(size=("4KiB", "64KiB")))
    made[1] = (changed(made[1][0], status="failed"), made[1][1])
    found = headlines_of(tmp_path / "s.db", made)
    assert {one.where for one in found if one.value} == {"size 4KiB"}
    assert [(one.where, one.why) for one in found if not one.value] == [
        ("size 64KiB", "failed")
    ]


FOUND = Found(
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


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"found": FOUND}, "no figure: no qd that was tried held"),
        ({"status": "failed"}, "no figure: 1 cell failed"),
    ],
)
def test_why_there_is_none_is_told(
    tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    path = tmp_path / "s.db"
    assert headlines_of(path, [made_run(1, {"qd": "1"}, **more)]) == ()
    assert why in " ".join(ioplan("show", "--store", path).out.split())


def test_a_list_of_sessions_has_their_best_figures(tmp_path: Path) -> None:
    """The newest of them; one that cannot be read is listed all the same."""
    path, cells = tmp_path / "s.db", sweep(qd=("1", "8"))
    mean, rate, *_ = headlines_of(path, runs_of(cells))
    assert (rate.where, mean.where) == ("QD 8", "QD 1")
    told = " ".join(ioplan("ls", "--store", path).out.split())
    assert f"{rate.figure} IOPS, {mean.figure}" in told
    with sqlite3.connect(path) as damaged:
        damaged.execute("UPDATE run SET record = '{}'")
    done = ioplan("ls", "--store", path)
    assert done.code == 0 and SESSION_ID in done.out and "IOPS" not in done.out


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
    assert overall({"t": {"A": [headline(1.0)]}}, ["A"]) is None


def test_other_cells_are_not_compared() -> None:
    """The highest of a shorter sweep is no match for that of a longer one."""
    short = headline(50.0, among=frozenset({(("qd", "1"),)}))
    found = overall({"t": {"A": [headline(100.0)], "B": [short]}}, ["A", "B"])
    assert found and found.standings[-1].rank is None
    (one,) = found.contests
    assert one.ratio("B", "A") is None and one.rank("B", "A") is None


def test_a_session_without_figures_is_neither_base_nor_ranked() -> None:
    tests = {
        name: {"B": [headline(100.0)], "C": [headline(50.0)]} for name in ("one", "two")
    }
    found = overall(tests, ["A", "B", "C"])
    assert found and found.base == "B"
    ranks = [(one.label, one.rank) for one in found.standings]
    assert ranks == [("B", 1), ("C", 2), ("A", None)]
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


def test_a_simulated_session_has_no_rank_among_drives() -> None:
    model = headline(900.0, is_simulated=True)
    drives = {"A": [headline(100.0)], "B": [headline(200.0)]}
    found = overall({"t": {"S": [model], **drives}}, ["S", "A", "B"])
    assert found and found.base == "A" and found.unranked == ("S",)
    ranks = [(one.label, one.rank, one.geometric_mean) for one in found.standings]
    assert ranks == [("B", 1, 2.0), ("A", 2, 1.0), ("S", None, None)]
    (one,) = found.contests
    assert [one.rank(label, "A") for label in ("S", "A", "B")] == [None, 2, 1]
    both = overall({"t": {"S": [model], "T": [model]}}, ["S", "T"])
    assert both and [one.rank for one in both.standings] == [1, 1]
    assert not both.unranked


JOB = "20261121-054512-jobs"


@pytest.mark.parametrize(
    ("count", "backends"),
    [(2, ("io_uring",)), (12, ("io_uring",)), (3, ("sim", "io_uring"))],
)
def test_a_league_fits_a_terminal(
    tmp_path: Path, count: int, backends: tuple[str, ...]
) -> None:
    """A few sessions side by side, more below one another, the best first."""
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
        league = composed(store, *ids).league
    assert league and len(league.unranked) == ("sim" in backends)
    shown = ioplan("show", JOB, "--store", path).out
    assert all(len(text) <= 80 for text in shown.splitlines())
    assert ("no rank" in " ".join(shown.split())) == ("sim" in backends)
    table = shown[shown.index(ids[-1]) :].partition("\n")[2]
    ranked = [f"drive {n:02}" for n in reversed(range("sim" in backends, count))]
    places = [table.index(label) for label in ranked]
    assert places == sorted(places)


WRITES = "sequential 4KiB 0/100"
FLUSHED = f"{WRITES}, sync every 1"
BOTH = f"workload both {{\ndata = random 4KiB 100/0\nlog = {FLUSHED}\n}}\n"
COMMITS = {
    "log": (f"run {FLUSHED} for 2s", ["commit.mean", "iops", "iops", "commit.p99"]),
    "no flush": (f"run {WRITES} for 2s", ["mean", "iops", "iops", "p99"]),
    "fua": (
        f"run {FLUSHED}, fua for 2s",
        ["commit.mean", "iops", "iops", "commit.p99"],
    ),
    "mix": (
        "run random 4KiB 70/30, sync every 8 for 2s",
        ["commit.mean", "mean", "iops", "iops"],
    ),
    "beside": ("run both for 2s", ["commit.mean", "mean", "iops", "iops"]),
    "seek": (
        f"seek highest qd in 1..4 where commit.mean < 1s\nrun {FLUSHED} for 2s",
        ["qd", "iops", "commit.p99"],
    ),
    "never": (
        f"run {WRITES}, sync every 1000000000 for 2s",
        ["mean", "iops", "iops", "p99"],
    ),
    "named": (f"headline mean\nrun {FLUSHED} for 2s", ["mean"]),
}


@pytest.mark.usefixtures("rough_sim")
@pytest.mark.parametrize(
    "names",
    [("log", "mix", "named"), pytest.param(tuple(COMMITS), marks=pytest.mark.long)],
    ids=["some", "all"],
)
def test_what_flushes_is_told_by_its_commit(
    names: tuple[str, ...], tmp_path: Path, store_path: Path
) -> None:
    """And the figure is that which `show --metric` has."""
    tests = "".join(f'test "{name}" {{\n{COMMITS[name][0]}\n}}\n' for name in names)
    plan = plan_file(tmp_path, f"{BOTH}{tests}")
    call = ("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan(*call).code == 0
    with Store.to_read(store_path) as store:
        last = store.session("last")
        found = by_test(store, list(store.records(last.id)), plan_of(last))
    for name in names:
        expected = COMMITS[name][1]
        assert [one.metric for one in found[name]] == expected, name
        latency = next(one for one in found[name] if one.unit == "ns")
        shown = ioplan("show", "--metric", latency.metric).out
        assert latency.figure.split(" ±")[0] in shown
