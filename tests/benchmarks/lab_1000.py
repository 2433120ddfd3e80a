"""What a lab of 1,000 drives on 100 hosts costs: `python tests/benchmarks/lab_1000.py`.

The scheduler is the real one, in a process of its own, and so are the client and its
calls. The 100 workers share a process, and their lanes take no time of a CPU: they
tell states as real lanes do. One session of the sim backend is run for real, and is
copied 1,000 times into the stores, pushed, listed and reported.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from command import ioplan
from postgres import postgres

from ioplan.cli.inputs import checked_plan
from ioplan.records.run_request import RunRequest
from ioplan.results.store.push import push
from ioplan.results.store.store import Store
from ioplan_lab.cluster.hosts import dask_client
from ioplan_lab.cluster.hosts.dask_client import DaskClient
from ioplan_lab.cluster.hosts.servers import MAX_LANES, SETTINGS, LabWorker
from ioplan_lab.cluster.hosts.servers import resource as resource_of
from ioplan_lab.cluster.hosts.worker_api import versions
from ioplan_lab.cluster.jobs.dispatch import new_job
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState, initial_state
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.dask_security import security_for
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.programs import PROGRAMS

HOSTS, DRIVES, PORT = 100, 10, 28786
ADDRESS = f"tls://127.0.0.1:{PORT}"
PLAN = Path(__file__).parents[2] / "examples/demo.ioplan"
LANE_S = 60.0
STATES: dict[str, dict[str, LaneState]] = {}
"""By host, then by session."""


async def lane(call_json: str, _: str) -> None:
    """Tells a state twice a second, as a lane's process does."""
    call = LaneCall.model_validate_json(call_json)
    begun_s, states = time.monotonic(), STATES.setdefault(call.host, {})
    while (spent_s := time.monotonic() - begun_s) < LANE_S:
        states[call.session] = _state(call, "running", spent_s / LANE_S)
        await asyncio.sleep(1)
    states[call.session] = _state(call, "ok", 1.0)


def _state(call: LaneCall, status: str, done: float) -> LaneState:
    change = {"status": status, "done": done, "iops": 412345.6, "p99_ns": 98765.4}
    step = {"step": "7  random 4KiB reads, qd=16", "left_s": 60.0, "at_s": time.time()}
    return initial_state(call).model_copy(update=change | step)


async def workers() -> None:
    import dask

    with dask.config.set(SETTINGS):
        made = []
        for name in (f"h{n:03}" for n in range(HOSTS)):
            here = Identity(name)
            here.save(Authority.open().issue(name, "host", ["127.0.0.1"]))
            keys = security_for(ADDRESS, here)
            made.append(LabWorker(ADDRESS, security=keys, **_options(name)))
        await asyncio.gather(*made)
        await made[0].finished()


def _options(name: str) -> dict[str, Any]:
    def lanes(_: Any) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json") for one in STATES.get(name, {}).values()]

    return {
        "name": name,
        "nthreads": MAX_LANES,
        "resources": {resource_of(name): MAX_LANES},
        "metrics": {"lanes": lanes, "versions": lambda _: versions()},
        "memory_limit": 0,
        "dashboard": False,
    }


def lab_text() -> str:
    lines = [f'scheduler = "{ADDRESS}"', 'backend = "sim"']
    for host in range(HOSTS):
        lines.append(f"[hosts.h{host:03}]")
        for drive in range(DRIVES):
            name = f"h{host:03}-{drive}"
            lines += [f"[targets.{name}]", f'host = "h{host:03}"', f'serial = "{name}"']
    return "\n".join([*lines, "[groups]", 'all = ["*"]', ""])


@contextmanager
def timed(what: str) -> Iterator[None]:
    begun_s = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - begun_s:.2f} s", flush=True)


def _as_asked(target: str) -> RunRequest:
    return RunRequest()


