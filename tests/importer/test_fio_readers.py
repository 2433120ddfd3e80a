"""What programs that read fio's JSON made of ours: recorded, and still true of today's.

The JSON of each was printed by `ioplan fio`. PerfKitBenchmarker 946ea3176 (its
`linux_packages.fio.ParseResults`), fio-plot cfc6a6f6e (its `fiolib.jsonparsing`),
kubestr 2777277 (its `FioResult`, of the job that it runs by itself, of 64 MiB) and Ceph's
CBT 9d6480f (its `TestRunResult`, of the options that its rawfio gives) read them, and
what they returned stands beside it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from test_fio_command import shape

from golden import Golden

RECORDED = Golden("fio_readers")


def recorded(name: str) -> tuple[Any, Any]:
    """The jobs that were printed, and what was read."""
    return RECORDED[name].input["printed"]["jobs"], RECORDED[name].input["read"]


def test_perfkitbenchmarker_has_our_figures() -> None:
    jobs, read = recorded("both")
    samples = dict(read)
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
    (job,), read = recorded("job")
    for way, row in read.items():
        own = {key: job[way][key] for key in ("iops", "bw", "iops_stddev")}
        own |= {"lat": job[way]["lat_ns"]["mean"], "cpu_usr": job["usr_cpu"]}
        own |= {"lat_stddev": job[way]["lat_ns"]["stddev"], "cpu_sys": job["sys_cpu"]}
        assert {key: row[key] for key in own} == pytest.approx(own)
        asked = (row["rw"], row["bs"], row["iodepth"], row["numjobs"], row["type"])
        assert asked == ("randrw", "4k", "8", "1", way)


def test_kubestr_has_our_figures() -> None:
    jobs, text = recorded("kubestr")
    for job in jobs:
        part = text.partition(f"JobName: {job['jobname']}\n")[2].partition("\n\n")[0]
        asked, way = job["job options"], "read" if job["read"]["bw"] else "write"
        assert f"blocksize={asked['bs']} filesize={asked['size']} iodepth=64" in part
        found = {
            key: float(value) for key, value in re.findall(r"(\S+)=([\d.]+)", part)
        }
        assert f"{way}:" in part
        assert found["IOPS"] == pytest.approx(job[way]["iops"], rel=1e-6)
        assert found["BW(KiB/s)"] == job[way]["bw"]
        assert f"iops: min={job[way]['iops_min']} max={job[way]['iops_max']} " in part


def test_cbt_has_our_figures() -> None:
    (job,), read = recorded("cbt")
    found = read["70_30_randrw"]["4096B"]["16"]
    ways = [job["read"], job["write"]]
    ios = sum(one["total_ios"] for one in ways)
    mean_ns = sum(one["clat_ns"]["mean"] * one["total_ios"] for one in ways) / ios
    assert int(found["total_ios"]) == ios
    assert float(found["latency"]) == pytest.approx(mean_ns)
    assert float(found["iops"]) == pytest.approx(sum(one["iops"] for one in ways))
    assert int(found["bandwidth_bytes"]) == sum(one["bw_bytes"] for one in ways)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both", "job"])
def test_what_is_printed_today_has_the_recorded_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that those programs read it as they read what was recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    (tmp_path / "job.fio").write_text(RECORDED[name].input["job"])
    done = ioplan("fio", "job.fio", "--output-format=json")
    assert done.code == 0, done.err
    today, then = json.loads(done.out), RECORDED[name].input["printed"]
    assert [shape(one) for one in today["jobs"]] == [shape(o) for o in then["jobs"]]
    assert today.keys() == then.keys()
