"""`ioplan show` in a terminal: tables, sparklines, what went wrong; a row for each stream."""

import csv
import io
import itertools

import pytest
from command import ioplan, plan_file
from figures import changed, interval, measurement, record
from report_charts import ID, composed
from rich.console import Console
from sessions import overview, put

from ioplan import iops_text
from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import RunDetail
from ioplan.results.report import (
    FAILED,
    Reader,
    session_lines,
    session_sections,
    show_records,
)
from ioplan.results.store import Store

BUSY = "stream main: the load generator waited for a CPU {} % of the time"


@pytest.fixture(scope="module")
def three():
    """The runs of a test with three cells."""
    made = measurement()
    return [record(n, made, cell={"qd": str(2 ** (n - 1))}) for n in (1, 2, 3)]


def printed(store, records, width=80, tables=True):
    """As if these were the records of the session that is there."""
    there = {one.seq for one in store.records(ID)}
    for one in records:
        if one.seq not in there:
            store.add(one, RunDetail())
    out = io.StringIO()
    console = Console(file=out, width=width)
    show_records(console, store, store.session("last"), records, tables=tables)
    return out.getvalue()


@pytest.mark.parametrize(
    ("ios", "line"),
    [
        ([100] * 4, "████"),
        ([0, 1, 50, 100], " ▁▄█"),
        ([1000] * 40 + [250] * 40, "████▂▂▂▂"),
        ([100] * 2, ""),
        ([0] * 9, ""),
    ],
)
def test_each_row_has_its_series(store, ios, line):
    """It begins at nothing, and is a few characters however long it is."""
    one = record(1, measurement(), cell={"qd": "1"})
    series = tuple(interval(n, some) for n, some in enumerate(ios, 1))
    store.add(one, RunDetail(series=series))
    text = printed(store, [one]).partition("Headlines")[0]
    assert line in text
    assert bool(line) == ("in time" in text) == ("█" in text)
    narrow = printed(store, [changed(one, cell={"qd": "1", "region": "0%..50%"})], 60)
    narrow = narrow.partition("Headlines")[0]
    assert "in time" not in narrow and "…" not in narrow


@pytest.mark.parametrize("width", [80, 100])
def test_a_session_can_be_copied_from_the_list(width):
    found = overview(
        plan="PTS IOPS, short, with a title that does not fit at all",
        target="/tmp/a/folder/with/a/long/name/and/then/scratch.bin",
        status="interrupted",
        runs=12345,
    )
    _, row = session_lines([found], {}, width)
    assert found.id in row and "12345" in row and "interrupted" in row
    assert "scratch.bin" in row and len(row) <= width


@pytest.mark.parametrize(
    ("width", "lacking"),
    [
        (200, ()),
        (80, ()),
        (60, ("throughput",)),
        (45, ("max", "p99.9", "throughput")),
    ],
)
def test_a_narrow_table_leaves_figures_out_and_breaks_no_word(store, width, lacking):
    """And points of a column stand below one another."""
    records = [
        record(n, measurement(n, ios=20**n), cell={"qd": str(n), "read": f"{n}0%"})
        for n in (1, 2, 3)
    ]
    lines = printed(store, records, width).splitlines()
    assert max(map(len, lines)) <= width
    at = next(n for n, line in enumerate(lines) if "IOPS" in line and "qd" in line)
    wanted = [
        "qd",
        "read",
        "scope",
        "IOPS",
        "throughput",
        "mean",
        "p99",
        "p99.9",
        "max",
    ]
    heads = [word for word in lines[at].split() if word in wanted]
    assert heads == [word for word in wanted if word not in lacking]
    assert {"10%", "30%"} <= {word for line in lines for word in line.split()}
    table = itertools.takewhile(str.strip, lines[at + 1 :])
    assert len({line.index("µs") for line in table if "µs" in line}) == 1


def test_a_warning_is_printed_once_a_session_with_its_runs(store, three):
    """Also where its figures differ: with the worst of them, over all tests."""
    shares = zip(three, (46, 50.5, 9), strict=True)
    busy = [changed(one, warnings=(BUSY.format(share),)) for one, share in shares]
    busy[2] = changed(busy[2], test="other")
    for tables in (True, False):
        found = " ".join(printed(store, busy, tables=tables).split())
        assert found.count("warning") == 1 and found.count("waited for a CPU") == 1
        assert f"▲ warning in 3 of 3 runs, worst at qd=2: {BUSY.format(50.5)}" in found
    counts = zip(three, ("999", "1,112", "2"), strict=True)
    late = [changed(one, warnings=(f"{n} I/Os were late",)) for one, n in counts]
    worst = "warning in 3 of 3 runs, worst at qd=2: 1,112 I/Os were late"
    assert worst in printed(store, late)
    hot = [changed(busy[0], warnings=("hot", "lost 3 I/Os")), *busy[1:]]
    assert "and 2 more" in printed(store, hot, tables=False)
    assert "lost 3 I/Os" in printed(store, hot)


def test_kinds_and_failures_stay_apart(store, three):
    texts = enumerate(zip(three, ("hot", "lost 3 I/Os", "hot"), strict=True))
    failed = [
        changed(one, warnings=(text,), status="failed", message=f"EIO at {n}")
        for n, (one, text) in texts
    ]
    lines = [line.strip() for line in printed(store, failed).splitlines()]
    assert [line for line in lines if line.startswith(("failed at", "warning"))] == [
        *(f"failed at qd={2**n}: EIO at {n}" for n in range(3)),
    ]
    assert "▲ warning at qd=2: lost 3 I/Os" in lines
    assert [line for line in lines if "warning in" in line] == [
        "▲ warning in 2 of 3 runs: hot",
    ]


