"""Events of the lab within a run: made, marked, refused, and never left half done."""

import csv
import json
import shlex
import sys
import time

import pytest
from calm import needs_idle_cpu
from command import ioplan, plan_file, refuse

from ioplan.results.store import Store
from targets import server_of

pytestmark = pytest.mark.slow

PLAN = """
test "Path" {{
  run random 4KiB 100/0, qd 4{clauses} for {length}
  chart lines iops over time
  {expect}
}}
"""
DOWN_UP = ', event "path down" at 400ms, event "path up" at 900ms'


def shell(text):
    return ["sh", "-c", text]


def lab_of(folder, **events):
    """A lab with events; `_` in a name is a space."""
    lab = folder / "lab.toml"
    tables = []
    for name, entry in events.items():
        whole = entry if isinstance(entry, dict) else {"command": entry}
        lines = (f"{key} = {json.dumps(value)}" for key, value in whole.items())
        tables.append(f'[events."{name.replace("_", " ")}"]\n' + "\n".join(lines))
    lab.write_text("\n".join(tables) + "\n")
    return lab


def run(folder, clauses, *more, length="1500ms", expect="", **events):
    """A run on a new scratch file, or on the target that `more` names."""
    text = PLAN.format(clauses=clauses, length=length, expect=expect)
    plan = plan_file(folder, text)
    target = more or ("--target", folder / "scratch", "--create", "16MiB")
    lab, store = lab_of(folder, **events), folder / "store"
    words = ("--lab", lab, "--store", store, "--json", "--interval", "100ms")
    return ioplan("run", plan, *target, *words)


@pytest.mark.long
def test_events_are_marked_with_their_moments_and_output(tmp_path):
    log = tmp_path / "log"
    down = shell(f"echo going down; echo down >>{log}; sleep 0.2")
    up = shell(f"echo up >>{log}")
    done = run(tmp_path, DOWN_UP, path_down=down, path_up=up)
    assert done.code in (0, 1), done.err
    first, second = done.record["events"]
    assert (first["name"], second["name"]) == ("path down", "path up")
    assert first["start_s"] == pytest.approx(0.4, abs=0.15)
    assert second["start_s"] == pytest.approx(0.9, abs=0.15)
    assert 0.2 <= first["end_s"] - first["start_s"] < 0.5
    assert first["output"] == "going down\n" and first["exit_code"] == 0
    assert log.read_text() == "down\nup\n"
    (record,) = list_records(tmp_path)
    shown = ioplan("show", record.session, "--store", tmp_path / "store")
    assert "┊ path down, at 0.4" in shown.out and shown.out.count("┊") > 5, shown.out


def list_records(folder):
    with Store.open(folder / "store") as store:
        return [record for one in store.sessions() for record in store.records(one.id)]


@pytest.mark.long
def test_a_moment_counts_from_the_first_io_and_is_marked_from_the_measured_part(
    tmp_path,
):
    clauses = ', warmup 500ms, event "early" at 200ms, event "late" at 1s..1200ms'
    done = run(tmp_path, clauses, early=["true"], late=["true"])
    early, late = done.record["events"]
    assert early["start_s"] == pytest.approx(-0.3, abs=0.15)
    assert 0.4 < late["start_s"] < 0.85


@pytest.mark.long
@pytest.mark.parametrize("gap_s", [0.5, 2, 10])
@needs_idle_cpu(50)
def test_a_gap_is_reported_as_long_as_it_was(gap_s, device, tmp_path):
    """Each stream of two threads waits for the server, and nothing else ends it."""
    one = device()
    pid = server_of(one)
    plan = f"""
workload pair {{
  a = random 4KiB 100/0, qd 2 each, threads 2, rate 300 iops total
  b = random 4KiB 100/0, rate 200 iops
}}
test "Gap" {{
  run pair for {3 + gap_s}s, interval 100ms,
      event "stop" at 1s, event "go" at {1 + gap_s}s
  expect a.gap < {gap_s + 0.4}s
  expect gap >= {gap_s - 0.1}s
  expect recovery of iops to 50% < {gap_s + 0.2}s
  expect recovery of iops to 50% > {gap_s - 0.2}s
  expect lost_work < 50  # the open loop catches up
}}
"""
    stop, go = ["kill", "-STOP", pid], ["kill", "-CONT", pid]
    lab, store = lab_of(tmp_path, stop=stop, go=go), tmp_path / "store"
    words = ("--target", one.disk, "--overwrite", one.disk, "--lab", lab)
    more = ("--store", store, "--json")
    done = ioplan("run", plan_file(tmp_path, plan), *words, *more)
    record = done.record
    gaps_s = [stream["gap_ns"] / 1e9 for stream in record["streams"]]
    assert gaps_s == pytest.approx([gap_s] * 2, abs=0.1)
    (total,) = exported(store)
    lost = next(v for v in record["verdicts"] if "lost_work" in v["expectation"])
    assert float(total["lost_work_ios"]) == lost["actual"]
    failed = [v for v in record["verdicts"] if v["outcome"] != "held"]
    assert not failed and done.code == 0


