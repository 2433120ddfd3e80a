"""A power cut that takes ioplan's own host along: the session goes on after the boot.

Here the host dies as far as this machine can show it: all processes are killed, what the
state folder knew of the target is gone, and the boot is another one. In a real machine:
`tests/vm/test_cut_host_vm.py`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file
from served_journal import PROGRAM, Served, host_dies
from sight import WORDS

from ioplan.runner.state.host_cut import last_host_cut
from ioplan.witness.device import Device
from ioplan.witness.log import seen

pytestmark = pytest.mark.slow
Starts = Callable[..., Device]
PLAN = """
precondition filled { write sequential 64KiB, verify, region 0%..50%, 1 pass }
workload wal = random 4KiB 0/100, qd 4, region 0%..50%, flush every 16
test "Cut" {
  after filled
  run wal, verify for 5s, cut power at 300ms..600ms
  run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass as after
  expect after.lost_flushed == 0
}
"""
ALL_DIE = ["sh", "-c", "kill -9 $PPID; sleep 9"]
"""The engine dies with ioplan."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path)
    yield one
    one.kill()


def lab_of(one: Device, served: Served | None, folder: Path, off: list[str]) -> Path:
    lines = [f'path = "{one.disk}"', "writable = true"]
    if served:
        lines += [f'journal = {{ at = "{served.at}", key = "{served.key}" }}']
    control = f'off = {json.dumps(off)}, this_host = true, timeout = "1s"'
    lines += [f"power_control = {{ {control} }}"]
    lab = folder / "lab.toml"
    lab.write_text("[targets.toy]\n" + "\n".join(lines) + "\n")
    return lab


def words(one: Device, lab: Path, folder: Path) -> list[Any]:
    plan = plan_file(folder, PLAN)
    target = ("--target", "toy", "--overwrite", one.disk, "--lab", lab)
    return ["run", plan, *target, "--json", "--store", folder / "store", *WORDS]


def resumed(one: Device, folder: Path) -> Done:
    more = ("--overwrite-data", one.disk)
    return ioplan("resume", "--json", "--store", folder / "store", *more)


def records(done: Done) -> list[dict[str, Any]]:
    return [line["record"] for line in done.of("record")]


def reboots() -> None:
    """What was noted is of an earlier boot."""
    cut = last_host_cut()
    assert cut
    cut.model_copy(update={"boot": cut.boot + 1}).keep()


def dies_and_boots(one: Device, served: Served, folder: Path) -> None:
    """The run up to the cut, and all that the cut does."""
    lab = lab_of(one, served, folder, ALL_DIE)
    call = [*PROGRAM, *map(str, words(one, lab, folder))]
    died = subprocess.run(call, capture_output=True, check=False, timeout=120)
    assert died.returncode == -9, died.stderr
    one.tell("cut")
    host_dies(served)


@pytest.mark.parametrize("mode", ["volatile", "lying"])
@pytest.mark.long
def test_the_session_goes_on_and_judges(
    mode: str, device: Starts, served: Served, tmp_path: Path
) -> None:
    """Nothing is written before it reads what the cut has left."""
    one = device(cache={"mode": mode})
    dies_and_boots(one, served, tmp_path)
    reboots()
    one.tell("flush-log")
    writes = int((seen(one)["kind"] == 1).sum())
    done = resumed(one, tmp_path)
    cut, after = records(done)
    assert int((seen(one)["kind"] == 1).sum()) == writes
    assert cut["status"] == "ok" and 0.3 <= cut["power_cut"]["at_s"] < 30
    assert cut["power_cut"]["off_s"] >= 0 and cut["run_s"] == 0
    assert any("this host lost its power" in text for text in cut["warnings"])
    found = after["backend"]["facts"]["verify"]
    assert (found["lost_flushed"] > 0) is (mode == "lying"), found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in wrong), found
    assert done.code == (3 if mode == "lying" else 0), done.err
    shown = ioplan("show", "last", "--store", tmp_path / "store")
    broken = "a promise was broken by 1 of 1 power cut"
    held = "no promise was broken by 1 power cut"
    assert (broken if mode == "lying" else held) in " ".join(shown.out.split())


@pytest.mark.long
def test_a_death_without_a_boot_is_no_cut(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    """ioplan was killed and the host was not: the run is done again."""
    one = device(cache={"mode": "volatile"})
    dies_and_boots(one, served, tmp_path)
    lab_of(one, served, tmp_path, ["true"])
    found = records(resumed(one, tmp_path))[-1]
    assert found["status"] == "failed" and found["cause"] == "not-cut", found
    assert "this host still has its power 1s later" in found["message"]
    assert found["directions"]["write"]["ios"] > 0, "what was measured is kept"
    assert last_host_cut() is None, "a later boot is not the one of this cut"


@pytest.mark.long
def test_what_fails_before_the_cut_says_so(
    device: Starts, served: Served, tmp_path: Path
) -> None:
    one = device()
    lab = lab_of(one, served, tmp_path, ["sh", "-c", "echo no BMC >&2; exit 4"])
    found = records(ioplan(*words(one, lab, tmp_path)))[-1]
    assert (found["status"], found["cause"]) == ("failed", "not-cut")
    assert "no BMC" in found["message"] and last_host_cut() is None


@pytest.mark.long
def test_without_a_journal_elsewhere_nothing_begins(
    device: Starts, tmp_path: Path
) -> None:
    one = device()
    done = ioplan(*words(one, lab_of(one, None, tmp_path, ALL_DIE), tmp_path))
    assert done.code == 2 and "add `journal` to the target's entry" in done.err
    one.tell("flush-log")
    assert not (seen(one)["kind"] == 1).any(), "it has been written to"


def test_the_lab_says_one_of_both(device: Starts, tmp_path: Path) -> None:
    one = device()
    lab = lab_of(one, None, tmp_path, ALL_DIE)
    lab.write_text(lab.read_text().replace("this_host", 'on = ["true"], this_host'))
    done = ioplan(*words(one, lab, tmp_path))
    assert done.code == 2 and "say either `on`" in done.err, done.err
