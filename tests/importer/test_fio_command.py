"""`ioplan fio`: fio's command line, and output that programs take for fio's."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import ioplan
from fio_jobs import NEEDS_FIO

from ioplan.results.measure import bucket_index, bucket_range
from ioplan.results.store import Store

BOTH = """[global]
filename=scratch.bin
size=8m
direct=1
ioengine=libaio
runtime=500ms
time_based
bs=4k
[mixed]
rw=randrw
rwmixread=70
iodepth=4
[beside]
rw=read
bs=64k
[after]
stonewall
rw=randwrite
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    (tmp_path / "both.fio").write_text(BOTH)
    return tmp_path


def documents(done):
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def shape(value, name=""):
    """Fields and kinds of values, without those that depend on the run."""
    if isinstance(value, dict):
        if name in ("bins", "percentile", "job options", "global options"):
            return {"str": sorted({type(one).__name__ for one in value.values()})}
        return {key: shape(one, key) for key, one in value.items()}
    return type(value).__name__


class Both(NamedTuple):
    """The same jobs by ioplan and by fio, with logs, and percentiles that they ask for."""

    folder: Path
    text: str
    ours: dict[str, Any]
    theirs: dict[str, Any]
    logs: dict[str, str]

    def records(self):
        with Store.open(self.folder / "r.db") as store:
            return list(store.records(store.session("last").id))


ASKED = """percentile_list=99.9:25:50:75:1
write_bw_log=l
write_iops_log=l
write_lat_log=l
log_avg_msec=100
[mixed]"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    (folder / "both.fio").write_text(BOTH.replace("[mixed]", ASKED))
    with chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOPLAN_STORE", str(folder / "r.db"))
        done = ioplan("fio", "both.fio", "--output-format=normal,json+")
        assert done.code == 0, done.err
        text, _, document = done.out.partition("\n{")
        logs = {path.name: path.read_text() for path in folder.glob("*.log")}
        (folder / "scratch.bin").unlink()
        call = ["fio", "--output-format=json+", "both.fio"]
        theirs = subprocess.run(call, check=True, capture_output=True).stdout
    return Both(folder, text, json.loads("{" + document), json.loads(theirs), logs)


@pytest.mark.long
@NEEDS_FIO
def test_fields_percentiles_and_kinds_of_values_are_fio_s(both):
    ours, real = both.ours, both.theirs
    assert [one["jobname"] for one in ours["jobs"]] == ["mixed", "beside", "after"]
    assert [one["groupid"] for one in ours["jobs"]] == [0, 0, 1]
    assert len(ours["jobs"]) == len(real["jobs"])
    assert ours["global options"] == real["global options"]
    for mine, other in zip(ours["jobs"], real["jobs"], strict=True):
        assert shape(mine) == shape(other)
        assert mine["job options"] == other["job options"]
        for way in ("read", "write"):
            if other[way]["total_ios"]:
                found = [one[way]["clat_ns"]["percentile"] for one in (mine, other)]
                assert list(found[0]) == list(found[1]) and len(found[0]) == 5


@pytest.mark.long
@NEEDS_FIO
def test_figures_are_those_of_the_records(both):
    records = both.records()
    pairs = [(0, 0), (0, 1), (1, 0)]
    for job, (run, place) in zip(both.ours["jobs"], pairs, strict=True):
        stream = records[run].streams[place]
        for name in ("read", "write"):
            own, mine = stream.directions.get(name), job[name]
            assert mine["total_ios"] == (own.ios if own else 0)
            if not own or not own.latency:
                continue
            kib_per_s = own.bandwidth_bytes_per_s / 1024
            assert mine["io_bytes"] == own.bytes
            assert mine["iops"] == pytest.approx(own.iops)
            assert mine["bw"] == pytest.approx(kib_per_s, abs=1)
            assert mine["clat_ns"]["mean"] == own.latency.mean_ns
            assert mine["clat_ns"]["max"] == own.latency.max_ns
            assert sum(mine["clat_ns"]["bins"].values()) == own.ios
            (median,) = (p for p in own.latency.percentiles if p.percent == 50)
            shown = mine["clat_ns"]["percentile"]["50.000000"]
            assert shown == pytest.approx(median.latency_ns, rel=0.02)
        shares = [job[f"latency_{unit}"].values() for unit in ("ns", "us", "ms")]
        assert sum(map(sum, shares)) == pytest.approx(100, abs=0.5)
    assert both.text.count("groupid=0") == 2
    assert both.text.count("Run status group") == 2
    assert "clat percentiles (" in both.text and " WRITE: bw=" in both.text


@pytest.mark.skipif(
    not shutil.which("fio_jsonplus_clat2csv", path=os.defpath),
    reason="LEFT OUT: there is no fio_jsonplus_clat2csv, which comes with fio",
)
@pytest.mark.long
@NEEDS_FIO
def test_fio_s_own_program_reads_the_bins(both):
    file = both.folder / "csv.json"
    file.write_text(json.dumps(both.ours, indent=2))
    for words in ((), ("--validate",)):
        subprocess.run(
            ["fio_jsonplus_clat2csv", *words, file.name, "o.csv"],
            check=True,
            capture_output=True,
            cwd=both.folder,
            env={"PATH": os.defpath},  # it imports what the system's Python has
        )
    rows = (both.folder / "o_job1.csv").read_text().splitlines()[1:]
    assert int(rows[-1].split(",")[5]) == both.ours["jobs"][1]["read"]["total_ios"]


@pytest.mark.long
@NEEDS_FIO
def test_log_files_are_fio_s(both):
    """As many files with the same fields; their means are the job's own figures."""
    theirs = {p.name for p in both.folder.glob("*.log") if "slat" not in p.name}
    assert set(both.logs) == theirs
    with Store.open(both.folder / "r.db") as store:
        session = store.session("last").id
        series = [store.detail(session, seq).series for seq in (1, 2)]
    for numbers, intervals in zip(((1, 2), (3,)), series, strict=True):
        logged: Counter[tuple[int, int]] = Counter()
        for number in numbers:
            for line in both.logs[f"l_iops.{number}.log"].splitlines():
                end_ms, value, way, *_ = map(int, line.split(", "))
                logged[end_ms, way] += value
        for one in intervals:
            for way, name in enumerate(("read", "write")):
                iops = one.ios.get(name, 0) / one.length_s
                found = logged.pop((int(one.t_s * 1000 + 1e-6), way), 0)
                assert found == pytest.approx(iops, abs=len(numbers))
        assert not logged


