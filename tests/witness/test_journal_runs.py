"""Runs whose journal another host keeps: what it has, and what is known without ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, ioplan, plan_file
from served_journal import PROGRAM, Served, host_dies
from sight import WORDS

from ioplan.core.state_folder import state_folder
from ioplan.runner.state.host_cut import ENTRY_BYTES, HEADER_BYTES
from ioplan.witness.device import Device
from ioplan.witness.log import seen

pytestmark = pytest.mark.slow
Starts = Callable[..., Device]
WRITES = "run random 4KiB 0/100, qd 4, region 0%..50%, flush every 16, verify for {}"
READS = "run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass"
GENERATION = (1 << 30) - 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path)
    yield one
    one.kill()


def words(one: Device, served: Served, folder: Path, text: str) -> list[Any]:
    """The call of a plan on the device, with a lab that names the journal."""
    place = json.dumps({"at": served.at, "key": str(served.key)}).replace('": ', '" = ')
    lab = folder / "lab.toml"
    lab.write_text(
        f'[targets.toy]\npath = "{one.disk}"\nwritable = true\njournal = {place}\n'
    )
    plan = plan_file(folder, f'test "T" {{ {text} }}\n')
    target = ("--target", "toy", "--overwrite", one.disk, "--json", "--lab", lab)
    return ["run", plan, *target, "--store", folder / "store", *WORDS]


def run(one: Device, served: Served, folder: Path, text: str) -> Done:
    return ioplan(*words(one, served, folder, text))


def record(done: Done) -> dict[str, Any]:
    (line,) = done.of("record")
    found: dict[str, Any] = line["record"]
    return found


def verified(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = record(done)["backend"]["facts"]["verify"]
    return found


def written(one: Device) -> int:
    """How many writes have arrived."""
    return int((seen(one)["kind"] == 1).sum())


@pytest.mark.long
def test_both_hosts_know_the_same(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device()
    assert run(one, served, tmp_path, WRITES.format("8MiB")).code == 0
    (here,) = (state_folder() / "stamps").iterdir()
    assert here.read_bytes()[: served.file.stat().st_size] == served.file.read_bytes()
    assert any(served.file.read_bytes()[HEADER_BYTES:])
    known = np.frombuffer(served.file.read_bytes()[HEADER_BYTES:], "<u4")[::3]
    shutil.rmtree(state_folder() / "stamps")
    again = verified(run(one, served, tmp_path, READS))
    assert again["verified"] == np.count_nonzero(known) > 0, "what is there is enough"
    assert (
        run(one, served, tmp_path, WRITES.format("1MiB").replace(", verify", "")).code
        == 0
    )
    assert not any(served.file.read_bytes()[HEADER_BYTES:]), "nothing is known now"


@pytest.mark.parametrize("mode", ["volatile", "lying"])
@pytest.mark.long
def test_what_was_promised_is_known_after_the_host_died(
    mode: str, device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device(cache={"mode": mode})
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words(one, served, tmp_path, WRITES.format("1min")))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while written(one) < 1000:
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)  # and the engine dies with it
    process.wait()
    time.sleep(0.5)
    one.tell("cut")
    host_dies(served)
    found = verified(run(one, served, tmp_path, READS))
    assert (found["lost_flushed"] > 0) is (mode == "lying"), found
    assert mode == "lying" or found["kept"] + found["rolled_back"] > 0, found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in (*wrong, "stale", "no_stamp", "checksum"))


@pytest.mark.parametrize(("behind", "foreign"), [(1, False), (2, True)])
@pytest.mark.long
def test_one_write_may_be_untold_and_no_more(
    behind: int, foreign: bool, device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device()
    run(one, served, tmp_path, WRITES.format("8MiB"))
    with served.file.open("rb+") as file:
        for at in range(HEADER_BYTES, HEADER_BYTES + 8 * ENTRY_BYTES, ENTRY_BYTES):
            (known,) = struct.unpack("<I", os.pread(file.fileno(), 4, at))
            if known:
                earlier = struct.pack("<I", (known - behind) & GENERATION)
                os.pwrite(file.fileno(), earlier, at)
    host_dies(served)
    found = verified(run(one, served, tmp_path, READS))
    assert (found["foreign"] > 0) is foreign and found["lost_flushed"] == 0, found


def ends_midway(
    one: Device, served: Served, folder: Path, end: Callable[[], None]
) -> Done:
    """A run in the midst of which something happens to the other host."""
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words(one, served, folder, WRITES.format("1min")))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while written(one) < 200:
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.05)
    end()
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out, err)


@pytest.mark.long
def test_a_receiver_that_is_killed_ends_the_run_and_loses_nothing(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device(cache={"mode": "volatile"})
    done = ends_midway(one, served, tmp_path, served.kill)
    found = record(done)
    assert (found["status"], found["cause"]) == ("failed", "journal"), found["message"]
    assert "the link to it has ended" in found["message"]
    assert found["directions"]["write"]["ios"] > 0, "what was measured is kept"
    one.tell("cut")
    again = Served(tmp_path)
    try:
        host_dies(again)
        told = verified(run(one, again, tmp_path, READS))
    finally:
        again.kill()
    assert told["lost_flushed"] == told["foreign"] == 0 and told["kept"] > 0, told


@pytest.mark.long
def test_a_receiver_that_hangs_ends_the_run(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    def stop() -> None:
        served.process.send_signal(signal.SIGSTOP)

    found = record(ends_midway(device(), served, tmp_path, stop))
    assert found["cause"] == "journal", found["message"]
    assert "does not answer within 10 s" in found["message"]
    assert found["directions"]["write"]["ios"] > 0


@pytest.mark.machine
@pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: only root mounts")
@pytest.mark.long
def test_a_full_disk_of_the_other_host_ends_the_run(
    device: Starts, tmp_path: Path
) -> None:
    folder = tmp_path / "journals"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    served = Served(tmp_path)
    try:
        done = run(device(), served, tmp_path, WRITES.format("8MiB"))
    finally:
        served.kill()
        subprocess.run(["umount", str(folder)], check=True)
    found = record(done)
    assert (found["status"], found["cause"]) == ("failed", "journal"), found["message"]
    assert "it cannot write: ENOSPC" in found["message"]


def test_without_a_receiver_nothing_is_written(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device()
    served.kill()
    done = run(one, served, tmp_path, WRITES.format("8MiB"))
    assert done.code not in (0, 2) and "ioplan journal serve" in done.err, done.err
    assert not written(one), "it has been written to"
