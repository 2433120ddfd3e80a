"""Reviews on the simulated drives say what the articles say of such drives.

On smaller drives than the files', in shorter runs, so that as much of the drive is
written in each: states come and go as they do in hours on a whole one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan, succeed
from msgspec import Struct
from paths import ROOT

pytestmark = pytest.mark.slow


class Report(Struct, frozen=True):
    """The text of a session's report, and its figures by test, read share and depth."""

    text: str
    figures: dict[tuple[str, str, int], float]

    def headline(self, test: str, qd: int) -> float:
        """A rate that the last table has of a test, in IOPS or MB/s."""
        table = " ".join(self.text[self.text.rindex("Headlines ") :].split())
        _, _, of_test = table.partition(test)
        rate = r"([\d.]+)(k?)(?: ± [\d.]+ %)? (?:IOPS|MB/s)"
        found = re.search(rf"{rate}(?:, [^;]*)? at QD {qd};", of_test)
        assert found, (test, qd, of_test)
        return float(found[1]) * (1000 if found[2] else 1)

    def saturated_at(self, test: str) -> int:
        """The depth that the chart of a test marks."""
        pattern = rf"^{re.escape(test)} ─+$.*?95 % of the largest at QD (\d+)"
        found = re.search(pattern, self.text, re.DOTALL | re.MULTILINE)
        assert found, test
        return int(found[1])

    def by_qd(self, test: str, read: str = "") -> dict[int, float]:
        """IOPS of a test."""
        return {
            qd: value
            for (title, share, qd), value in self.figures.items()
            if title.startswith(test) and share == read
        }


def report(folder: Path, suite: str, drive: str, size: str, *more: str) -> Report:
    """Of a run of some tests of a suite."""
    sim = ("--backend", "sim", "--sim", ROOT / f"examples/sim/{drive}.toml")
    store = ("--store", folder / "results.db")
    done = succeed("run", suite, *more, *sim, "--create", size, *store)
    figures = {}
    for row in ioplan("export", "last", "--format", "jsonl", *store).lines:
        cell, test = row["asked"]["cell"], row["asked"]["test"]
        if row["asked"]["kind"] == "run" and "qd" in cell:
            key = test, cell.get("read", ""), int(cell["qd"])
            figures[key] = row["total"]["ios"] / row["run_s"]
    return Report(done.out, figures)


@pytest.mark.long
def test_p3700_reads_fast_and_writes_a_third_of_that(tmp_path: Path) -> None:
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


def test_p4800x_is_fast_at_once_and_saturates_at_4(tmp_path: Path) -> None:
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
        assert told.headline(test, 64) <= 2400


@pytest.mark.long
def test_m9100_slows_with_each_write_of_a_mix(tmp_path: Path) -> None:
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
