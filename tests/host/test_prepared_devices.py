"""Queues of real loop and zram devices, set for a session and put back after it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command import ioplan, plan_file, succeed
from killing import Forked, real_time_s

from ioplan.results.store import Store
from ioplan.runner import (
    Disk,
    HostError,
    HostSettings,
    Tree,
    disk_of,
    prepared_host,
    restore,
)
from targets import MIB, loop_device, needs_root, sparse, zram

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 100ms }'
PREPARE = '[prepare]\nscheduler = "none"\nnomerges = 2\n'
SET = {"scheduler": "none", "nomerges": "2"}
BEFORE = {"scheduler": "mq-deadline", "nomerges": "1", "iosched/read_expire": "120"}
NOBODY = 65534


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A loop device with a scheduler of its own, and that with a value of its own."""
    with loop_device(sparse(tmp_path / "image", 16 * MIB)) as path:
        found = {**now(path), "nomerges": file(path, "nomerges").read_text()}
        for name, text in BEFORE.items():
            file(path, name).write_text(text)
        yield path
        for name in SET:  # a loop device keeps them for whoever has it next
            file(path, name).write_text(found[name])


def file(device: Path, name: str) -> Path:
    return Path("/sys/block", device.name, "queue", name)


def now(device: Path) -> dict[str, str]:
    texts = {name: file(device, name) for name in BEFORE}
    found = {name: at.read_text() for name, at in texts.items() if at.exists()}
    found["scheduler"] = found["scheduler"].partition("[")[2].partition("]")[0]
    return {name: text.strip() for name, text in found.items()}


@needs_root
@pytest.mark.long
@pytest.mark.promise("lab_file.after_crash")
def test_a_killed_session_is_put_back(
    device: Path, tmp_path: Path, store_path: Path
) -> None:
    """By `lab restore`, by `resume`, and as every session ends; the record says all."""
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, READS)
    host = f'[hosts.h1]\nreach = ["env"]\npython = "{sys.executable}"\n'
    lab.write_text(host + PREPARE)
    words = "run", plan, "--target", device, "--lab", lab, "--json"
    restore = "lab", "restore", "--lab", lab
    for command in (restore, ("lab", "put-back"), ("resume", "last")):
        killed = Forked(tmp_path / "out", *words, "--store", store_path)
        assert killed.begun()
        killed.kill_after(0, real_time_s)
        assert now(device) == SET, "this is what a kill leaves"
        done = succeed(*command)
        assert now(device) == BEFORE, done.out + done.err
    with Store.open(store_path) as store:
        (record,) = store.records(store.session("last").id)
    assert record.host["prepared"] == {
        "scheduler": {"before": "mq-deadline", "set": "none"},
        "nomerges": {"before": "1", "set": "2"},
    }
    assert record.host["target"]["scheduler"] == "none", "looked at while prepared"


@needs_root
def test_a_scheduler_that_the_kernel_does_not_have(
    device: Path, tmp_path: Path, store_path: Path
) -> None:
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, READS)
    lab.write_text('[prepare]\nnomerges = 2\nscheduler = "elevator"\n')
    done = ioplan("run", plan, "--target", device, "--lab", lab)
    assert done.code == 2 and now(device) == BEFORE
    (error,) = done.err.splitlines()
    assert error.startswith("error: prepare.scheduler: the kernel refuses 'elevator'")
    assert "it has: none [mq-deadline]" in error


@needs_root
def test_another_user_is_refused_once(device: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with TemporaryDirectory() as state:
        os.chown(state, NOBODY, NOBODY)
        _prepare_as_nobody(device, state, writer)
    kind, text = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.close(writer)
    assert kind == "host-permission"
    assert "run ioplan as root, or remove [prepare]" in text
    assert now(device) == BEFORE


def _prepare_as_nobody(device: Path, state: str, writer: int) -> None:
    if not (pid := os.fork()):
        os.environ["XDG_STATE_HOME"] = state
        os.setresuid(NOBODY, NOBODY, NOBODY)
        settings, disk = HostSettings(nomerges=2), disk_of(Tree(), str(device))
        said = "not refused"
        try:
            prepared_host("s", settings, disk, print).__enter__()
        except HostError as error:
            said = json.dumps([error.kind, str(error)])
        os.write(writer, said.encode())
        os._exit(0)
    os.waitpid(pid, 0)


@needs_root
def test_zram_merges() -> None:
    with zram(16 * MIB) as device:
        disk = Disk(Path("/sys/block", device.name), is_target=True)
        merges = disk.folder / "queue/nomerges"
        merges.write_text("1")
        with prepared_host("z", HostSettings(nomerges=2), disk, pytest.fail) as found:
            assert found == {"nomerges": {"before": "1", "set": "2"}}
            assert merges.read_text() == "2\n"
        assert merges.read_text() == "1\n"
        _check_that_another_is_killed(disk, merges)
        with pytest.raises(HostError, match=r"no /sys/block/.*/scheduler"):
            prepared_host("z", HostSettings(scheduler="none"), disk, print).__enter__()


def _check_that_another_is_killed(disk: Disk, merges: Path) -> None:
    """A session that goes on keeps its settings, and puts back what was before both."""
    settings, (reader, writer) = HostSettings(nomerges=2), os.pipe()
    if not (pid := os.fork()):
        with prepared_host("killed", settings, disk, print):
            os.write(writer, b"x")
            signal.pause()
    assert os.read(reader, 1) == b"x" and merges.read_text() == "2\n"
    with prepared_host("lives", settings, disk, pytest.fail) as found:
        assert found == {"nomerges": {"before": "1", "set": "2"}}
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        restore(pytest.fail)
        assert merges.read_text() == "2\n", "the other one wants it"
    assert merges.read_text() == "1\n"
    os.close(reader)
    os.close(writer)