def exported(store):
    """The rows of totals."""
    done = ioplan("export", "last", "--format", "csv", "--store", store)
    rows = csv.DictReader(done.out.splitlines())
    return [row for row in rows if row["scope"] == "total"]


@pytest.mark.long
def test_failed_ios_end_no_gap(device, tmp_path):
    """The device answers all the time, but with errors."""
    one = device()
    command = [sys.executable, "-m", "ioplan.cli", "device"]
    down, up = ([*command, word, str(one.folder)] for word in ("off", "on"))
    clauses = ', rate 500 iops, errors allowed, event "down" at 1s, event "up" at 3s'
    clauses += ", interval 100ms"
    target = ("--target", one.disk, "--overwrite", one.disk)
    more = {"length": "6s", "expect": "expect lost_work < 1"}
    done = run(tmp_path, clauses, *target, down=down, up=up, **more)
    record = done.record
    first, second = record["events"]
    lasted_s = second["end_s"] - first["end_s"]
    assert record["total"]["errors"] > 100
    assert record["streams"][0]["gap_ns"] / 1e9 == pytest.approx(lasted_s, abs=1.0)
    assert record["streams"][0]["gap_ns"] > 1e9
    (lost,) = record["verdicts"]
    assert lost["outcome"] == "failed"
    assert lost["actual"] == pytest.approx(record["total"]["errors"], rel=0.15)


FAILS = {
    "it fails": (shell("echo no such path; exit 3"), "exited with 3: no such path", 3),
    "no program": (["/nowhere/pathctl"], "/nowhere/pathctl cannot be started", None),
    "it hangs": ({"command": ["sleep", "60"], "timeout": "200ms"}, "sleep did not end within 0.2 s", None),
    "it prints without end": ({"command": ["yes"], "timeout": "200ms"}, "yes did not end within 0.2 s", None),
    "it leaves a program": ({"command": shell("sleep 30 & echo told; exit 3"), "timeout": "9s"}, "told", 3),
    "a shell's words": (["false; true"], "cannot be started", None),
}  # fmt: skip


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", FAILS)
def test_a_run_whose_event_fails_has_failed(name, tmp_path):
    command, says, code = FAILS[name]
    done = run(tmp_path, DOWN_UP, path_down=command, path_up=["true"])
    record = done.record
    assert record["status"] == "failed" and record["cause"] == "not-made"
    assert says in record["message"] and '"path down"' in record["message"]
    down, up = record["events"]
    assert (down["exit_code"], up["exit_code"]) == (code, 0)
    assert len(down["output"]) <= 1 << 16 and down["end_s"] < 9
    assert record["total"]["ios"] > 0, "what was measured is kept"


@pytest.mark.long
@pytest.mark.promise("events.given_back")
def test_what_was_taken_away_is_given_back_when_the_run_fails(device, tmp_path):
    """The device fails all I/O from the first event on, and the run ends with it."""
    one, given = device(), tmp_path / "given"
    command = [sys.executable, "-m", "ioplan.cli", "device"]
    down = [*command, "off", str(one.folder)]
    up = shell(f"{shlex.join([*command, 'on', str(one.folder)])} && touch {given}")
    target = ("--target", one.disk, "--overwrite", one.disk)
    began_s = time.monotonic()
    done = run(
        *(tmp_path, ', event "down" at 300ms, event "up" at 20s', *target),
        **{"length": "30s", "down": down, "up": up},
    )
    record = done.record
    assert record["status"] == "failed" and record["cause"] != "not-made"
    assert given.exists() and len(record["events"]) == 2
    assert time.monotonic() - began_s < 15


