"""What a suite is ranked by is what its source calls its result, by code of its own.

The figures are taken from the exported records, not by the report's code.
"""

import re
from pathlib import Path
from statistics import fmean

import pytest
from command import ioplan, last_records, succeed
from msgspec import Struct
from paths import ROOT
from report_charts import headlines_by_test

from ioplan.cli import plan_of
from ioplan.records import current_records
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

DRIVES = Path(__file__).parents[2] / "examples" / "sim"
RESULTS = {
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
def test_the_ranking_is_of_what_the_source_calls_its_result(suite, tmp_path):
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


def run(suite, drive, folder, profile="smoke"):
    sim = ("--backend", "sim", "--sim", DRIVES / f"{drive}.toml")
    done = ioplan(
        *("run", suite, "--profile", profile, *sim, "-q"), "--store", folder / "s.db"
    )
    assert done.code in (0, 1), done.err


def headlines(folder):
    """Those that the ranking is made of."""
    with Store.open(folder / "s.db") as store:
        session = store.session("last")
        records = current_records(list(store.records(session.id)))
        return headlines_by_test(store, records, plan_of(session))


def at_last(rows, test, cell):
    """Of an axis that is asked for at its end, that end."""
    last = [name for name, text in cell.items() if text == "LAST"]
    own = [row["asked"]["cell"] for row in rows if row["asked"]["test"] == test]
    return {name: str(max(int(one[name]) for one in own)) for name in last}


def figure(metric, rows):
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


# reviews on smaller simulated drives say what the articles say of such drives


class Report(Struct, frozen=True):
    """The text of a session's report, and its figures by test, read share and depth."""

    text: str
    figures: dict[tuple[str, str, int], float]

    def headline(self, test, qd):
        """A rate that the headlines have of a test, in IOPS or bytes per second."""
        headlines = self.text[self.text.rindex("Headlines") :]
        found = re.search(
            rf"^{test}\n(?:  .*\n)*?  .*, QD {qd} +[█▉▊▋▌▍▎▏]\S* +"
            r"([\d.,]+)(k? IOPS| MB/s| GB/s)",
            headlines,
            re.MULTILINE,
        )
        assert found, (test, qd, headlines)
        units = {"k IOPS": 1e3, " IOPS": 1.0, " MB/s": 1e6, " GB/s": 1e9}
        return float(found[1].replace(",", "")) * units[found[2]]

    def saturated_at(self, test):
        """The depth that the chart of a test marks."""
        pattern = rf"^{re.escape(test)} ─+$.*?95 % of the maximum at QD (\d+)"
        found = re.search(pattern, self.text, re.DOTALL | re.MULTILINE)
        assert found, test
        return int(found[1])

    def by_qd(self, test, read=""):
        """IOPS of a test."""
        return {
            qd: value
            for (title, share, qd), value in self.figures.items()
            if title.startswith(test) and share == read
        }


def report(folder, suite, drive, size, *more):
    """Of a run of some tests of a suite."""
    sim = ("--backend", "sim", "--sim", ROOT / f"examples/sim/{drive}.toml")
    store = ("--store", folder / "results.db")
    succeed("run", suite, *more, *sim, "--create", size, *store)
    figures = {}
    for row in ioplan("export", "last", "--format", "jsonl", *store).lines:
        cell, test = row["asked"]["cell"], row["asked"]["test"]
        if row["asked"]["kind"] == "run" and "qd" in cell:
            key = test, cell.get("read", ""), int(cell["qd"])
            figures[key] = row["total"]["ios"] / row["run_s"]
    return Report(succeed("show", "--tables", *store).out, figures)


@pytest.mark.long
def test_p3700_reads_fast_and_writes_a_third_of_that(tmp_path):
    """Published: 8,900 random reads at QD 1, 77,000 at QD 8, 450,000 at most, against
    150,000 steady random writes; sequential writes of 1.3 and 1.9 GB/s at QD 1 and 4.
    """
    shorter = ("--set", "run_time=22s", "--set", "fills=1 pass", "--test", "A[1-4]*")
    told = report(tmp_path, "reviews/p3700", "datacentre", "128GB", *shorter)
    reads, writes = "A3 random read", "A4 random write"
    assert told.headline(reads, 1) == pytest.approx(8_900, rel=0.05)
    assert told.by_qd(reads)[8] == pytest.approx(77_000, rel=0.08)
    assert told.headline(reads, 128) == pytest.approx(450_000, rel=0.03)
    assert told.headline(writes, 128) == pytest.approx(150_000, rel=0.1)
    assert told.saturated_at(reads) >= 64
    assert max(v for qd, v in told.by_qd(writes).items() if qd > 8) < 0.4 * 450_000
    in_order = {qd: iops * 131072 / 1e9 for qd, iops in told.by_qd("A2").items()}
    assert told.by_qd("A2")[1] == pytest.approx(1.3e9 / 131072, rel=0.05)
    assert in_order[4] == pytest.approx(1.9, rel=0.03)
    assert told.saturated_at("A2 sequential write") <= 4
    assert told.saturated_at("A1 sequential read") >= 16
    assert told.by_qd("A1")[8] < 0.9 * told.by_qd("A1")[32]


def test_p4800x_is_fast_at_once_and_saturates_at_4(tmp_path):
    """Published: an order of magnitude ahead of flash at QD 1, reads and writes alike,
    saturated at QD 4 to 6; what a full link carries does not rise with the depth."""
    shorter = ("--set", "run_time=2s", "--set", "stir=1 pass", "--test", "B[1-4]*")
    told = report(tmp_path, "reviews/p4800x", "crosspoint", "16GB", *shorter)
    reads, writes = "B1 random read", "B2 random write"
    assert told.headline(reads, 1) > 10 * 8_900
    for test in (reads, writes):
        assert told.saturated_at(test) == 4
        assert told.by_qd(test)[2] < 0.9 * told.by_qd(test)[64]
    assert told.headline(writes, 64) == pytest.approx(told.headline(reads, 64), rel=0.1)
    for test in ("B3 sequential read", "B4 sequential write"):
        by_qd = told.by_qd(test)
        full = [iops * 131072 for qd, iops in by_qd.items() if qd >= 4]
        assert max(full) <= 2.4e9 and max(full) < 1.01 * min(full)
        assert told.headline(test, 64) <= 2.4e9


@pytest.mark.long
def test_m9100_slows_with_each_write_of_a_mix(tmp_path):
    """Published: saturated IOPS fall from reads to writes in the steady state, and
    sequential reads need far more than QD 8."""
    shorter = ("--profile", "short", "--set", "read_step=50%", "--test", "C[13]*")
    told = report(tmp_path, "reviews/m9100", "datacentre", "64GB", *shorter)
    mixes = [told.by_qd("C1", share) for share in ("100%", "50%", "0%")]
    saturated = [by_qd[256] for by_qd in mixes]
    assert saturated == sorted(saturated, reverse=True)
    assert 0.2 < saturated[2] / saturated[0] < 0.45
    assert saturated[1] < 0.75 * saturated[0]
    assert mixes[2][1] > mixes[0][1], "a write is in the buffer sooner than a read is"
    in_order = told.by_qd("C3", "100%")
    assert in_order[8] < 0.9 * max(in_order.values()) <= in_order[32]


# what the profile short of suites says that wait for steady state

QUICKEST = ("pts_throughput", "crosspoint", "steady")
CASES = (
    QUICKEST,
    ("pts_throughput", "client", "steady"),
    ("pts_iops", "client", "settled"),
    ("pts_latency", "client", "settled"),
    ("pts_latency", "datacentre", "settled"),
    ("pts_write_saturation", "client", "rises"),
    ("pts_host_idle_recovery", "client", "rises"),
    ("pts_host_idle_recovery", "datacentre", "rises"),
    ("pts_enterprise_composite", "crosspoint", "steady"),
    ("pts_demand_intensity", "crosspoint", "steady"),
)


@pytest.mark.parametrize(
    ("suite", "drive", "outcome"),
    [
        pytest.param(*case, marks=[] if case == QUICKEST else pytest.mark.long)
        for case in CASES
    ],
)
def test_a_short_suite_says_no_more_than_it_wrote(suite, drive, outcome, tmp_path):
    """Crosspoint memory needs no writes before; flash that was purged does."""
    store = tmp_path / "results.db"
    sim = ("--sim", ROOT / f"examples/sim/{drive}.toml", "--store", store, "-q")
    assert ioplan("run", f"pts/{suite}", "--profile", "short", *sim).code in (0, 1)
    records = (one for one in last_records(store) if one.steady)
    last = {(one.asked.test, one.asked.kind): one.steady for one in records}
    judged = list(filter(None, last.values()))
    assert judged
    assert {outcome_of(one) for one in judged} == {outcome}, judged


def outcome_of(steady):
    if steady.reached:
        return "steady"
    if steady.settled:
        return "settled"
    return "rises" if steady.why.startswith("WAF still rises") else steady.why
