"""What programs that read fio's JSON made of ours: recorded, and still true of today's.

`both.json` and `job.json` were printed by `ioplan fio`. PerfKitBenchmarker 946ea3176 (its
`linux_packages.fio.ParseResults`) and fio-plot cfc6a6f6e (its `fiolib.jsonparsing`)
read them, and what they returned stands in the files with their names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from test_fio_command import shape

RECORDED = Path(__file__).parents[1] / "golden" / "fio_readers"


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def test_perfkitbenchmarker_has_our_figures() -> None:
    jobs, samples = recorded("both")["jobs"], recorded("both.pkb")
    for job in jobs:
        for way in ("read", "write"):
            if not (found := job[way])["io_bytes"]:
                continue
            name, clat_ns = f"{job['jobname']}:{way}", found["clat_ns"]
            own = {"bandwidth": found["bw"], "iops": found["iops"]}
            own["latency"] = clat_ns["mean"] / 1000
            own |= {
                f"latency:{one}": clat_ns[one] / 1000
                for one in ("min", "max", "mean", "stddev")
            } | {
                f"latency:p{float(percent):g}": value / 1000
                for percent, value in clat_ns["percentile"].items()
            }
            theirs = {
                key.removeprefix(f"{name}:"): samples.pop(key)
                for key in [one for one in samples if one.startswith(f"{name}:")]
            }
            assert theirs == pytest.approx(own)
    assert not samples


def test_fio_plot_has_our_figures() -> None:
    (job,) = recorded("job")["jobs"]
    for way, row in recorded("job.fio-plot").items():
        own = {key: job[way][key] for key in ("iops", "bw", "iops_stddev")}
        own |= {"lat": job[way]["lat_ns"]["mean"], "cpu_usr": job["usr_cpu"]}
        own |= {"lat_stddev": job[way]["lat_ns"]["stddev"], "cpu_sys": job["sys_cpu"]}
        assert {key: row[key] for key in own} == pytest.approx(own)
        asked = (row["rw"], row["bs"], row["iodepth"], row["numjobs"], row["type"])
        assert asked == ("randrw", "4k", "8", "1", way)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both", "job"])
def test_what_is_printed_today_has_the_recorded_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that those programs read it as they read what was recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    done = ioplan("fio", RECORDED / f"{name}.fio", "--output-format=json")
    assert done.code == 0, done.err
    today, then = json.loads(done.out), recorded(name)
    assert [shape(one) for one in today["jobs"]] == [shape(o) for o in then["jobs"]]
    assert today.keys() == then.keys()
