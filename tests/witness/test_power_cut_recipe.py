"""The recipe of docs/durability.md, as it is printed: the suite on a test device."""

import os
import re
import shlex
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed
from started import ends, started

from ioplan.results.store import Store
from ioplan_witness import seen
from targets import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.long]
PAGE = Path(__file__).parents[2] / "docs" / "durability.md"


def printed(name, folder):
    """A file that the page shows, with its device in a folder of the test."""
    found = re.search(rf"```toml\n(# {name}: .*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"the page shows no {name}"
    return found[1].replace("/tmp/toy", f"{folder}/toy")


def command_of(text):
    """The command in the comment that a file begins with."""
    lines = [one for one in text.splitlines() if one.startswith("#")]
    told = " ".join(line.strip("# \\") for line in lines)
    return shlex.split(told.partition(": ioplan ")[2])


@pytest.fixture(autouse=True)
def toy(tmp_path, can_mount, monkeypatch):
    """The test's folder is the current one; its device is stopped whatever happens."""
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    yield
    ioplan("device", "stop", tmp_path / "toy")


def recipe(folder, cache, *more):
    """With another cache than `mode = "lying"`, and more words of the run."""
    device, lab = printed("cache.toml", folder), printed("lab.toml", folder)
    (folder / "cache.toml").write_text(device.replace('mode = "lying"', cache))
    (folder / "lab.toml").write_text(lab)
    assert ioplan(*command_of(device)).code == 0
    return ioplan(*command_of(lab), *more)


@pytest.mark.promise("durability.bound")
def test_a_cache_that_keeps_its_promises_passes(tmp_path):
    done = recipe(tmp_path, 'mode = "volatile"')
    assert done.code == 0, done.err
    assert "all 10 expectations passed" in done.out
    shown = succeed("show", "--tables").out
    assert shown.count("no promise was broken by 3 power cuts") == 4
    told, _, headlines = " ".join(shown.split()).partition(" Headlines")
    zero = "0 in 3 cuts: at most 63 % with 95 % confidence"
    assert told.count(f"expect after.torn == 0 ({zero})") == 4
    assert headlines.count(zero) == 4


def test_a_lying_cache_fails_with_what_it_lost(tmp_path):
    done = recipe(tmp_path, 'mode = "lying"')
    assert done.code == 3, done.out
    assert "a promise was broken by 1 of 1 power cut" in done.out
    assert "were flushed, and a power cut took them back" in done.err


REORDERED = 'mode = "volatile"\nreordered = true'


@pytest.mark.parametrize("honest", [True, False])
def test_what_outlives_its_entry_of_the_log_is_found(honest, tmp_path):
    cache = REORDERED if honest else f"{REORDERED}\nfua_ignored = true"
    done = recipe(tmp_path, cache, "--test", "G4*")
    assert done.code == (0 if honest else 3), done.out
    told = " ".join(succeed("show", "--tables").out.split())
    zero = "passed: expect after.overtaken == 0 (0 in 3 cuts: at most 63 %"
    lost = "entries of a log were lost though writes that follow it survived"
    assert (zero if honest else lost) in told
    assert (lost if honest else zero) not in told


# a process of ours dies in the midst of writes, and then the power is cut

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
def writer(device, tmp_path):
    """Starts the writes."""
    with ExitStack() as stack:

        def begin(one):
            target = ("--target", one.disk, "--overwrite", one.disk)
            plan, store = plan_file(tmp_path, WRITES), ("--store", tmp_path / "store")
            made = stack.enter_context(started(plan, *target, *store))
            wait_for(lambda: written(one) >= BEGUN, WITHIN_S)
            return made

        yield begin


def written(one):
    """How many writes have arrived."""
    return int((seen(one)["kind"] == 1).sum())


def kill_engine(session):
    engine = session.backend
    os.kill(engine, signal.SIGKILL)
    assert ends(engine, WITHIN_S)


def kill_ioplan(session):
    """The engine is told by the kernel, and dies as well."""
    engine = session.backend
    session.process.kill()
    assert ends(engine, WITHIN_S)


def engine_ends_alone(session):
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


def judged(one, folder):
    plan = plan_file(folder, READS, "reads.ioplan")
    target = ("--target", one.disk, "--json", "--store", folder / "store")
    return dict(ioplan("run", plan, *target).record["backend"]["facts"]["verify"])


def resumed(one, folder):
    """The session of the writes goes on."""
    more = ("--overwrite-data", one.disk, "--store", folder / "store", "--json")
    with Store.open(folder / "store") as store:
        first = min(known.id for known in store.sessions())
    return ioplan("resume", first, *more)


@pytest.mark.parametrize("mode", ["volatile", "lying"])
@pytest.mark.parametrize("name", DEATHS)
def test_no_promise_is_lost_with_the_process_that_noted_it(
    name, mode, device, writer, tmp_path
):
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
