"""Which of SPDK's programs does a run, where it is free to choose."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from fio_jobs import stand_in as fio_stand_in
from spdk_jobs import MALLOC, RECORDINGS, job, stand_in

from ioplan.backends import BackendError, TargetRequest
from ioplan.job import SECOND_NS, Result, Started
from ioplan.workload import Rate
from ioplan_spdk import SpdkBackend, SpdkOptions, driver, driver_of
from ioplan_spdk import drive as drive_module

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


def here(patch: pytest.MonkeyPatch, bdevperf: bool, plugin: bool) -> None:
    """A machine that has these."""
    patch.setattr(driver, "bdevperf_fault", lambda _: "" if bdevperf else "none there")
    patch.setattr(driver, "plugin_fault", lambda *_: "" if plugin else "not built")


@pytest.mark.parametrize("both", [True, False], ids=["both here", "a desk"])
@pytest.mark.parametrize("title", EXACT)
def test_what_does_a_run_exactly(
    title: str, both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, both, both)
    expected, asked = EXACT[title]
    found = driver_of(asked, SpdkOptions())
    assert (found.name, found.gaps) == (expected, [])
    assert SpdkBackend().gaps(asked, {}) == []
    assert bool(found.reason) is (expected == "fio")


def test_why_it_is_not_bdevperf_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, True, True)
    writes = job(DRIVE, read_percent=0)
    assert SpdkBackend().done_by(job(), {}) == "bdevperf"
    assert SpdkBackend().done_by(writes, {}) == (
        "SPDK's fio plug-in: bdevperf does not write random data"
    )
    assert "[main]" in SpdkBackend().native(writes, {})
    assert "perform_tests" in SpdkBackend().native(job(), {})


def test_a_plugin_that_is_not_here_is_named_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here(monkeypatch, True, False)
    (gap,) = SpdkBackend().gaps(job(DRIVE, read_percent=0), {})
    assert gap.field == "data" and "bdevperf does not" in gap.reason
    assert gap.edit == "SPDK's fio plug-in, which cannot be used here: not built"
    (verify,) = SpdkBackend().gaps(job(verify=True), {})
    assert not verify.edit  # the plug-in would be of no use


def test_without_bdevperf_the_plugin_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, False, True)
    found = driver_of(job(), SpdkOptions())
    assert (found.name, found.reason) == ("fio", "bdevperf is not installed")


def test_what_neither_does_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_device_that_is_only_read_is_not_given_to_the_plugin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "bdevperf_fault", lambda _: "")
    monkeypatch.setattr(driver, "opens_for_writing", lambda path: True)
    (gap,) = SpdkBackend().gaps(job("/dev/nvme9n9", threads=2, read_only=True), {})
    assert "opens /dev/nvme9n9 for writing" in gap.edit


def tree(folder: Path, fio_body: str) -> dict[str, Any]:
    """Options for stand-ins of bdevperf, fio and the plug-in."""
    built = folder / "build"
    for name in ("examples", "fio"):
        (built / name).mkdir(parents=True)
    stand_in(built / "examples", "rpc/N_nonroot_nohuge")
    (built / "fio" / "spdk_bdev").touch()
    fio = fio_stand_in(folder, fio_body, "fio-3.35")
    return {"dir": str(folder), "fio": fio, "no_huge": True, "block_bytes": 512}


@pytest.mark.slow
def test_one_session_may_need_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_a_plugin_that_does_not_fit_shuts_nothing_else_out(tmp_path: Path) -> None:
    options = tree(tmp_path, "echo 'bad ioops version 32 (want 31)' >&2; exit 1")
    assert SpdkBackend().availability(options).usable
    assert SpdkBackend().gaps(job(), options) == []
    (gap,) = SpdkBackend().gaps(job(threads=2), options)
    assert "name the fitting fio with --option fio=" in gap.edit
    with pytest.raises(BackendError, match="one version"):
        SpdkBackend().open(
            TargetRequest(path=MALLOC, options={**options, "driver": "fio"})
        )
