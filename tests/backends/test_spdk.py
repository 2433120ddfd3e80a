"""What SPDK's programs are told, what they cannot be told, and which of them does a run."""

import os
from contextlib import suppress

import pytest
from fio_jobs import stand_in as fio_stand_in
from hypothesis import given
from hypothesis import strategies as st
from spdk_jobs import MALLOC, RECORDINGS, job, stand_in

from golden import Golden
from ioplan.backends import BackendError, TargetRequest, find
from ioplan.job import SECOND_NS, Job, Result, Started
from ioplan.workload import Data, Rate
from ioplan_spdk import SpdkBackend, SpdkOptions, driver, driver_of, parse_options
from ioplan_spdk import drive as drive_module

BDEVPERF = {"driver": "bdevperf"}
DEVICE = {"target": "/dev/nvme9n9"}


def gaps(options=None, **changes):
    found = SpdkBackend().gaps(job(**changes), {**BDEVPERF, **(options or {})})
    return {gap.field: gap for gap in found}


def test_it_is_found_by_its_name():
    assert find("spdk").name == "spdk"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"read_percent": 70},
        {"read_percent": 0, "pattern": "sequential", "size": 131072},
        {"trim_percent": 100, "pattern": "sequential"},
        {"warmup_ns": 2 * SECOND_NS, "align_bytes": 4096},
        {"read_percent": 0, "data": Data(kind="zeros"), **DEVICE},
        DEVICE,
    ],
)
def test_what_is_exact(changes):
    assert gaps(**changes) == {}


CANNOT = Golden("spdk_gaps")


@pytest.mark.parametrize("case", CANNOT)
def test_what_it_cannot_do(case, golden):
    """Each by its clause, and what is done instead, if anything is."""
    found = SpdkBackend().gaps(Job.model_validate(CANNOT[case].input), BDEVPERF)
    assert all(gap.stream == "main" for gap in found)
    rows = {f"{gap.field}: {gap.reason}": gap.instead or "REFUSED" for gap in found}
    assert case.partition(" by ")[0] in {gap.field for gap in found}
    golden(CANNOT, case, rows)


def test_more_memory_closes_the_gap_that_asks_for_it():
    found = gaps(qd=2048, size=1 << 20)["qd"].reason
    assert "memory_mib=4096" in found
    assert gaps({"memory_mib": "4096"}, qd=2048, size=1 << 20) == {}


def test_a_second_stream_is_a_gap_of_its_own():
    one = job()
    two = one.model_copy(
        update={
            "streams": (*one.streams, one.streams[0].model_copy(update={"name": "b"}))
        }
    )
    (gap,) = SpdkBackend().gaps(two, BDEVPERF)
    assert (gap.stream, gap.field, gap.instead) == ("b", "streams", "")


@pytest.mark.parametrize("driver", ["bdevperf", "fio"])
@pytest.mark.parametrize(
    ("target", "discards"),
    [
        ("malloc:64MiB", True),
        ("nvme:pcie:0000:01:00.0", True),
        ("/dev/nvme9n9", False),
        ("/data/disk.img", False),
        ("null:64MiB", False),
        ("delay:64MiB:1000:5000:3000:9000", False),
    ],
)
def test_trims_are_refused_where_spdk_discards_nothing(target, discards, driver):
    trims = job(target=target, trim_percent=100, pattern="sequential")
    found = SpdkBackend().gaps(trims, {"driver": driver})
    assert ("trim" not in {gap.field for gap in found}) is discards
    assert all(not gap.instead and not gap.edit for gap in found if gap.field == "trim")


NATIVE = Golden("spdk_native")


@pytest.mark.parametrize("title", NATIVE)
def test_what_bdevperf_or_fio_is_told(title, golden):
    asked = NATIVE[title].input
    job = Job.model_validate(asked["job"])
    golden(NATIVE, title, SpdkBackend().native(job, asked["options"]))


def test_a_share_of_zero_is_never_asked_for():
    for percent, words in (
        (0, "randwrite"),
        (100, "randread"),
        (0.4, '"rw_percentage": 1'),
    ):
        assert words in SpdkBackend().native(job(read_percent=percent), {})
        assert '"rw_percentage": 0' not in SpdkBackend().native(
            job(read_percent=percent), {}
        )


def native(target):
    return SpdkBackend().native(job(target), BDEVPERF)


def test_places():
    drive = native("nvme:pcie:01:00.0/2")
    assert "0000:01:00.0" in drive and "n2" in drive
    tcp = native("nvme:tcp:[fe80::1]:4420:nqn.2016-06.io.spdk:cnode1/3")
    for part in ('"fe80::1"', '"4420"', '"nqn.2016-06.io.spdk:cnode1"', "n3"):
        assert part in tcp


