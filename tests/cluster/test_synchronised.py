"""Hosts that put load on one device together, as one run with one record.

Hosts are network namespaces with workers of their own, the device is a loop device
that both have. The engine of h2 can be made late.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import plan_file
from fio_jobs import NEEDS_FIO
from netlab import NEEDS_NETNS, NetLab, Place, netlab, wait_for
from test_netlab import up

from ioplan.job import Result
from ioplan.records import RunDetail, RunRecord
from ioplan.results.store import Store
from ioplan.runner import openers
from ioplan_io_uring import engine_path
from targets import MIB, loop_device, sparse, tell

pytestmark = NEEDS_NETNS

LATE_MS = 700
BOUND_MS = 400
"""Both hosts share two CPUs with other work; on idle ones it is a few ms at most."""
ENGINE = """#!{python}
import os, signal, subprocess, sys, threading, time
words = ["{engine}", *sys.argv[1:]]
if sys.argv[1:2] != ["run"] or not os.path.exists("{flag}"):
    os.execv(words[0], words)
child = subprocess.Popen(words, stdin=subprocess.PIPE, close_fds=False)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
def pass_on():
    for number, line in enumerate(sys.stdin.buffer):
        time.sleep({late_s} * (number == 1))
        child.stdin.write(line)
        child.stdin.flush()
    child.stdin.close()
