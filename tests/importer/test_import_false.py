"""Results of fio that contradict themselves are not stored as ok; true ones all are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

from golden import Golden
from ioplan.records import RunRecord
from ioplan.results.store import Store

RESULTS = Golden("fio_results")


def imported(folder: Path, text: str) -> RunRecord:
    source = folder / "r.json"
    source.write_text(text)
    done = ioplan("import", source, "--store", folder / "r.db")
    with Store.open(folder / "r.db") as store:
        records = list(store.records(store.session("last").id))
    assert records, done.err
    return records[0]


LIES = {
    "a mean below the smallest": ("mean", 1e-6),
    "a mean above the largest": ("mean", 1e6),
    "a mean of a third": ("mean", 1 / 3),
    "a deviation without end": ("stddev", 1e4),
    "the extremes swapped": ("min", 1e9),
    "more in the histogram than I/Os": ("bins", 1000),
    "IOPS tenfold": ("iops", 10),
    "bandwidth tenfold": ("bw_bytes", 10),
    "bytes twice": ("io_bytes", 2),
    "a tenth of the time": ("runtime", 0.1),
}


def falsified(way: dict[str, Any], name: str, factor: float) -> None:
    """Change a figure of a direction, or of its latencies."""
    latencies = [
        one for key in ("clat_ns", "lat_ns") if (one := way.get(key, {})).get("bins")
    ]
    for part in [way] if name in way else latencies:
        if name == "bins":
            part["bins"][next(iter(part["bins"]))] += 1000
        else:
            kind = type(part[name])
            part[name] = kind(part[name] * factor)


@pytest.mark.parametrize("lie", LIES)
def test_a_changed_result_is_inconsistent(lie: str, tmp_path: Path) -> None:
    told = json.loads(RESULTS["3.33.plus"].input)
    for job in told["jobs"]:
        for way in ("read", "write"):
            falsified(job[way], *LIES[lie])
    record = imported(tmp_path, json.dumps(told))
    assert (record.status, record.cause, record.verdicts) == (
        *("failed", "inconsistent"),
        (),
    ), record.message


@pytest.mark.parametrize("case", [case for case in RESULTS if case[0] == "3"])
def test_a_true_result_is_not(case: str, tmp_path: Path) -> None:
    assert imported(tmp_path, RESULTS[case].input).cause != "inconsistent"