@pytest.mark.parametrize(
    "path",
    [
        "malloc:", "malloc:64", "malloc:5B", "null:0MiB", "nvme:pcie:nonsense",
        "nvme:tcp:host:nqn.x", "nvme:rdma:x", "nvme:", "delay:128MiB", "delay:128MiB:2:1:2:3",
    ],
)  # fmt: skip
def test_targets_that_are_none(path):
    with pytest.raises(BackendError) as caught:
        native(path)
    assert repr(path) in str(caught.value)


@given(st.text())
def test_any_text_is_a_place_or_an_error(text):
    with suppress(BackendError):
        assert native(text)


def test_options():
    assert parse_options({"no_huge": "true", "block_bytes": "4096"}).block_bytes == 4096
    with pytest.raises(BackendError, match="did you mean 'no_huge'"):
        parse_options({"nohuge": True})
    with pytest.raises(BackendError, match="memory_mib"):
        parse_options({"memory_mib": "1"})


@pytest.mark.slow
def test_whether_it_is_there(tmp_path, monkeypatch):
    monkeypatch.delenv("IOPLAN_SPDK_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = SpdkBackend().availability({})
    assert not missing.usable and "set IOPLAN_SPDK_DIR" in missing.reason
    monkeypatch.setenv("IOPLAN_SPDK_DIR", str(tmp_path))
    assert "no bdevperf" in SpdkBackend().availability({}).reason
    examples = tmp_path / "build" / "examples"
    examples.mkdir(parents=True)
    program = stand_in(examples, "help/bdevperf_version")
    found = SpdkBackend().availability({"no_huge": True})
    assert found.usable and found.version == "v24.09.1-pre"
    assert found.reason.startswith("without SPDK's fio plug-in: ")
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "does not say its version" in SpdkBackend().availability({}).reason


def test_a_mask_as_cores():
    for mask, cores in {"0x6": (1, 2), "2": (1,), "[1,4-6]": (1, 4, 5, 6)}.items():
        assert SpdkOptions(mask=mask).core_list == cores
    for wrong in ("cpu1", "[1", "0x"):
        with pytest.raises(BackendError, match="mask"):
            parse_options({"mask": wrong})


# which of SPDK's programs does a run, where it is free to choose

DRIVE = "nvme:pcie:0000:01:00.0"
EXACT = {
    "reads": ("bdevperf", job(DRIVE)),
    "a mix in memory": ("bdevperf", job(read_percent=70)),
    "random data": ("fio", job(DRIVE, read_percent=0)),
    "threads": ("fio", job(threads=4)),
    "think time": ("fio", job(pause_ns=1_000_000, pause_every=8)),
    "a part of the run": ("fio", job(ends_ns=SECOND_NS)),
    "a share of random I/O": ("fio", job(random_percent=65)),
    "shares by direction": (
        "fio",
        job(read_percent=50, random_percent=65, write_random_percent=30),
    ),
    "half a second": ("fio", job(run_ns=SECOND_NS // 2)),
}


def here(patch, bdevperf, plugin):
    """A machine that has these."""
    patch.setattr(driver, "bdevperf_fault", lambda _: "" if bdevperf else "none there")
    patch.setattr(driver, "plugin_fault", lambda *_: "" if plugin else "not built")


@pytest.mark.parametrize("both", [True, False], ids=["both here", "a desk"])
@pytest.mark.parametrize("title", EXACT)
def test_what_does_a_run_exactly(title, both, monkeypatch):
    here(monkeypatch, both, both)
    expected, asked = EXACT[title]
    found = driver_of(asked, SpdkOptions())
    assert (found.name, found.gaps) == (expected, [])
    assert SpdkBackend().gaps(asked, {}) == []
    assert bool(found.reason) is (expected == "fio")


def test_why_it_is_not_bdevperf_is_told(monkeypatch):
    here(monkeypatch, True, True)
    writes = job(DRIVE, read_percent=0)
    assert SpdkBackend().done_by(job(), {}) == "bdevperf"
    assert SpdkBackend().done_by(writes, {}) == (
        "SPDK's fio plug-in: bdevperf does not write random data"
    )
    assert "[main]" in SpdkBackend().native(writes, {})
    assert "perform_tests" in SpdkBackend().native(job(), {})


def test_a_plugin_that_is_not_here_is_named_with_what_to_type(monkeypatch):
    here(monkeypatch, True, False)
    (gap,) = SpdkBackend().gaps(job(DRIVE, read_percent=0), {})
    assert gap.field == "data" and "bdevperf does not" in gap.reason
    assert gap.edit == "SPDK's fio plug-in, which cannot be used here: not built"
    (verify,) = SpdkBackend().gaps(job(verify=True), {})
    assert not verify.edit  # the plug-in would be of no use


def test_without_bdevperf_the_plugin_does_all(monkeypatch):
    here(monkeypatch, False, True)
    found = driver_of(job(), SpdkOptions())
    assert (found.name, found.reason) == ("fio", "bdevperf is not installed")


def test_what_neither_does_names_both(monkeypatch):
    here(monkeypatch, True, True)
    (gap,) = SpdkBackend().gaps(job(verify=True), {})
    assert "bdevperf verifies" in gap.reason and "SPDK's fio plug-in: fio" in gap.reason
    asked = job(DRIVE, verify=True, read_percent=0)
    assert driver_of(asked, SpdkOptions()).name == "fio"  # which has the random data
    paced = driver_of(job(rate=Rate(iops=1500)), SpdkOptions())
    assert paced.name == "fio"  # bdevperf would do up to 2000
    assert "bdevperf is a closed loop" in paced.gaps[0].reason
    percents = driver_of(job(read_percent=66.6), SpdkOptions())
    assert percents.name == "bdevperf"  # neither has tenths


def test_a_device_that_is_only_read_is_not_given_to_the_plugin(monkeypatch):
    monkeypatch.setattr(driver, "bdevperf_fault", lambda _: "")
    monkeypatch.setattr(driver, "opens_for_writing", lambda path: True)
    (gap,) = SpdkBackend().gaps(job("/dev/nvme9n9", threads=2, read_only=True), {})
    assert "opens /dev/nvme9n9 for writing" in gap.edit


def tree(folder, fio_body):
    """Options for stand-ins of bdevperf, fio and the plug-in."""
    built = folder / "build"
    for name in ("examples", "fio"):
        (built / name).mkdir(parents=True)
    stand_in(built / "examples", "rpc/N_nonroot_nohuge")
    (built / "fio" / "spdk_bdev").touch()
    fio = fio_stand_in(folder, fio_body, "fio-3.35")
    return {"dir": str(folder), "fio": fio, "no_huge": True, "block_bytes": 512}


@pytest.mark.slow
def test_one_session_may_need_both(tmp_path, monkeypatch):
    busy = dict.fromkeys(range(os.cpu_count() or 1), "process 1")
    monkeypatch.setattr(drive_module, "polled_cpus", lambda: busy)
    printed = tmp_path / "printed"
    printed.write_text(RECORDINGS["fio/malloc_bssplit"].input["stdout"])
    fio_body = f'case "$1" in --enghelp=*) exit;; esac\ncat {printed}'
    options = tree(tmp_path, fio_body)
    assert SpdkBackend().availability(options).version == "v24.09.1-pre, fio 3.35"
    request = TargetRequest(
        path=MALLOC, options=options, folder=str(tmp_path / "session")
    )
    drive = SpdkBackend().open(request)
    told: list[Started] = []
    for asked in (job(cpus=(0,)), job(cpus=(0,), run_ns=SECOND_NS // 2)):
        with drive.start(asked) as execution:
            events = list(execution)
        assert isinstance(events[0], Started) and isinstance(events[-1], Result), events
        assert "process 1 polls CPU 0" in events[-1].warnings[0]
        told.append(events[0])
    drive.close()
    assert [one.facts["driver"] for one in told] == ["bdevperf", "fio"]
    assert [one.reason for one in told] == [
        "without hugepages",
        "bdevperf's times are whole seconds",
    ]
    kept = {path.name for path in (tmp_path / "session" / "spdk").iterdir()}
    assert {"0001", "run-0002.fio"} <= kept


@pytest.mark.slow
def test_a_plugin_that_does_not_fit_shuts_nothing_else_out(tmp_path):
    options = tree(tmp_path, "echo 'bad ioops version 32 (want 31)' >&2; exit 1")
    assert SpdkBackend().availability(options).usable
    assert SpdkBackend().gaps(job(), options) == []
    (gap,) = SpdkBackend().gaps(job(threads=2), options)
    assert "name the fitting fio with --option fio=" in gap.edit
    with pytest.raises(BackendError, match="one version"):
        SpdkBackend().open(
            TargetRequest(path=MALLOC, options={**options, "driver": "fio"})
        )