threading.Thread(target=pass_on, daemon=True).start()
os._exit(child.wait())
"""
BOTH = """workload both {
  reader = random 4KiB 100/0, qd 2, on hosts h1, h2
  writer = sequential 64KiB 0/100, region 50%..100%, on hosts h2
}
precondition filled { purge write sequential 128KiB, qd 2, 1 pass }
test "T" { after filled run both for LONG, warmup 100ms }
"""


class Shared:
    """The lab, and its device that both hosts have."""

    def __init__(self, lab: NetLab, device: Path, backing: Path, flag: Path) -> None:
        self.lab, self.device, self.backing, self.flag = lab, device, backing, flag

    def words(self, plan: Path, *more: str) -> list[str | Path]:
        said = ["run", plan, "--lab", self.lab.file, "--target", "shared"]
        return [*said, "--overwrite", self.backing, *more]

    def run(self, plan: Path, *more: str) -> subprocess.CompletedProcess[str]:
        return self.lab.coordinator.ioplan(*self.words(plan, *more))

    def last(self) -> tuple[RunRecord, RunDetail]:
        """The last run that was stored."""
        with Store.open(self.lab.coordinator.store) as store:
            session = store.session("last")
            record = list(store.records(session.id))[-1]
            return record, store.detail(session.id, record.seq)

    def is_free(self) -> bool:
        return openers(self.device.stat()) == []


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    backing, flag, engine = (folder / name for name in ("shared.img", "flag", "engine"))
    sparse(backing, 32 * MIB)
    said = {"python": sys.executable, "engine": engine_path(), "flag": flag}
    engine.write_text(ENGINE.format(**said, late_s=LATE_MS / 1000))
    engine.chmod(0o700)
    late = {"h2": {"IOPLAN_ENGINE": str(engine)}}
    with loop_device(backing) as device, netlab(folder, "h1", "h2", more=late) as lab:
        with lab.file.open("a") as file:
            file.write(
                f'both = ["shared"]\n[targets.shared]\nhosts = ["h1", "h2"]\n'
                f'backing_file = "{backing}"\nwritable = true\n'
                "cannot_see_users = true\n"  # `ip netns` makes a mount namespace
                f"[prepare]\nnomerges = 2\n"
            )
        up(lab)
        yield Shared(lab, device, backing, flag)


def plan(folder: Path, long: str = "500ms") -> Path:
    return plan_file(folder, BOTH.replace("LONG", long))


def own_results(shared: Shared, record: RunRecord) -> dict[str, Result]:
    """What each host has written down by itself."""
    hosts: dict[str, Any] = record.backend.facts["hosts"]
    return {
        host: Result.model_validate_json(Path(said["backend"]["kept"]).read_text())
        for host, said in hosts.items()
    }


def check_sums(shared: Shared, record: RunRecord, detail: RunDetail) -> None:
    """Every bin and every count is the sum of what the hosts have."""
    own = own_results(shared, record)
    assert list(own) == ["h1", "h2"]
    bins: Counter[tuple[str, str, int]] = Counter()
    ios: Counter[str] = Counter()
    for stream in (one for result in own.values() for one in result.streams):
        for direction, part in stream.directions.items():
            ios[stream.name] += part.ios
            for index, count in zip(part.bins[::2], part.bins[1::2], strict=True):
                bins[stream.name, direction, index] += count
    merged = {
        (one.stream, one.direction, index): count
        for one in detail.histograms
        for index, count in zip(one.bins[::2], one.bins[1::2], strict=True)
    }
    assert merged == dict(bins)
    assert {one.name: one.total.ios for one in record.streams} == dict(ios)
    assert sum(sum(point.ios.values()) for point in detail.series) == ios.total()
    by_host = record.backend.facts["hosts"]
    assert record.total.ios == sum(one["total"]["ios"] for one in by_host.values())
    assert all(one["streams"] for one in by_host.values())


def check_start(record: RunRecord) -> None:
    facts = record.backend.facts
    starts = {host: one["start"] for host, one in facts["hosts"].items()}
    late = [one["actual_ns"] - one["agreed_ns"] for one in starts.values()]
    assert min(late) >= 0
    assert facts["start_skew_ns"] == max(late) - min(late) < BOUND_MS * 1_000_000
    # one machine has one clock: it is off by no more than is said
    for one in starts.values():
        assert abs(one["clock_offset_ns"]) <= one["clock_uncertainty_ns"]


def check_record(shared: Shared, backend: str) -> None:
    record, detail = shared.last()
    assert (record.status, record.backend.name) == ("ok", backend)
    assert record.asked.workload.streams[0].hosts == ("h1", "h2")
    assert [one.name for one in record.streams] == ["reader", "writer"]
    check_sums(shared, record, detail)
    check_start(record)
    wait_for(shared.is_free, 30)


@pytest.mark.long
def test_two_hosts_make_one_record(shared: Shared, tmp_path: Path) -> None:
    merges = Path("/sys/block", shared.device.name, "queue/nomerges")
    before = merges.read_text()
    done = shared.run(plan(tmp_path), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"type": "purged", "done": 1.0} in said
    check_record(shared, "io_uring")
    hosts = shared.last()[0].backend.facts["hosts"]
    set = [one["machine"]["prepared"]["nomerges"]["set"] for one in hosts.values()]
    assert set == ["2", "2"] and merges.read_text() == before, "prepared, and put back"


@pytest.mark.long
@NEEDS_FIO
def test_so_do_they_with_fio_and_as_a_lane(shared: Shared, tmp_path: Path) -> None:
    """A group of shared targets is done by lanes at the coordinator."""
    words = shared.words(plan(tmp_path), "--backend", "fio")
    words[words.index("shared")] = "both"
    done = shared.lab.coordinator.ioplan(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shared: ok" in done.stdout
    check_record(shared, "fio")
    (folder,) = shared.lab.hosts["h2"].folder.glob("data/sessions/*/run-0001.fio")
    assert "exec_prerun=" in folder.read_text()
    assert not list(folder.parent.glob("*.prerun.txt"))


@pytest.mark.long
def test_a_host_that_is_late_is_seen(shared: Shared, tmp_path: Path) -> None:
    shared.flag.touch()
    try:
        done = shared.run(plan(tmp_path))
    finally:
        shared.flag.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    record, _ = shared.last()
    # the word comes before the time: so much of the lateness is not seen
    assert record.backend.facts["start_skew_ns"] > (LATE_MS - 200) * 1_000_000
    (told,) = [text for text in record.warnings if "began" in text]
    assert told.startswith("h2 began ") and " ms after h1 " in told


def engine_of(host: Place) -> list[int]:
    """The engines that do I/O there; others only look at the device."""
    pids = map(int, tell("ip", "netns", "pids", host.space).split())
    return [pid for pid in pids if words_of(pid)[:2] == ["ioplan-engine", "run"]]


def words_of(pid: int) -> list[str]:
    """A process's program and its arguments; none if it has ended."""
    try:
        program, *words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
    return [Path(program).name, *words]