def dispatch(folder: Path) -> None:
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    authority = Authority.open_or_make()
    authority.equip("desk")
    authority.equip("scheduler", ["127.0.0.1"])
    lab = folder / "lab.toml"
    lab.write_text(lab_text())
    words = [sys.executable, "-m", "ioplan.cli", "lab", "scheduler", "--at", ADDRESS]
    # the scheduler reads what lanes are, so it must find this file too
    path = os.pathsep.join(
        [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]
    )
    known = os.environ | {"PYTHONPATH": path}
    with (
        subprocess.Popen(words, stderr=subprocess.DEVNULL, env=known) as scheduler,
        ExitStack() as stack,
    ):
        stack.callback(scheduler.kill)
        watched = psutil.Process(scheduler.pid)
        while not shake_hands(ADDRESS, Identity("desk")).accepted:
            time.sleep(1)
        threading.Thread(target=lambda: asyncio.run(workers()), daemon=True).start()
        dask_client.run_lane = lane  # type: ignore[assignment]
        client = DaskClient(ADDRESS, PROGRAMS)
        while len(client.hosts()) < HOSTS:
            time.sleep(1)
        empty = watched.memory_info().rss
        print(f"scheduler with {HOSTS} workers: {empty / 2**20:.0f} MiB")
        with timed("reading the lab, and a job of 1,000 lanes"):
            job = new_job(
                checked_plan(PLAN, []), lab, ["all"], _as_asked, folder / "r.db"
            )
        with timed("checking the hosts"):
            assert not client.unready(job.calls)
        with timed("dispatching 1,000 lanes"):
            client.start(job.calls)
        looks: list[float] = []
        before, begun_s = watched.cpu_times(), time.monotonic()
        while True:
            at_s = time.perf_counter()
            states = client.states(job.calls)
            looks.append(time.perf_counter() - at_s)
            ended = sum(state.ended for state in states.values())
            assert not [one for one in states.values() if one.status == "refused"]
            if ended == len(job.calls):
                break
            time.sleep(1)
        after, spent_s = watched.cpu_times(), time.monotonic() - begun_s
        used_s = after.user + after.system - before.user - before.system
        full = watched.memory_info().rss
        print(f"all ended after {spent_s:.0f} s, of which lanes take {LANE_S:.0f} s")
        print(f"scheduler: {full / 2**20:.0f} MiB, {used_s / spent_s:.0%} of a CPU")
        print(f"a look at all lanes: {sorted(looks)[len(looks) // 2]:.2f} s (median)")
        client.close()


def results(folder: Path) -> None:
    os.environ["IOPLAN_STORE"] = str(folder / "results.db")
    done = ioplan("run", PLAN, "--backend", "sim", "--create", "1GiB")
    assert done.code == 0, done.err
    with Store.open(folder / "results.db") as one, Store.open(folder / "all.db") as all:
        session = one.session("last")
        runs = [(r, one.detail(session.id, r.seq)) for r in one.records(session.id)]
        with timed(f"1,000 sessions of {len(runs)} runs into an SQLite file"):
            for number in range(HOSTS * DRIVES):
                id = f"20261121-000000-job-{number:04}"
                all.begin(session.model_copy(update={"id": id, "target": f"d{number}"}))
                for record, detail in runs:
                    all.add(record.model_copy(update={"session": id}), detail)
                all.finish(id, "ok", session.ended_at or "")
        size = (folder / "all.db").stat().st_size
        print(f"SQLite: {size / 2**20:.0f} MiB, {size / 1000 / len(runs):.0f} B a run")
        with postgres() as address:
            shared(all, address, len(runs))


def shared(all: Store, address: str, runs: int) -> None:
    import psycopg

    with Store.at(address) as there:
        with timed("pushing all of it to PostgreSQL"):
            list(push(all, there))
        with timed("pushing again, with nothing new"):
            assert list(push(all, there)) == []
        with psycopg.connect(address) as connection:
            row = connection.execute("SELECT pg_database_size('postgres')").fetchone()
        assert row
        print(f"PostgreSQL: {row[0] / 2**20:.0f} MiB")
        ids = [one.id for one in there.sessions()]
    with timed("ioplan ls"):
        assert ioplan("ls", "--store", address).code == 0
    for some in (10, 100, 1000):
        with tempfile.TemporaryDirectory() as out, timed(f"a report of {some} drives"):
            page = Path(out) / "r.html"
            done = ioplan("report", *ids[:some], "--store", address, "-o", page)
            assert done.code == 0, done.err
            print(f"  {page.stat().st_size / 2**20:.1f} MiB")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        dispatch(Path(name))
        results(Path(name))


if __name__ == "__main__":
    # what is pickled out of __main__ would be copied, STATES and all
    import lab_1000

    lab_1000.main()