@NEEDS_FIO
@pytest.mark.slow
def test_terse_has_fio_s_fields(folder):
    words = ["--minimal", "--section=beside", "both.fio"]
    theirs = subprocess.run(["fio", *words], check=True, capture_output=True, text=True)
    (folder / "scratch.bin").unlink()
    ours = ioplan("fio", *words).out.strip().split(";")
    real = theirs.stdout.strip().split(";")
    last = real.index(next(one for one in real if one.startswith(("vd", "sd", "nv"))))
    assert len(ours) == last  # but for the disk's own counters
    for mine, other in zip(ours, real, strict=False):
        assert mine.endswith("%") == other.endswith("%")
        assert mine.count("=") == other.count("=")


@pytest.mark.slow
def test_a_file_is_made_where_fio_makes_one(folder):
    words = ["--name=a", "--rw=read", "--size=8m", "--direct=1"]
    told = documents(ioplan("fio", *words, "--output-format=json"))
    assert told["jobs"][0]["read"]["io_bytes"] == 8 << 20
    assert (folder / "a.0.0").stat().st_size == 8 << 20


TWO_FILES = """[global]
directory=d
direct=1
ioengine=libaio
runtime=500ms
time_based
[one]
name=reads
rw=randread
size=4m
numjobs=2
[two]
rw=randwrite
rate_iops=200
size=8m
"""


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.long
def test_jobs_have_the_files_that_fio_gives_them(folder):
    (folder / "two.fio").write_text(TWO_FILES)
    (folder / "d").mkdir()
    words = ("two.fio", "--output-format=json")
    subprocess.run(["fio", *words], check=True, capture_output=True)
    theirs = sorted(path.name for path in (folder / "d").iterdir())
    shutil.rmtree(folder / "d")
    (folder / "d").mkdir()
    reads, writes = documents(ioplan("fio", *words))["jobs"]
    there = {path.name: path.stat().st_blocks for path in (folder / "d").iterdir()}
    assert sorted(there) == theirs == ["one.0.0", "one.1.0", "two.0.0"]
    assert (reads["jobname"], writes["jobname"]) == ("reads", "two")
    assert writes["read"]["total_ios"] == 0 == reads["write"]["total_ios"]
    assert writes["write"]["total_ios"] == pytest.approx(100, abs=2)
    with Store.open(folder / "r.db") as store:
        (record,) = store.records(next(iter(store.sessions())).id)
    of = {name: [one.name for one in t.streams] for name, t in record.targets.items()}
    assert of == {"one.0.0": ["one"], "one.1.0": ["one"], "two.0.0": ["two"]}
    had = [record.targets[f"one.{n}.0"].total.ios for n in (0, 1)]
    assert min(had) > 0 and sum(had) == reads["read"]["total_ios"]
    (folder / "d" / "two.0.0").unlink()
    done = ioplan("fio", *words)
    assert done.code == 2 and "d/two.0.0 is not" in done.err