@pytest.mark.long
def test_the_device_is_theirs_alone_and_then_free(
    shared: Shared, tmp_path: Path
) -> None:
    """Neither a second such session nor one host alone gets in; and when the
    coordinator is killed, nobody goes on."""
    read = 'test "R" { run random 4KiB 100/0 for 1s }'
    words = ("run", plan_file(tmp_path, read, "r.ioplan"), "--target", shared.device)
    with shared.lab.coordinator.begin(*shared.words(plan(tmp_path, "90s"))) as first:
        wait_for(lambda: engine_of(shared.lab.hosts["h2"]))
        again = shared.run(plan(tmp_path), "--json")
        alone = shared.lab.coordinator.ioplan(*words)
        assert first.poll() is None
        first.kill()
    assert again.returncode == alone.returncode == 2
    assert f"h1: {shared.device} is in use by" in again.stderr
    assert json.loads(again.stdout)["kind"] == "open-elsewhere"
    assert f"another ioplan uses {shared.device} now" in alone.stderr
    wait_for(shared.is_free, 30)


@pytest.mark.long
def test_a_host_that_fails_ends_the_run_on_all(shared: Shared, tmp_path: Path) -> None:
    h1, h2 = shared.lab.hosts.values()
    with shared.lab.coordinator.begin(*shared.words(plan(tmp_path, "60s"))) as client:
        wait_for(lambda: engine_of(h1) and engine_of(h2))
        time.sleep(1)
        for pid in engine_of(h2):
            os.kill(pid, signal.SIGKILL)
        said, _ = client.communicate(timeout=60)
    assert client.returncode == 3
    assert "h2: the engine was ended by signal 9" in " ".join(said.split())
    record, _ = shared.last()
    assert record.status == "failed"
    assert record.message.startswith("h2: ")
    assert record.message.endswith("the other hosts were stopped")
    wait_for(shared.is_free, 30)


@pytest.mark.long
@pytest.mark.promise("labs.cut_link")
def test_no_io_goes_on_behind_a_cut_link(shared: Shared, tmp_path: Path) -> None:
    h2 = shared.lab.hosts["h2"]
    with shared.lab.coordinator.begin(*shared.words(plan(tmp_path, "60s"))) as client:
        wait_for(lambda: engine_of(h2) or client.poll() is not None)
        assert client.poll() is None, client.communicate()[0]
        shared.lab.cut("h2")
        try:
            said, _ = client.communicate(timeout=60)
            wait_for(lambda: not engine_of(h2), 30)
        finally:
            shared.lab.mend("h2")
    assert client.returncode == 3
    assert "h2: it is lost" in " ".join(said.split())
    wait_for(shared.is_free, 30)


SEEKS = """test "Yes" {
  run  random 4KiB 100/0, on hosts h1, h2 for 200ms
  seek highest qd in 1..2 where max < 100s, confirm 300ms
}
test "No" {
  run  random 4KiB 100/0, on hosts h1, h2 for 10s
  seek highest qd in 1..2 where max < 1us
}
"""


@pytest.mark.long
def test_a_seek_of_several_hosts_has_one_answer(shared: Shared, tmp_path: Path) -> None:
    """A probe that is decided ends on both hosts."""
    done = shared.run(plan_file(tmp_path, SEEKS))
    assert done.returncode == 1, done.stderr  # one found nothing
    with Store.open(shared.lab.coordinator.store) as store:
        records = list(store.records(store.session("last").id))
    found = {r.asked.test: r.found.value for r in records if r.found}
    assert found == {"Yes": 2, "No": None}
    lost = [r for r in records if r.asked.test == "No" and r.asked.seek]
    assert lost and all(r.run_s < 5 for r in lost)
    assert all(
        [*r.backend.facts["hosts"]] == ["h1", "h2"] for r in records if r.streams
    )