@pytest.mark.promise("events.refused")
def test_without_the_labs_entry_nothing_begins(tmp_path):
    done = run(tmp_path, DOWN_UP, path_down=["true"])
    assert done.code == 2
    assert "plan.ioplan:3:" in done.err
    assert 'the lab file has no event "path up", did you mean' in done.err
    assert '[events."path up"]' in done.err
    assert not (tmp_path / "scratch").exists()


def test_events_need_the_consent_of_a_purge(device, tmp_path):
    """A plan that only reads writes nothing, but its events may do anything."""
    one, noted = device(), tmp_path / "noted"
    events = {"path_down": ["touch", str(noted)], "path_up": ["true"]}
    done = run(tmp_path, DOWN_UP, "--target", one.disk, **events)
    assert done.code == 2 and f"add --overwrite {one.disk}" in done.err
    assert not noted.exists()


def test_a_simulated_drive_refuses_events(tmp_path):
    sim = ("--backend", "sim", "--create", "64MiB")
    done = run(tmp_path, DOWN_UP, *sim, path_down=["true"], path_up=["true"])
    assert done.code == 2 and "cannot act on a simulated drive" in done.err


@pytest.mark.parametrize("backend", ["sim", "io_uring"])
def test_what_measures_no_gap_says_so_before_the_run(backend, tmp_path):
    plan = 'test "T" { run random 4KiB 100/0 for 300ms expect gap < 10s }'
    target = ("--target", tmp_path / "scratch") if backend == "io_uring" else ()
    words = ("--backend", backend, "--create", "16MiB", *target, "--json")
    done = ioplan("run", plan_file(tmp_path, plan), *words)
    told = "does not measure the longest time without a completed I/O" in done.err
    assert told is (backend == "sim") == done.code, done.err
    (verdict,) = done.record["verdicts"]
    assert verdict["outcome"] == ("undecided" if backend == "sim" else "held")


def test_another_host_is_reached_as_the_lab_says(tmp_path):
    """`reach` runs the words after it: here by a program that notes them."""
    there = {"command": ["multipath", "-f", "a b"], "host": "h1"}
    lab = lab_of(tmp_path, down=there)
    hosts = '[hosts.h1]\nreach = ["printf", "%s|"]\n'
    lab.write_text(lab.read_text() + hosts)
    plan = PLAN.format(clauses=', event "down" at 100ms', length="500ms", expect="")
    words = ("--target", tmp_path / "scratch", "--create", "16MiB", "--lab", lab)
    store = ("--store", tmp_path / "store", "--json")
    done = ioplan("run", plan_file(tmp_path, plan), *words, *store)
    (event,) = done.record["events"]
    assert event["host"] == "h1" and event["output"] == "multipath|-f|a b|"
    lab.write_text(lab.read_text().replace("hosts.h1", "hosts.h2"))
    refuse("the lab has no host 'h1'", "run", plan_file(tmp_path, plan), *words)


SEEK = """
test "S" {{
  seek highest qd in 1..2 where {condition}
  run random 4KiB 100/0, rate 200 iops, event "stop" at 500ms, event "go" at 900ms,
      interval 50ms for 2s
}}
"""
SOUGHT = {
    "all hold": ("gap <= 600ms and recovery of iops to 50% < 1s", "qd ≥ 2", 0),
    "a gap is too long": ("gap <= 200ms", "1 search found no value", 1),
    "it recovers too late": (
        "recovery of iops to 50% < 100ms",
        "1 search found no value",
        1,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SOUGHT)
def test_a_seek_asks_for_what_an_event_costs(name, device, tmp_path):
    """Each of its runs has the events, and goes on until they were made."""
    condition, says, code = SOUGHT[name]
    one = device()
    pid = server_of(one)
    stop, go = ["kill", "-STOP", pid], ["kill", "-CONT", pid]
    lab = lab_of(tmp_path, stop=stop, go=go)
    done = ioplan(
        *("run", plan_file(tmp_path, SEEK.format(condition=condition))),
        *("--target", one.disk, "--overwrite", one.disk, "--lab", lab),
        *("--store", tmp_path / "store"),
    )
    assert done.code == code, done.out + done.err
    assert says in done.out
    probes = [record for record in list_records(tmp_path) if record.asked.seek]
    assert probes and all(len(one.events) == 2 for one in probes)
    assert all(0.3e9 < one.streams[0].gap_ns < 0.7e9 for one in probes)
    (asked, *_) = [d for d in probes[0].asked.seek.demands if "rate" not in d.demand]
    assert asked.figure and asked.method == "comparison"
