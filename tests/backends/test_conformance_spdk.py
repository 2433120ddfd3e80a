"""SPDK under the kit's checks, over recorded and real runs, and over a network."""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from spdk_jobs import LEFT_OUT, MALLOC, events, job, opened, real, stand_in

from ioplan import Cause
from ioplan.backends import TargetRequest
from ioplan.job import SECOND_NS, Event, Failure, Progress, Result, Started
from ioplan.runner.guard import TargetError
from ioplan_spdk import SpdkBackend
from ioplan_testing import Conformance, Times, check_consistent

REPLAYS = {
    "rpc/N_nonroot_nohuge": job(),
    "rpc/O_mix_one_layer": job(
        read_percent=70, run_ns=3 * SECOND_NS, read_only=False, interval_ns=50_000_000
    ),
}
CROWDED = r"^the results are inconsistent: more I/Os than fit .* s(\n|$)"
"""The second has fewer answers on counters than are asked for here, so that the last one
has the I/Os of several intervals: that, and nothing else, is wrong."""


@pytest.mark.slow
@pytest.mark.parametrize("transcript", REPLAYS)
def test_the_checks_of_the_kit_hold_on_a_replay(transcript, tmp_path):
    """Order, sums, histograms against means and counts; the job is the recorded one."""
    asked = REPLAYS[transcript]
    # At 0.1 s it is looked at, on busy machines, too.
    found = events(opened(stand_in(tmp_path, transcript, speed=8)), asked)
    first, *middle, last = found
    assert isinstance(first, Started) and isinstance(last, Result) and last.run_ns > 0
    assert all(isinstance(one, Progress) for one in middle)
    if "mix" not in transcript:
        check_consistent(found, asked)
        return
    with pytest.raises(AssertionError, match=CROWDED) as raised:
        check_consistent(found, asked)
    assert ";" not in str(raised.value).splitlines()[0]


@pytest.mark.slow
@pytest.mark.skipif(real() is None, reason=LEFT_OUT)
class TestBdevperf(Conformance):
    """The whole kit over bdevperf itself, on memory and without hugepages."""

    times = Times(run_ns=SECOND_NS, warmup_ns=SECOND_NS, interval_ns=SECOND_NS // 10)

    def backend(self):
        return SpdkBackend()

    def request(self, folder):
        options = {"path": str(real()), "driver": "bdevperf", "no_huge": True}
        return TargetRequest(path=MALLOC, writes=True, options=options)


class TestBdevperfOnFile(TestBdevperf):
    """On a file, whose content can be compared, and which can be damaged."""

    def request(self, folder):
        asked = super().request(folder)
        path = str(folder / "scratch.bin")
        return asked.model_copy(update={"path": path, "create_bytes": 8 << 20})


class TestPluginOnFile(TestBdevperfOnFile):
    """SPDK's plugin in fio, which does what bdevperf cannot say."""

    times = Conformance.times
    # Between two I/Os fio itself works, and here that takes as long as the I/O.
    queue_depth_tolerance = 0.3

    def request(self, folder):
        asked = super().request(folder)
        return asked.model_copy(update={"options": {"driver": "fio", "no_huge": True}})


class TestEitherOnFile(TestPluginOnFile):
    """The program that each run needs, as it comes."""

    def request(self, folder):
        asked = super().request(folder)
        return asked.model_copy(update={"options": {"no_huge": True}})


# a target over NVMe/TCP: there, never there, another one, and gone during a run

NQN = "nqn.2016-06.io.spdk:cnode1"
FABRIC = f"nvme:tcp:127.0.0.1:4420:{NQN}"
TOLD = {
    "fabric_wrong_nqn": f"answers, and has no subsystem {NQN}",
    "fabric_no_host": "Name or service not known",
    "bdevperf_nvme_no_target": "Connection refused",
    "target_dies_bdevperf_nvme_default": "does not answer any more",
}
NOT_LET_IN = "Connect command completed with error: sct 1, sc 132"


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD)
def test_a_dead_target_is_called_that(name, tmp_path):
    with pytest.raises(TargetError) as refused:
        opened(stand_in(tmp_path, f"err/{name}", "start"), FABRIC)
    assert TOLD[name] in str(refused.value)


