"""The journal on another host, over a network of its own: what a broken link costs.

Hosts are network namespaces with ssh servers, as in a lab; the device under test is of
the first one, and the second one keeps its power.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Done, plan_file
from netlab import NEEDS_NETNS, NetLab, Place, netlab
from served_journal import PROGRAM, in_another_boot

from ioplan.witness.device import Device
from ioplan.witness.log import seen

pytestmark = [*NEEDS_NETNS, pytest.mark.slow]
Starts = Callable[..., Device]
PORT = 7007
WRITES = "run random 4KiB 0/100, qd 4, region 0%..50%, flush every 16, verify for 1min"
READS = "run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[NetLab]:
    with netlab(tmp_path, "tested", "powered") as made:
        yield made


class Served:
    """The receiver, which is started by ssh, as a person would."""

    def __init__(self, lab: NetLab) -> None:
        self.host = lab.hosts["powered"]
        self.key = self.host.folder / "journal.key"
        words = ["journal", "serve", str(self.host.folder / "journals")]
        words += ["--listen", f"{self.host.address}:{PORT}", "--key", str(self.key)]
        ssh = ["ssh", f"root@{self.host.address}", *PROGRAM, *words]
        self.process = subprocess.Popen(
            lab.coordinator.command(*ssh), stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        assert "listening at" in self.process.stdout.readline()

    @property
    def file(self) -> Path:
        (one,) = (self.host.folder / "journals").iterdir()
        return one

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def served(lab: NetLab) -> Iterator[Served]:
    one = Served(lab)
    yield one
    one.end()


def started(
    one: Device, host: Place, served: Served, text: str
) -> subprocess.Popen[str]:
    """A plan on the tested host, which has a copy of the key."""
    key = shutil.copy(served.key, host.folder / "copy.key")
    at = f"{served.host.address}:{PORT}"
    lab = host.folder / "lab.toml"
    lab.write_text(
        f'[targets.toy]\npath = "{one.disk}"\nwritable = true\n'
        "cannot_see_users = true\n"
        f'journal = {{ at = "{at}", key = "{key}" }}\n'
    )
    plan = plan_file(host.folder, f'test "T" {{ {text} }}\n')
    words = ["run", plan, "--target", "toy", "--overwrite", one.disk]
    words += ["--json", "--lab", lab, "--store", host.folder / "store"]
    return subprocess.Popen(
        host.command(*PROGRAM, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=120)
    return Done(process.returncode, out, err)


def record(done: Done) -> dict[str, Any]:
    (line,) = done.of("record") or pytest.fail(done.err)
    found: dict[str, Any] = line["record"]
    return found


def writes(one: Device) -> int:
    return int((seen(one)["kind"] == 1).sum())


def goes_on(process: subprocess.Popen[str], one: Device, count: int) -> None:
    """Until so many writes have arrived."""
    while writes(one) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


def judged(one: Device, host: Place, served: Served) -> dict[str, Any]:
    """What the first reads after a cut find, in another boot of the tested host, by the
    other host's journal alone."""
    one.tell("cut")
    in_another_boot(served.file)
    shutil.rmtree(host.folder / "state" / "ioplan" / "stamps")
    done = ended(started(one, host, served, READS))
    found: dict[str, Any] = record(done)["backend"]["facts"]["verify"]
    return found


@pytest.mark.long_but_first
@pytest.mark.parametrize("mode", ["lying", "volatile"])
def test_a_host_that_dies_is_judged_by_the_other(
    mode: str, device: Starts, lab: NetLab, served: Served
) -> None:
    """Its network goes with it, so that the other host sees no end of the link."""
    one, host = device(cache={"mode": mode}), lab.hosts["tested"]
    process = started(one, host, served, WRITES)
    goes_on(process, one, 1000)
    lab.cut("tested")
    all_of(host, signal.SIGKILL)
    process.wait()
    lab.mend("tested")
    found = judged(one, host, served)
    assert (found["lost_flushed"] > 0) is (mode == "lying"), found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in wrong), found
    assert mode == "lying" or found["kept"] + found["rolled_back"] > 0


@pytest.mark.long
def test_a_link_that_is_unplugged_ends_the_run_and_accuses_nothing(
    device: Starts, lab: NetLab, served: Served
) -> None:
    one, host = device(cache={"mode": "volatile"}), lab.hosts["tested"]
    process = started(one, host, served, WRITES)
    goes_on(process, one, 1000)
    lab.cut("tested")
    began_s = time.monotonic()
    found = record(ended(process))
    assert time.monotonic() - began_s < 45, "it does not wait for the end of its time"
    assert (found["status"], found["cause"]) == ("failed", "journal"), found["message"]
    assert found["directions"]["write"]["ios"] > 0, "what was measured is kept"
    lab.mend("tested")
    told = judged(one, host, served)
    assert told["lost_flushed"] == told["foreign"] == 0 and told["kept"] > 0, told


@pytest.mark.long
def test_a_link_that_comes_back_in_time_costs_time_only(
    device: Starts, lab: NetLab, served: Served
) -> None:
    one, host = device(cache={"mode": "volatile"}), lab.hosts["tested"]
    process = started(one, host, served, WRITES.replace("1min", "20s"))
    goes_on(process, one, 200)
    lab.cut("tested")
    time.sleep(2)
    lab.mend("tested")
    found = record(ended(process))
    assert found["status"] == "ok", found["message"]
    told = judged(one, host, served)
    assert told["lost_flushed"] == told["foreign"] == 0 and told["kept"] > 0, told


def all_of(host: Place, sign: int) -> None:
    """Every process of a host but its ssh server."""
    told = subprocess.check_output(["ip", "netns", "pids", host.space], text=True)
    for pid in map(int, told.split()):
        if pid != host.sshd:
            os.kill(pid, sign)
