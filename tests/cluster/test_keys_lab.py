"""A scheduler and a worker in processes of their own, and who tries what on them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed.comm import connect
from distributed.versions import get_versions
from netlab import wait_for
from refused import refused

from ioplan import ClusterFault
from ioplan.runner import Lab, read_lab
from ioplan_lab import PROGRAMS
from ioplan_lab.cluster.hosts import lifecycle, servers
from ioplan_lab.cluster.hosts.lifecycle import renew_own_keys, why_unseen
from ioplan_lab.cluster.hosts.service import HELD, LOG_BYTES, Service
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.dask_security import LabSecurity
from ioplan_lab.cluster.keys.enrolment import enrol
from ioplan_lab.cluster.keys.handshake import Handshake, shake_hands
from ioplan_lab.cluster.keys.identity import Identity

pytestmark = [pytest.mark.slow, pytest.mark.long]
"""A lab is up for all of them, which takes half a minute."""
HERE = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HERE, 0)) as server:
        return int(server.getsockname()[1])


class Desk:
    """A lab of one host; desk and host are folders for keys."""

    def __init__(self, folder: Path, host: Path, worker_port: int) -> None:
        self.folder, self.host = folder, host
        self.address = f"tls://{HERE}:{free_port()}"
        self.worker = f"tls://{HERE}:{worker_port}"
        reach = json.dumps(["env", f"XDG_STATE_HOME={host}"])
        text = f'scheduler = "{self.address}"\n[hosts.h1]\naddress = "{HERE}"\n'
        text += f'worker_port = {worker_port}\npython = "{sys.executable}"\n'
        folder.mkdir()
        (folder / "lab.toml").write_text(f"{text}reach = {reach}\n")

    @property
    def lab(self) -> Lab:
        return read_lab(self.folder / "lab.toml")

    def up(self) -> lifecycle.Faults:
        return lifecycle.up(self.lab, PROGRAMS, print)

    def says(self, service: str) -> Handshake:
        """What the scheduler or the worker says to this desk."""
        at = {"scheduler": self.address, "worker": self.worker}[service]
        return shake_hands(at, Identity("desk"))

    def serial(self, service: str) -> str:
        found = self.says(service).peer
        return found.serial if found else ""

    def as_host(self) -> Identity:
        """The host's own keys, as whoever steals them has them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.host))
            return Identity("host")

    def pid(self, service: str) -> int:
        at = {"scheduler": self.folder, "worker": self.host}[service]
        return int((at / f"ioplan/{service}.lock").read_text())

    def log(self, service: str) -> str:
        at = {"scheduler": self.folder, "worker": self.host}[service]
        return (at / f"ioplan/{service}.log").read_text()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "desk"))
        desk = Desk(folder / "desk", folder / "host", free_port())
        try:
            assert desk.up() == {}
            yield desk
        finally:
            lifecycle.down(desk.lab, PROGRAMS, print)