@pytest.mark.slow
def test_a_host_that_is_not_let_in_is_told(tmp_path):
    program = tmp_path / "bdevperf"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo SPDK v24.09.1-pre && exit\n'
        f"echo '{NOT_LET_IN}' >&2; exit 1\n"
    )
    program.chmod(0o755)
    with pytest.raises(TargetError, match=NQN) as refused:
        opened(program, FABRIC)
    assert "host" in str(refused.value)


def nvmf_tgt():
    """SPDK's own target, beside a bdevperf that was built with it."""
    program = real()
    found = program and program.parents[1] / "bin" / "nvmf_tgt"
    return found if found and found.is_file() else None


@contextmanager
def served(folder):
    """64 MiB of memory over NVMe/TCP: its port on the loopback, and who serves it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    path = folder / "rpc"
    words = ["--no-huge", "-s", "512", "-m", "0x1", "-u", "-r", str(path)]
    with (folder / "target.log").open("wb") as log:
        process = subprocess.Popen(
            [str(nvmf_tgt()), *words, "--disable-cpumask-locks"], stdout=log, stderr=log
        )
    try:
        with _connected(path) as client:
            for number, (method, params) in enumerate(_subsystem(port)):
                call = {"jsonrpc": "2.0", "id": number, "method": method}
                client.sendall(json.dumps({**call, "params": params}).encode())
                assert "error" not in json.loads(client.recv(1 << 16))
            yield port, process.pid
    finally:
        process.kill()
        process.wait()


def _connected(path):
    client, deadline = socket.socket(socket.AF_UNIX), time.monotonic() + 20
    while client.connect_ex(str(path)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return client


def _subsystem(port):
    yield "nvmf_create_transport", {"trtype": "TCP"}
    memory = {"name": "M0", "num_blocks": 131072, "block_size": 512}
    yield "bdev_malloc_create", memory
    known = {"nqn": NQN, "allow_any_host": True, "serial_number": "S1"}
    yield "nvmf_create_subsystem", known
    yield "nvmf_subsystem_add_ns", {"nqn": NQN, "namespace": {"bdev_name": "M0"}}
    address = {"trtype": "TCP", "adrfam": "IPv4", "traddr": "127.0.0.1"}
    listener = {"nqn": NQN, "listen_address": {**address, "trsvcid": port}}
    yield "nvmf_subsystem_add_listener", listener


def run_of(path, driver, killed=None):
    """A run of two seconds, in which the target may be killed."""
    options = {"no_huge": True, "driver": driver}
    drive = SpdkBackend().open(TargetRequest(path=path, options=options))
    asked = job(path, drive.facts.capacity_bytes, run_ns=2 * SECOND_NS, read_only=True)
    asked = asked.model_copy(update={"interval_ns": SECOND_NS // 10})
    found: list[Event] = []
    with drive.start(asked) as execution:
        for event in execution:
            found.append(event)
            if killed and isinstance(event, Progress):
                os.kill(killed, signal.SIGKILL)
                killed = None
    drive.close()
    return found


@pytest.mark.slow
@pytest.mark.skipif(nvmf_tgt() is None, reason=LEFT_OUT)
def test_a_real_target(tmp_path):
    asks = TargetRequest(path="", options={"no_huge": True})

    def refused(path):
        with pytest.raises(TargetError) as caught:
            SpdkBackend().open(asks.model_copy(update={"path": path}))
        return str(caught.value)

    plugin = SpdkBackend().availability({"no_huge": True, "driver": "fio"})
    drivers = ("bdevperf", "fio") if plugin.usable else ("bdevperf",)
    for driver in drivers:
        with served(tmp_path) as (port, pid):
            path = f"nvme:tcp:127.0.0.1:{port}:{NQN}"
            assert isinstance(run_of(path, driver)[-1], Result)
            if driver == "bdevperf":
                assert f"has no subsystem {NQN}9" in refused(f"{path}9")
                assert "it has no namespace 2" in refused(f"{path}/2")
            last = run_of(path, driver, killed=pid)[-1]
            assert isinstance(last, Failure) and last.cause == Cause.TARGET_LOST, last
            assert "does not answer any more" in last.message
    assert f"no NVMe target answers at 127.0.0.1:{port}" in refused(path)
