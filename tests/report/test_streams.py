"""Each direction of each stream has a row: in the terminal, the page and the export."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file

from ioplan import iops_text
from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import RunRecord
from ioplan.results.report import Reader, session_sections
from ioplan.results.store import Store

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


@pytest.fixture
def done(tmp_path: Path, store_path: Path) -> str:
    """What the run printed."""
    found = ioplan("run", plan_file(tmp_path, TEXT), "--backend", "sim")
    assert found.code == 0, found.err
    return found.out


def rows_and_records(
    store_path: Path,
) -> tuple[dict[str, list[dict[str, Any]]], list[RunRecord]]:
    with Store.open(store_path) as store:
        session = store.session("last")
        records = list(store.records(session.id))
        found = list(session_sections(store, session, records, plan_of(session)))
        rows = {one.title: list(one.runs.records()) for one in found}
        first = rows["Streams"][3]
        figure = Reader(store).figure(parse_metric("log.write.iops", ["log"]), records)
        assert figure.value and first["iops"] == records[0].streams[1].total.iops
    return rows, records


@pytest.mark.long
def test_the_page_has_a_row_for_each(done: str, store_path: Path) -> None:
    rows, records = rows_and_records(store_path)
    scopes = {t: [row.get("scope", "") for row in found] for t, found in rows.items()}
    assert scopes == SECTIONS
    parts_iops = [row["iops"] for row in rows["Parts"]]
    assert parts_iops == pytest.approx([1750, 1000, 1000], rel=0.02)
    whole, data_read, data_write, log = rows["Streams"][:4]
    parts = data_read["iops"] + data_write["iops"] + log["iops"]
    assert whole["iops"] == pytest.approx(parts)
    assert log["iops"] == pytest.approx(500, rel=0.05)
    assert data_read["iops"] == records[0].streams[0].directions["read"].iops
    assert data_read["p99"] == pytest.approx(
        next(
            p.latency_ns
            for p in records[0].streams[0].directions["read"].latency.percentiles  # type: ignore[union-attr]
            if p.percent == 99
        )
    )


@pytest.mark.long
def test_the_terminal_has_the_same_rows(done: str, store_path: Path) -> None:
    rows, _ = rows_and_records(store_path)
    table = [line.split() for line in ioplan("show").out.splitlines()]
    for found in rows.values():
        for row in found:
            expected = [row.get("d0", ""), *row.get("scope", "").split()]
            expected = [*filter(None, expected), iops_text(row["iops"])]
            assert any(line[: len(expected)] == expected for line in table), expected
    assert max(map(len, ioplan("show").out.splitlines()[1:])) <= 80


def test_the_live_lines_tell_of_streams(done: str) -> None:
    lines = [" ".join(line.split()) for line in done.splitlines()]
    assert sum(line.startswith("log write 500 IOPS") for line in lines) == 2


@pytest.mark.long
def test_the_export_has_a_row_for_each(done: str, store_path: Path) -> None:
    text = ioplan("export", "--format", "csv").out
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    first = [(r["stream"], r["scope"]) for r in found if r["seq"] == "1"]
    assert first == [
        *[("", "total"), ("", "read"), ("", "write")],
        *[("data", "read"), ("data", "write"), ("log", "write")],
    ]
    mixed = [(r["stream"], r["scope"]) for r in found if r["seq"] == "4"]
    assert mixed == [("", "total"), ("", "read"), ("", "write")]
    rows, _ = rows_and_records(store_path)
    log = next(r for r in found if r["stream"] == "log")
    assert float(log["iops"]) == rows["Streams"][3]["iops"]


@pytest.mark.long
def test_many_cells_are_cut_off_by_cells_and_not_by_rows(
    tmp_path: Path, store_path: Path
) -> None:
    text = """test "T" {
      run random 4KiB 50/50 for 100ms
      vary qd in 1..13 step 1
      vary threads in 1, 2, 3, 4, 5
      skip when threads > 1 and qd == 13
    }"""
    text = text.replace("50/50 for", "50/50, qd 1 each for")
    assert ioplan("run", plan_file(tmp_path, text), "--backend", "sim", "-q").code == 0
    out = ioplan("show").out
    table = out.partition("IOPS by")[0]
    assert table.count(" all ") == 61 and "more:" not in table