@pytest.fixture
def desk(made: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_STATE_HOME", str(made.folder))
    return made


def test_no_port_is_random(desk: Desk) -> None:
    for service, address in (("scheduler", desk.address), ("worker", desk.worker)):
        held = psutil.Process(desk.pid(service)).net_connections()
        ports = [one.laddr.port for one in held if one.status == psutil.CONN_LISTEN]
        assert ports == [int(address.rpartition(":")[2])]


async def asked(
    address: str, identity: Identity, *messages: dict[str, Any]
) -> list[Any]:
    """The answers to each of them, of a connection of its own. Raises OSError."""
    arguments = LabSecurity(identity).get_connection_args("worker")
    comms, answers = [], []
    for message in messages:
        comms.append(await connect(address, timeout=5, **arguments))
        await comms[-1].write(message)
        answers.append(await asyncio.wait_for(comms[-1].read(), 5))
    for comm in comms:
        comm.abort()
    return answers


@pytest.mark.promise("labs.keys")
def test_the_key_of_a_host_is_no_clients(desk: Desk) -> None:
    for message in (
        {"op": "identity"},
        {"op": "register-client", "client": "c", "versions": {}},
        {"op": "broadcast", "msg": {"op": "identity"}},
    ):
        with pytest.raises(OSError, match="losed"):
            asyncio.run(asked(desk.address, desk.as_host(), message))
    (answer,) = asyncio.run(asked(desk.address, Identity("desk"), {"op": "identity"}))
    assert answer["type"] == "LabScheduler", "the desk may"


def registration(name: str, address: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"address": address, "name": name, "status": "running"}
    facts |= {"server_id": address, "nthreads": 1, "now": time.time(), "resources": {}}
    speed: dict[str, Any] = {"total": 1, "workers": {}, "types": {}}
    metrics = {"bandwidth": speed, "digests_total_since_heartbeat": {}, "memory": 0}
    metrics |= {"spilled_bytes": {"memory": 0, "disk": 0}, "managed_bytes": 0}
    facts |= {"memory_limit": 0, "metrics": metrics, "services": {}}
    facts |= {"versions": get_versions()}
    facts |= {"local_directory": "", "nanny": None, "extra": {}, "stimulus_id": "s"}
    return {"op": "register-worker", "reply": False} | facts


@pytest.mark.promise("labs.keys")
def test_a_host_registers_under_its_own_name(desk: Desk) -> None:
    other = registration("h2", f"tls://{HERE}:1")
    with pytest.raises(OSError, match="losed"):
        asyncio.run(asked(desk.address, desk.as_host(), other))
    assert "the host h1 calls itself 'h2'" in desk.log("scheduler")


def test_a_host_that_is_back_is_taken_for_what_it_is(desk: Desk) -> None:
    """Before it is known that its old connection is lost."""
    h9 = Identity("h9")
    h9.save(Authority.open().issue("h9", "host", [HERE]))
    again = registration("h9", f"tls://{HERE}:2")
    answers = asyncio.run(asked(desk.address, h9, again, again))
    assert [one["status"] for one in answers] == ["OK", "OK"]


def test_another_desk_does_not_get_the_host(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.serial("worker")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Authority.open_or_make().equip("desk")
    said = r"h1 belongs to another desk.*`ioplan lab keys take-over h1`"
    with refused(ClusterFault.OTHER_DESK, said):
        enrol("h1", desk.lab.hosts["h1"], PROGRAMS)
    assert desk.says("worker").is_refused, "as the other desk"
    monkeypatch.setenv("XDG_STATE_HOME", str(desk.folder))
    assert desk.says("worker").accepted and desk.serial("worker") == before


def test_a_worker_with_new_keys_starts_anew(desk: Desk) -> None:
    before, pid = desk.serial("worker"), desk.pid("worker")
    made = enrol("h1", desk.lab.hosts["h1"], PROGRAMS, renew=True)
    wait_for(lambda: desk.serial("worker") == made.issued.serial)
    assert made.issued.serial != before
    assert desk.pid("worker") == pid, "it is the same service"


def test_who_is_revoked_is_refused_from_then_on(desk: Desk) -> None:
    assert shake_hands(desk.address, desk.as_host()).accepted
    Authority.open().revoke("h1")
    renew_own_keys(desk.address, PROGRAMS, print)
    assert "it is revoked" in shake_hands(desk.address, desk.as_host()).reason
    wait_for(lambda: "it is revoked; waiting" in desk.log("worker"))
    host = desk.lab.hosts["h1"]
    told = why_unseen("h1", host, desk.address, PROGRAMS)
    assert told.kind == ClusterFault.KEYS_REFUSED
    assert "refuses this certificate: it is revoked" in str(told)
    made = enrol("h1", host, PROGRAMS, renew=True)
    wait_for(lambda: desk.serial("worker") == made.issued.serial)


def test_a_second_service_waits_for_the_end_of_the_first(desk: Desk) -> None:
    """As when systemd starts a unit where `lab up` has started the scheduler."""
    words = [sys.executable, "-m", "ioplan.cli", "lab", "scheduler"]
    words += ["--at", desk.address]
    first = desk.pid("scheduler")
    other = os.environ | {HELD: "0"}  # the number of some other file
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=other
    ) as second:
        assert second.stdout
        assert "runs here already" in second.stdout.readline()
        assert desk.pid("scheduler") == first
        os.kill(first, 9)
        wait_for(lambda: desk.pid("scheduler") == second.pid)
        wait_for(lambda: desk.says("scheduler").accepted)
        assert Service("scheduler").stop()


# ---- what a worker that is refused writes


def test_a_refusal_is_said_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tries: list[str] = []

    def refuse(address: str, identity: Identity) -> Handshake:
        tries.append(address)
        if len(tries) == 5:
            identity.save(identity.texts())
        return Handshake(None, "no", is_refused=True)

    monkeypatch.setattr(servers, "shake_hands", refuse)
    for name in ("RESTART_S", "MAX_WAIT_S", "LOOK_S"):
        monkeypatch.setattr(servers, name, 0.01)
    asyncio.run(servers._reach("tls://x:1", desk.as_host()))
    assert len(tries) == 5
    assert capsys.readouterr().out == "the scheduler tls://x:1: no; waiting\n"


def test_a_worker_without_keys_waits_for_them(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = desk.as_host().texts()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(servers, "LOOK_S", 0.01)

    async def both() -> None:
        once = servers._run_worker_once("h1", desk.address, HERE, 1, PROGRAMS)
        waiting = asyncio.create_task(once)
        await asyncio.sleep(0)
        assert "has no keys yet" in capsys.readouterr().out
        Identity("host").save(texts)
        await asyncio.wait_for(waiting, 10)

    asyncio.run(both())


FLOOD = """
import sys
from ioplan_lab.cluster.hosts.service import Service
service = Service("worker")
for number in range(50_000):
    print(f"refused, {number:090}", file=sys.stderr)
    service.bound_log()
"""


def test_a_log_does_not_fill_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = Service("worker").log
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", FLOOD], stderr=file, check=True)
    kept = [log, log.with_name("worker.log.1")]
    assert sorted(log.parent.glob("worker.log*")) == kept
    assert sum(one.stat().st_size for one in kept) < 2 * (LOG_BYTES + 1000)
    assert log.read_text().endswith(f"{49_999:090}\n")
