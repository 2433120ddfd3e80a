"""SPDK's plugin for fio: what fio is told, what it answers, and runs for real."""

import re
from typing import Any

import pytest
from fio_jobs import stand_in
from spdk_jobs import RECORDINGS, job
from spdk_jobs import stand_in as bdevperf_stand_in

from ioplan.backends import BackendError, TargetRequest
from ioplan.job import SECOND_NS, Failure, Result, Started
from ioplan.runner.guard import TargetError
from ioplan.workload import Rate, Region, SizeShare
from ioplan_spdk import SpdkBackend
from targets import loop_device, needs_root, sparse

MIB = 1 << 20
READS = (
    SizeShare(size_bytes=4096, percent=60),
    SizeShare(size_bytes=65536, percent=40),
)
MIXED: dict[str, Any] = {
    "read_percent": 70, "read_sizes": READS, "qd": 8, "read_only": False,
    "align_bytes": 4096,
}  # fmt: skip
FIO = {"driver": "fio", "no_huge": "true"}


def two_streams(one):
    second = one.streams[0].model_copy(update={"name": "second"})
    return one.model_copy(update={"streams": (*one.streams, second)})


@pytest.mark.parametrize(
    "wanted",
    [
        job(**MIXED),
        two_streams(job()),
        job(region=Region(start_percent=25)),
        job(run_ns=SECOND_NS // 2),
        job(threads=4),
    ],
)
def test_it_says_what_bdevperf_cannot(wanted):
    gaps = SpdkBackend().gaps(wanted, {"driver": "bdevperf"})
    assert gaps and all(gap.edit == "--option driver=auto" for gap in gaps)
    assert SpdkBackend().gaps(wanted, FIO) == []


def test_what_it_cannot_either():
    cases = {"verify": {"verify": True}, "sync": {"sync_every": 8, "read_percent": 0}, "rate": {"rate": Rate(iops=1000)},
             "size": {"size": 1000}, "qd": {"qd": 4096, "size": MIB}}  # fmt: skip
    for field, changes in cases.items():
        assert field in {gap.field for gap in SpdkBackend().gaps(job(**changes), FIO)}
        others = SpdkBackend().gaps(job(**changes), {"driver": "bdevperf"})
        assert all("driver" not in g.edit for g in others if g.field == field)


def replayed(folder, name, out=None):
    """Options for a fio that prints a transcript when it is given a job file."""
    kept = RECORDINGS[f"fio/{name}"].input
    printed, said = folder / "printed", folder / "said"
    printed.write_text(kept["stdout"] if out is None else out)
    said.write_text(kept["stderr"])
    body = (
        f'case "$1" in --enghelp=*) exit;; esac\n'
        f'tr "\\0" "\\n" < /proc/$$/environ | grep ^LD_PRELOAD > {folder}/preload\n'
        f"cat {printed}; cat {said} >&2; exit {kept['code']}"
    )
    plugin = folder / "spdk_bdev"
    plugin.touch()
    program = stand_in(folder, body, "fio-3.35")
    return {**FIO, "fio": program, "plugin": str(plugin)}


def events(options, wanted, folder=None):
    request = TargetRequest(
        path=wanted.target, writes=True, options=options,
        folder=str(folder) if folder else None,
    )  # fmt: skip
    drive = SpdkBackend().open(request)
    try:
        with drive.start(wanted) as execution:
            return list(execution)
    finally:
        drive.close()


def renamed(wanted, name="j0"):
    one = wanted.streams[0].model_copy(update={"name": name})
    return wanted.model_copy(update={"streams": (one,)})


@pytest.mark.slow
def test_a_recorded_run(tmp_path):
    wanted = job(**MIXED)
    options = replayed(tmp_path, "malloc_bssplit")
    found = events(options, wanted, tmp_path / "session")
    assert isinstance(found[0], Started) and found[0].mode == "spdk_bdev"
    result = found[-1]
    assert isinstance(result, Result), result
    assert result.streams[0].directions["read"].ios == 3336
    assert result.streams[0].directions["read"].bytes == 98144256
    assert (tmp_path / "preload").read_text() == f"LD_PRELOAD={options['plugin']}\n"
    kept = {path.name for path in (tmp_path / "session" / "spdk").iterdir()}
    assert {"run-0001.fio", "run-0001.spdk.json", "run-0001.json"} <= kept


@pytest.mark.slow
def test_the_slowest_io_is_where_it_was_counted(tmp_path):
    """In a document of before the end, the maximum may be older than the buckets."""
    out = RECORDINGS["fio/malloc_bssplit"].input["stdout"]
    early = out.index("\n}\n{") + 3, out.rindex("\n}\n{") + 3
    torn, times = re.subn(
        r'("lat_ns" : \{\s+"min" : \d+,\s+"max" : )[1-9]\d+',
        r"\g<1>6000000",
        out[slice(*early)],
    )
    assert times == 2
    spoilt = out[: early[0]] + torn + out[early[1] :]
    wanted, whole = job(**MIXED), tmp_path / "whole"
    whole.mkdir()
    plain = events(replayed(whole, "malloc_bssplit"), wanted)[-1]
    result = events(replayed(tmp_path, "malloc_bssplit", spoilt), wanted)[-1]
    assert isinstance(result, Result) and isinstance(plain, Result)
    assert result.streams == plain.streams


FAULTS = {
    "err_old_distro_fio": ("bad-backend", "interface is 32, and that of fio 3.35 is 31"),
    "err_no_preload": ("bad-backend", "does not load the plugin"),
    "err_wrong_bdev": ("missing-target", "no device Nope"),
    "err_malformed_json": ("bad-job", "refuses its configuration"),
    "err_no_hugepages": ("backend-error", "mount -t hugetlbfs"),
    "err_target_dies_bdev_nvme": ("device-error", "does not answer"),
    "err_unaligned": ("device-error", "Invalid argument"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_recorded_faults(name, tmp_path):
    found = events(replayed(tmp_path, name), renamed(job(**MIXED)))
    failure, (cause, text) = found[-1], FAULTS[name]
    assert isinstance(failure, Failure)
    assert failure.cause == cause and text in failure.message, failure


@pytest.mark.slow
def test_what_is_missing_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("IOPLAN_SPDK_DIR", raising=False)
    options = replayed(tmp_path, "err_no_preload")
    assert SpdkBackend().availability(options).version == "fio 3.35"
    for changes, said in (
        ({"plugin": None}, "set IOPLAN_SPDK_DIR"),
        ({"plugin": None, "dir": str(tmp_path / "none")}, "has no fio plugin"),
        ({"plugin": str(tmp_path / "none")}, "cannot be read"),
        ({"fio": str(tmp_path / "none")}, "cannot be run as fio"),
    ):
        missing = SpdkBackend().availability({**options, **changes})
        assert not missing.usable and said in missing.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "said", ["bad ioops version 32 (want 31)", "IO engine spdk_bdev not found",
             "fio: symbol lookup error: /x/spdk_bdev: undefined symbol: is_backend"],
)  # fmt: skip
def test_a_plugin_for_another_fio_is_refused_first(said, tmp_path):
    options = replayed(tmp_path, "err_no_preload")
    stand_in(tmp_path, f"echo '{said}' >&2; exit 1")
    assert "one version" in SpdkBackend().availability(options).reason
    with pytest.raises(BackendError, match="one version"):
        events(options, job())


real = pytest.mark.skipif(
    not SpdkBackend().availability(FIO).usable,
    reason="LEFT OUT: there is no SPDK fio plugin; set IOPLAN_SPDK_DIR to a tree "
    "built --with-fio",
)


@pytest.mark.slow
@real
def test_real_healthy_runs_are_not_ended():
    """Of four threads, and of two streams, some in a hundred were: a report counts the
    bytes of a thread before its latencies."""
    often = SECOND_NS // 20
    for wanted in (job(threads=4, interval_ns=often), two_streams(job())) * 3:
        last = events(FIO, wanted.model_copy(update={"interval_ns": often}))[-1]
        assert isinstance(last, Result) and not last.stopped, last


@pytest.mark.slow
@real
def test_real_latencies_streams_and_trims():
    delay = two_streams(job("delay:64MiB:1000:1000:3000:3000", run_ns=SECOND_NS // 2))
    result = events(FIO, delay)[-1]
    assert isinstance(result, Result), result
    for one in result.streams:
        read = one.directions["read"]
        assert 1e6 <= read.sum_ns / read.ios < 3e6  # on shared cores it polls late
    wanted = job(trim_percent=100, read_only=False, run_ns=SECOND_NS // 2)
    trimmed = events(FIO, wanted)[-1]
    assert isinstance(trimmed, Result), trimmed
    trims = trimmed.streams[0].directions["trim"]
    assert trims.sum_ns / trimmed.run_ns > 1.2, trims  # several are under way


def test_cores_are_not_the_plugins_to_choose():
    with pytest.raises(BackendError, match="mask"):
        SpdkBackend().gaps(job(), {**FIO, "mask": "0x1"})


@pytest.mark.parametrize(
    ("target", "memory_mib", "least"),
    [
        ("malloc:64MiB", 512, 0),
        ("malloc:256MiB", 512, 705),
        ("malloc:256MiB", 704, 705),
        ("malloc:256MiB", 705, 0),
        ("malloc:1GiB", 1024, 2241),
        ("null:256MiB", 512, 0),
        ("/data/target.bin", 512, 0),
    ],
)
def test_a_target_in_memory_needs_more_of_it(target, memory_mib, least):
    """Else fio with the plug-in dies by a signal, and names no reason."""
    options = {**FIO, "memory_mib": memory_mib}
    gaps = SpdkBackend().gaps(job(target), options)
    found = [one for one in gaps if one.field == "qd"]
    assert len(found) == bool(least)
    assert all(f"{target} and the buffers need" in one.reason for one in found)
    assert all(f"memory_mib={least} or more" in one.reason for one in found)
    assert not any(one.instead for one in found)


@needs_root
@pytest.mark.parametrize("opener", ["uring", "fio plugin"])
def test_what_only_reads_is_not_opened_for_writing(opener, tmp_path):
    """aio alone has a word for it."""
    options = replayed(tmp_path, "malloc_bssplit")
    if opener == "uring":
        program = bdevperf_stand_in(tmp_path, "rpc/N_nonroot_nohuge")
        options = {"driver": "bdevperf", "path": str(program), "no_huge": True}
    with loop_device(sparse(tmp_path / "disk.img", MIB)) as device:
        request = TargetRequest(path=str(device), options=options)
        if opener == "uring":
            SpdkBackend().open(request).close()
            request = request.model_copy(
                update={"options": {**options, "bdev": opener}}
            )
        with pytest.raises(TargetError, match=f"{opener} opens {device} for writing"):
            SpdkBackend().open(request)


@pytest.mark.slow
def test_who_died_of_a_signal_is_told_of_memory(tmp_path):
    options = replayed(tmp_path, "malloc_bssplit")
    stand_in(tmp_path, 'case "$1" in --enghelp=*) exit;; esac; kill -11 $$', "fio-3.35")
    last = events(options, job(**MIXED))[-1]
    assert isinstance(last, Failure) and last.cause == "backend-died"
    assert "--option memory_mib=1024" in last.message
