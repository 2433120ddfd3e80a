"""What a suite is ranked by is what its source calls its result, by code of its own.

The figures are taken from the exported records, not by the report's code.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from command import ioplan

from ioplan.cli import plan_of
from ioplan.records import current_records
from ioplan.results.report import Headline, by_test
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

DRIVES = Path(__file__).parents[2] / "examples" / "sim"
Rule = tuple[str, str, dict[str, str]]
RESULTS: dict[str, list[Rule]] = {
    "quick/laptop": [("Small reads", "mean", {"qd": "1"}), ("Small reads", "iops", {"qd": "8"})],
    # Tom's Hardware, 2017: what the drive does at low queue depths is the message.
    "reviews/p4800x": [
        ("B1 random read", "iops", {"qd": "1"}),
        ("B1 random read", "p99", {"qd": "1"}),
        ("B2 random write", "iops", {"qd": "1"}),
    ],
    # Tom's Hardware, 2014: curves over queue depth, their ends told.
    "reviews/p3700": [
        ("A1 sequential read", "bandwidth", {"qd": "1"}),
        ("A3 random read", "iops", {"qd": "1"}),
        ("A4 random write", "iops", {"qd": "1"}),
    ],
    # PC Perspective, 2016: saturated IOPS of pure reads, halves, and writes.
    "reviews/m9100": [
        ("C1 saturated IOPS, random 4 KiB", "iops", {"read": share, "qd": "LAST"})
        for share in ("100%", "50%", "0%")
    ],
    # SNIA PTS 2.0.2: the table's cells of 4 KiB; latency by read share.
    "pts/pts_iops": [("D1 IOPS", "iops", {"size": "4KiB", "read": share}) for share in ("100%", "65%", "0%")],
    "pts/pts_latency": [
        ("D3 latency", "mean", {"size": "4KiB", "read": share})
        for share in ("100%", "65%", "0%")
    ],
    "pts/pts_throughput": [
        (f"D2 throughput, {size} KiB", "bandwidth", {"read": share})
        for size in (1024, 128)
        for share in ("100%", "0%")
    ],
    # the saturated end, and the response time of one I/O at a time.
    "pts/pts_enterprise_composite": [
        ("D7 enterprise composite", "iops", {"threads": "LAST", "qd": "LAST"}),
        ("D7 enterprise composite", "mean", {"threads": "1", "qd": "1"}),
    ],
    "pts/pts_demand_intensity": [
        ("D8 demand intensity", "iops", {"threads": "LAST", "qd": "LAST"}),
        ("D8 demand intensity", "mean", {"threads": "1", "qd": "1"}),
    ],
    "pts/pts_write_saturation": [("D4 write saturation", "iops", {})],
    "quick/health": [("Under load", "iops", {"size": "4KiB"}), ("Under load", "p99", {"size": "4KiB"})],
    # data sheets claim: IOPS of 4 KiB at QD 32, latencies at QD 1.
    "quick/datasheet": [
        ("Random I/O in steady state", "iops", {"qd": "32", "read": "100%"}),
        ("Random I/O in steady state", "iops", {"qd": "32", "read": "0%"}),
        ("Random I/O in steady state", "mean", {"qd": "1", "read": "100%"}),
    ],
}  # fmt: skip


@pytest.mark.long_but_first
@pytest.mark.parametrize("suite", RESULTS)
def test_the_ranking_is_of_what_the_source_calls_its_result(
    suite: str, tmp_path: Path
) -> None:
    # The article's drive: a slower one does too few I/Os in a smoke for a p99.
    drive = "crosspoint" if suite == "reviews/p4800x" else "datacentre"
    run(suite, drive, tmp_path)
    store = ("--store", tmp_path / "s.db")
    rows = [
        row
        for row in ioplan("export", "last", "--format", "jsonl", *store).lines
        if row["asked"]["kind"] == "run" and row["status"] == "ok"
    ]
    found = headlines(tmp_path)
    for test, metric, cell in RESULTS[suite]:
        wanted = {**cell, **at_last(rows, test, cell)}
        told = [
            one
            for one in found[test]
            if one.metric == metric and wanted.items() <= dict(one.cell).items()
        ]
        assert told, (test, metric, wanted)
        of_cell = [
            row
            for row in rows
            if row["asked"]["test"] == test
            and wanted.items() <= row["asked"]["cell"].items()
        ]
        assert told[0].value == pytest.approx(figure(metric, of_cell), rel=1e-6)


def run(suite: str, drive: str, folder: Path, profile: str = "smoke") -> None:
    sim = ("--backend", "sim", "--sim", DRIVES / f"{drive}.toml")
    done = ioplan(
        *("run", suite, "--profile", profile, *sim, "-q"), "--store", folder / "s.db"
    )
    assert done.code in (0, 1), done.err


def headlines(folder: Path) -> dict[str, tuple[Headline, ...]]:
    """Those that the ranking is made of."""
    with Store.open(folder / "s.db") as store:
        session = store.session("last")
        records = current_records(list(store.records(session.id)))
        return by_test(store, records, plan_of(session))


def at_last(rows: list[dict[str, Any]], test: str, cell: dict[str, str]) -> Any:
    """Of an axis that is asked for at its end, that end."""
    last = [name for name, text in cell.items() if text == "LAST"]
    own = [row["asked"]["cell"] for row in rows if row["asked"]["test"] == test]
    return {name: str(max(int(one[name]) for one in own)) for name in last}


def figure(metric: str, rows: list[dict[str, Any]]) -> float:
    """Of the exported records of a cell: of several rounds the mean of rates."""
    if metric in ("iops", "bandwidth"):
        key = {"iops": "ios", "bandwidth": "bytes"}[metric]
        return fmean(row["total"][key] / row["run_s"] for row in rows)
    ios = sum(row["total"]["ios"] for row in rows)
    if metric == "mean":
        each = (
            row["total"]["latency"]["mean_ns"] * row["total"]["ios"] for row in rows
        )
        return sum(each) / ios
    (row,) = rows
    percentiles = row["total"]["latency"]["percentiles"]
    (found,) = (one for one in percentiles if f"p{one['percent']:g}" == metric)
    return float(found["latency_ns"])
