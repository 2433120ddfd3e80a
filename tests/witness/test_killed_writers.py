"""A process of ours dies in the midst of writes, and then the power is cut.

What was promised is in a file that both processes may lose at any moment: no honest
cache is accused by it, and a lying one is still found.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file
from started import Started, ends, started

from ioplan.results.store import Store
from ioplan_witness import Device, seen
from targets import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.long]
Starts = Callable[..., Device]
READ = "run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass"
WRITES = f"""test "W" {{
  run random 4KiB 0/100, qd 4, region 0%..50%, flush every 16, verify for 48MiB
  {READ}
}}
"""
READS = f'test "R" {{ {READ} }}\n'
WRONG = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
BEGUN, ALL = 1000, (48 << 20) // 4096
WITHIN_S = 60


@pytest.fixture
def writer(device: Starts, tmp_path: Path) -> Iterator[Callable[[Device], Started]]:
    """Starts the writes."""
    with ExitStack() as stack:

        def begin(one: Device) -> Started:
            target = ("--target", one.disk, "--overwrite", one.disk)
            plan, store = plan_file(tmp_path, WRITES), ("--store", tmp_path / "store")
            made = stack.enter_context(started(plan, *target, *store))
            wait_for(lambda: written(one) >= BEGUN, WITHIN_S)
            return made

        yield begin


def written(one: Device) -> int:
    """How many writes have arrived."""
    return int((seen(one)["kind"] == 1).sum())


def kill_engine(session: Started) -> None:
    engine = session.backend
    os.kill(engine, signal.SIGKILL)
    assert ends(engine, WITHIN_S)


def kill_ioplan(session: Started) -> None:
    """The engine is told by the kernel, and dies as well."""
    engine = session.backend
    session.process.kill()
    assert ends(engine, WITHIN_S)


def engine_ends_alone(session: Started) -> None:
    """ioplan is not at work any more when the engine ends, and hears of nothing."""
    engine = session.backend
    session.process.send_signal(signal.SIGSTOP)
    assert ends(engine, WITHIN_S)
    session.process.kill()


DEATHS = {
    "the engine": kill_engine,
    "ioplan": kill_ioplan,
    "ioplan, after the engine has ended": engine_ends_alone,
}


def judged(one: Device, folder: Path) -> dict[str, Any]:
    plan = plan_file(folder, READS, "reads.ioplan")
    target = ("--target", one.disk, "--json", "--store", folder / "store")
    return dict(ioplan("run", plan, *target).record["backend"]["facts"]["verify"])


def resumed(one: Device, folder: Path) -> Done:
    """The session of the writes goes on."""
    more = ("--overwrite-data", one.disk, "--store", folder / "store", "--json")
    with Store.open(folder / "store") as store:
        first = min(known.id for known in store.sessions())
    return ioplan("resume", first, *more)


@pytest.mark.parametrize("mode", ["volatile", "lying"])
@pytest.mark.parametrize("name", DEATHS)
def test_no_promise_is_lost_with_the_process_that_noted_it(
    name: str,
    mode: str,
    device: Starts,
    writer: Callable[[Device], Started],
    tmp_path: Path,
) -> None:
    one = device(cache={"mode": mode})
    DEATHS[name](writer(one))
    whole = "ended" in name
    assert (written(one) == ALL) is whole, "it was killed in the midst of its writes"
    assert ioplan("device", "cut", one.folder).code == 0
    found = judged(one, tmp_path)
    assert (found["lost_flushed"] > 0) is (mode == "lying"), found
    assert found["kept"] + found["rolled_back"] + found["lost_flushed"] > 0, found
    assert not any(found[kind] for kind in WRONG), found
    done = resumed(one, tmp_path)
    assert done.code == 0, done.err
    read = done.records[-1]["backend"]["facts"]["verify"]
    assert read["verified"] > 0 and not any(read[kind] for kind in WRONG), read