def test_a_job_that_is_called_as_a_device_is_about_it(folder):
    words = ("--rw=read", "--size=8m", "--direct=1", "--ioengine=libaio")
    done = ioplan("fio", "--name=/dev/null", *words)
    assert done.code == 2 and "/dev/null" in done.err and "null.0.0" not in done.err


@pytest.mark.slow
def test_what_is_only_said_otherwise_runs_if_permitted(folder):
    words = ["--name=a", "--rw=read", "--size=8m", "--filename=f"]
    done = ioplan("fio", *words, "--lossy", "--output-format=json")
    assert documents(done)["jobs"][0]["read"]["io_bytes"] == 8 << 20
    assert "page cache" in done.err


def test_a_file_of_somebody_s_is_not_written(folder):
    (folder / "scratch.bin").write_bytes(b"mine" * (2 << 20))
    done = ioplan("fio", "both.fio")
    assert done.code == 2 and "scratch.bin" in done.err
    assert (folder / "scratch.bin").read_bytes() == b"mine" * (2 << 20)


@NEEDS_FIO
@pytest.mark.slow
def test_a_call_is_given_to_fio_itself(folder, capfd):
    assert ioplan("fio", "--pass-through", "--parse-only", "both.fio").code == 0
    assert ioplan("fio", "both.fio", "--nonsense", "--pass-through").code != 0


ALONE = {
    "by time": "--rw=randread --time_based --runtime=500ms",
    "bare words": "--rw=randread --number_ios=64 --refill_buffers --norandommap --thread",
    "values of their own": "--rw write --bs 64k --iodepth 1 --lat_percentiles=1 --clat_percentiles=0",
    "durable writes": "--rw=randwrite --sync=dsync --fsync=4 --number_ios=64",
    "what fio caps": "--rw=randread --number_ios=64 --iodepth=32 --ioengine=psync --filesize=8MiB",
}


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize("name", ALONE)
def test_a_job_of_the_command_line_is_told_as_by_fio(name, folder):
    words = ["--name=a", "--filename=f", "--direct=1", "--description=d"]
    words += [*ALONE[name].split(), "--output-format=json+"]
    words += [] if "size" in ALONE[name] else ["--size=4m"]
    theirs = subprocess.run(["fio", *words], check=True, capture_output=True, text=True)
    (folder / "f").unlink()
    ours, real = documents(ioplan("fio", *words)), documents_in(theirs.stdout)
    assert ours.keys() == real.keys()
    (mine,), (other,) = ours["jobs"], real["jobs"]
    assert shape(mine) == shape(other)
    assert mine["job options"] == other["job options"]
    ways = [mine[way]["clat_ns"] for way in ("read", "write")]
    for latency_ns in (int(ns) for way in ways for ns in way.get("bins", ())):
        low, high = bucket_range(bucket_index(latency_ns, 6), 6)
        middle = low if high - low == 1 else (low + high) // 2
        assert latency_ns == middle, "fio's buckets are 64 of each power of two"
    if "runtime" not in ALONE[name]:
        for way in ("read", "write"):
            told = [
                (one[way]["io_bytes"], one[way]["total_ios"]) for one in (mine, other)
            ]
            assert told[0] == told[1]
        # fio ends before the flush that is due with the last write
        assert mine["sync"]["total_ios"] - other["sync"]["total_ios"] in (0, 1)


def documents_in(text):
    """fio writes notes before its JSON."""
    found: dict[str, Any] = json.loads(text[text.index("{\n") :])
    return found


@NEEDS_FIO
@pytest.mark.long
def test_words_without_a_value_are_those_of_fio():
    def asked(name):
        call = ["fio", f"--cmdhelp={name}"]
        return subprocess.run(call, check=True, capture_output=True, text=True).stdout

    listed = re.findall(r"^ *(\w+) *:", asked("all"), re.M)
    bare = {one for one in listed if "type: empty or boolean" in asked(one)}
    assert bare == {
        one
        for one in listed
        if not re.search(
            "needs a value|is for fio itself", ioplan("fio", "--name=a", f"--{one}").err
        )
    }


def test_the_version_and_a_job_from_standard_input():
    for words in ("--version", "-v"):
        done = ioplan("fio", words)
        assert (done.code, done.out.count("\n")) == (0, 1)
        assert re.match(r"fio-3\.\d+-ioplan-", done.out)
    done = ioplan("fio", "-", "--parse-only", stdin=BOTH)
    assert (done.code, done.err) == (0, "")
