"""Results of fio that contradict themselves are not stored as ok; true ones all are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

from golden import Golden
from ioplan.records import RunRecord
from ioplan.results.store import Store

RESULTS = Golden("fio_results")
Change = Callable[[dict[str, Any]], None]


def imported(folder: Path, text: str) -> RunRecord:
    source = folder / "r.json"
    source.write_text(text)
    done = ioplan("import", source, "--store", folder / "r.db")
    with Store.open(folder / "r.db") as store:
        records = list(store.records(store.session("last").id))
    assert records, done.err
    return records[0]


def scaled(name: str, factor: float) -> Change:
    def change(latency: dict[str, Any]) -> None:
        latency[name] *= factor

    return change


def one_more(latency: dict[str, Any]) -> None:
    bins = latency["bins"]
    bins[next(iter(bins))] += 1000


LIES: dict[str, Change] = {
    "a mean below the smallest": scaled("mean", 1e-6),
    "a mean above the largest": scaled("mean", 1e6),
    "a mean of a third": scaled("mean", 1 / 3),
    "a deviation without end": scaled("stddev", 1e4),
    "the extremes swapped": lambda one: one.update(min=one["max"], max=one["min"]),
    "more in the histogram than I/Os": one_more,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_changed_result_is_inconsistent(lie: str, tmp_path: Path) -> None:
    told = json.loads(RESULTS["3.33.plus"].input)
    for job in told["jobs"]:
        for name in ("read", "write"):
            for kind in ("clat_ns", "lat_ns"):
                latency = job[name].get(kind, {})
                if latency.get("bins"):
                    LIES[lie](latency)
    record = imported(tmp_path, json.dumps(told))
    assert (record.status, record.cause, record.verdicts) == (
        *("failed", "inconsistent"),
        (),
    ), record.message


RATES: dict[str, Change] = {
    "IOPS tenfold": scaled("iops", 10),
    "bandwidth tenfold": scaled("bw_bytes", 10),
    "bytes twice": scaled("io_bytes", 2),
    "a tenth of the time": scaled("runtime", 0.1),
}


@pytest.mark.parametrize("lie", RATES)
def test_a_rate_is_that_of_counts_and_time(lie: str, tmp_path: Path) -> None:
    told = json.loads(RESULTS["3.33.plus"].input)
    for job in told["jobs"]:
        for name in ("read", "write"):
            RATES[lie](job[name])
            job[name] = {
                k: int(v) if k in ("io_bytes", "runtime") else v
                for k, v in job[name].items()
            }
    record = imported(tmp_path, json.dumps(told))
    assert (record.status, record.cause) == ("failed", "inconsistent"), record.message


@pytest.mark.parametrize("case", [case for case in RESULTS if case[0] == "3"])
def test_a_true_result_is_not(case: str, tmp_path: Path) -> None:
    assert imported(tmp_path, RESULTS[case].input).cause != "inconsistent"