def test_a_stopped_run_names_its_cell(store, three):
    stopped = changed(three[2], status="interrupted", message="stopped by the user")
    found = printed(store, [*three[:2], stopped])
    assert "interrupted at qd=4: stopped by the user" in found
    assert f" {FAILED} " in found
    assert f"{FAILED} failed or stopped: the figures are of what was done" in found
    assert FAILED not in printed(store, three)


def test_a_report_folds_them_alike(tmp_path, three):
    """By session; of many sessions, over all of them."""
    hot = [changed(one, warnings=(BUSY.format(one.seq),)) for one in three]
    line = f"warning in 3 of 3 runs, worst at qd=4: {BUSY.format(3)}"
    with Store.open(tmp_path / "many.db") as store:
        ids = [put(store, *hot, id=f"20261122-054512-a{n:03}") for n in range(20)]
        one, two, many = (
            [found.text for found in composed(store, *some).sections[0].remarks]
            for some in (ids[:1], ids[:2], ids)
        )
    assert line in one
    assert [text.partition(": ")[2] for text in two].count(line) == 2
    (whole,) = [text for text in many if "warning" in text]
    assert whole.startswith("warning in 60 of 60 runs, worst at qd=4: stream main")


TEXT = """workload db {
  data = random 8KiB 70/30, qd 32
  log = sequential 4KiB 0/100, qd 1, rate 500 iops
}
test "Streams" { run db for 1s  vary data.qd in 4, 32 }
test "Mixes" { run random 4KiB, qd 8 for 1s  vary read in 100%, 70%, 0% }
test "Trims" { run random 4KiB 70/30, trim 10% for 1s }
workload duo {
  a = random 4KiB 100/0, rate 1_000 iops
  b = random 4KiB 100/0, rate 1_000 iops, starts after 500ms
}
test "Parts" { run duo for 2s }
test "One" { run random 4KiB 100/0 for 1s }
"""

SCOPES = ("data read", "data write", "log write")
SECTIONS = {
    "Streams": ["all", *SCOPES, "all", *SCOPES],
    "Mixes": ["read", "all", "read", "write", "write"],
    "Trims": ["reads, writes", "read", "write", "trim"],
    "Parts": ["all", "a read", "b read (500ms to the end)"],
    "One": [""],
}


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """The store of a run."""
    folder = tmp_path_factory.mktemp("streams")
    words = ("--backend", "sim", "--store", folder / "results.db")
    found = ioplan("run", plan_file(folder, TEXT), *words)
    assert found.code == 0, found.err
    return folder / "results.db"


def rows_and_records(store_path):
    with Store.open(store_path) as store:
        session = store.session("last")
        records = list(store.records(session.id))
        found, _ = session_sections(store, session, records, plan_of(session))
        rows = {one.title: list(one.runs.records()) for one in found}
        first = rows["Streams"][3]
        figure = Reader(store).figure(parse_metric("log.write.iops", ["log"]), records)
        assert figure.value and first["iops"] == records[0].streams[1].total.iops
    return rows, records


@pytest.mark.long
def test_the_page_has_a_row_for_each(streams):
    """And so have the terminal and the export."""
    place = ("--store", streams)
    rows, records = rows_and_records(streams)
    scopes = {t: [row.get("scope", "") for row in found] for t, found in rows.items()}
    assert scopes == SECTIONS
    parts_iops = [row["iops"] for row in rows["Parts"]]
    assert parts_iops == pytest.approx([1750, 1000, 1000], rel=0.02)
    whole, *parts = rows["Streams"][:4]
    assert whole["iops"] == pytest.approx(sum(one["iops"] for one in parts))
    data_read, _, log = parts
    assert log["iops"] == pytest.approx(500, rel=0.05)
    told = records[0].streams[0].directions["read"]
    assert data_read["iops"] == told.iops and told.latency
    p99s = [p.latency_ns for p in told.latency.percentiles if p.percent == 99]
    assert [data_read["p99"]] == pytest.approx(p99s)

    lines = ioplan("show", "--tables", *place).out.splitlines()
    assert max(map(len, lines[1:])) <= 80
    table = [line.split() for line in lines]
    for row in (row for found in rows.values() for row in found):
        expected = [row.get("d0", ""), *row.get("scope", "").split()]
        expected = [*filter(None, expected), iops_text(row["iops"])]
        assert any(line[: len(expected)] == expected for line in table), expected

    text = ioplan("export", "--format", "csv", *place).out
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    wholes = [("", "total"), ("", "read"), ("", "write")]
    own = [("data", "read"), ("data", "write"), ("log", "write")]
    for seq, wanted in (("1", [*wholes, *own]), ("4", wholes)):
        shown = [(r["stream"], r["scope"]) for r in found if r["seq"] == seq]
        assert shown == wanted
    exported = next(r for r in found if r["stream"] == "log")
    assert float(exported["iops"]) == rows["Streams"][3]["iops"]


@pytest.mark.long
def test_cells_are_cut_off_and_not_rows(tmp_path, store_path):
    text = """test "T" {
      run random 4KiB 50/50, qd 1 each for 100ms
      vary qd in 1..13 step 1
      vary threads in 1, 2, 3, 4, 5
      skip when threads > 1 and qd == 13
    }"""
    assert ioplan("run", plan_file(tmp_path, text), "--backend", "sim", "-q").code == 0
    table = ioplan("show", "--tables").out.partition("IOPS by")[0]
    assert table.count(" all ") == 61 and "more:" not in table
