"""One plan on every backend: the same runs, what each measures, and how it is cut short."""

import json
import shutil
import signal
import time
from collections import Counter

import jsonschema
import paths
import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from plans import checked
from sim_drive import DRIVES, WRITES, Bench
from started import is_running, started

from golden import Golden
from ioplan.backends import TargetFacts
from ioplan.planner import all_jobs, unfold
from ioplan.results.store import Store
from ioplan_sim import DriveSpec

DEMO = paths.ROOT / "examples/demo.ioplan"
BACKENDS = ("io_uring", "fio", "sim")


def records_of(backend, folder):
    """The demonstration plan, shortened, on one backend."""
    target = [] if backend == "sim" else ["--target", folder / f"{backend}.bin"]
    done = ioplan(
        "run", DEMO, "--backend", backend, *target, "--create", "64MiB",
        "--set", "run_time=100ms", "--scale-time", "0.5", "--json",
    )  # fmt: skip
    assert done.code in (0, 1), done.err
    return done.records


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not shutil.which("fio"), reason="LEFT OUT: fio is not installed")
@pytest.mark.promise("backends.one_plan")
def test_one_plan_on_every_backend(tmp_path, store_path):
    schema = jsonschema.Draft202012Validator(json.loads(ioplan("schema").out))
    ids = {}
    for backend in BACKENDS:
        records = records_of(backend, tmp_path)
        for record in records:
            schema.validate(record)
            assert record["status"] == "ok" and record["backend"]["name"] == backend
            assert record["total"]["ios"] > 0 and record["substitutions"] == []
        ids[backend] = [record["run_id"] for record in records]
    assert ids["io_uring"] == ids["fio"] == ids["sim"]
    listed = ioplan("ls", "--format", "jsonl").lines
    assert {session["backend"] for session in listed} == set(BACKENDS)


# runs of real programs that are interrupted or killed: no I/O goes on, no figure is lost

PLAN = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "Short" { after filled run random 4KiB 50/50, qd 8 for 100ms }
test "Long" { run random 4KiB 50/50, qd 4 for 60s vary align in size, 512B }
"""
INTERRUPTED = ["io_uring", pytest.param("fio", marks=NEEDS_FIO)]


@pytest.fixture
def long_run(request, tmp_path, store_path):
    """An ioplan that measures its long test."""
    words = ("--target", tmp_path / "scratch", "--create", "16MiB")
    plan, backend = plan_file(tmp_path, PLAN), ("--backend", request.param)
    more = ("--allow", "align") if request.param == "fio" else ()
    with started(plan, *words, *backend, *more) as made:
        made.until("step", 3)
        made.until("progress")
        yield made


on_each = pytest.mark.parametrize("long_run", INTERRUPTED, indirect=True)


@pytest.mark.slow
@pytest.mark.long_but_first
@on_each
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.promise("exit_codes.interrupted", "resume.ctrl_c")
def test_an_interrupt_stops_the_io_at_once_and_keeps_what_is_done(number, long_run):
    program = long_run.backend
    long_run.process.send_signal(number)
    asked = time.monotonic()
    assert long_run.end() == 130 and time.monotonic() - asked < 30  # of 60
    assert not is_running(program)
    end = {"type": "end", "status": "interrupted", "verdict": "none"}
    assert long_run.lines[-1] == end
    runs = ioplan("export", "last", "--format", "jsonl").lines
    assert [one["status"] for one in runs] == ["ok", "ok", "interrupted"]
    assert runs[-1]["total"]["ios"] > 100


# what a plan asks for and a backend does not measure is told before the run

PLANS = Golden("unmeasured")
"""By backend and line: an expected commit that nobody measures is refused, one that is
shown is warned of; a chart is drawn all the same, and who writes `interval` wants it so.
"""


def gaps_of(backend, text, folder):
    """How the test fits, and what is not exact."""
    done = ioplan("plan", plan_file(folder, text), "--backend", backend, "--json")
    (test,) = json.loads(done.out)["fit"]["tests"]
    return test["fit"], test["gaps"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_what_is_not_measured_is_told(name, tmp_path):
    backend, expected = name.partition(":")[0], PLANS[name].expected
    found, gaps = gaps_of(backend, PLANS[name].input, tmp_path)
    assert found == expected["fit"]
    says = expected["says"]
    assert [says in gap["reason"] for gap in gaps] == [True] * bool(says)
    if found == "near":
        assert "stay" in gaps[0]["instead"] or "earlier or later" in gaps[0]["instead"]


# what backends count in phases: those that cover a run add up to it

PHASED = """workload database {
  reader = random 8KiB 70/30, qd 4
  log = sequential 4KiB 0/100, rate 300 iops, sync every 4
  writer = random 4KiB 0/100, qd 32,
      burst 200ms of RATE iops as checkpoint, then 300ms of 100 iops as calm
}
test "Phases" {
  run database for 2s, warmup 300ms
  expect log.commit.p50 < 10s during calm
  expect iops during 0s..700ms > 1
  expect writer.p50 < 100s during 700ms..2s
}
"""


def run(backend, target, rate, folder):
    """The record, with its histograms."""
    file, store = folder / "phases.ioplan", folder / "store.db"
    file.write_text(PHASED.replace("RATE", rate))
    done = ioplan("run", file, *target, "--backend", backend, "--store", store)
    assert done.code == 0, done
    told = ioplan("export", "last", "--format", "json", "--detail", "--store", store)
    found = json.loads(told.out)
    (record,), (detail,) = found["runs"], found["details"]
    return {**record, "detail": detail}


def bins(record, *phases):
    """Of these phases together, by stream and direction."""
    found: dict[tuple[str, str], Counter[int]] = {}
    for one in record["detail"]["histograms"]:
        if one["phase"] in phases:
            key = one["stream"], one["direction"]
            flat = one["bins"]
            counted = dict(zip(flat[::2], flat[1::2], strict=True))
            found.setdefault(key, Counter()).update(counted)
    return found


@pytest.mark.slow
@pytest.mark.long
def test_phases_of_the_engine_cover_its_run_bin_by_bin(tmp_path):
    target = ["--target", str(tmp_path / "file"), "--create", "64MiB"]
    record = run("io_uring", target, "2_000", tmp_path)
    assert bins(record, "checkpoint", "calm") == bins(record, "")
    assert bins(record, "0s..700ms", "700ms..2s") == bins(record, "")
    assert ("log", "commit") in bins(record, "calm")
    assert ("reader", "read") in bins(record, "checkpoint")


def ios(record, phase):
    (found,) = (s for s in record["phases"][phase]["streams"] if s["name"] == "writer")
    total: int = found["total"]["ios"]
    return total


@pytest.mark.parametrize("rate", ["2_000", "400_000"])
def test_phases_of_the_simulated_drive_cover_its_run(rate, tmp_path):
    record = run("sim", [], rate, tmp_path)
    whole = {key: one.total() for key, one in bins(record, "").items()}
    for phases in (("checkpoint", "calm"), ("0s..700ms", "700ms..2s")):
        parts = {key: one.total() for key, one in bins(record, *phases).items()}
        assert parts.keys() == whole.keys()
        for key, total in whole.items():
            # what fell due in the warm-up and completed after it is of no phase
            assert 0 <= total - parts[key] <= 32
    if rate == "2_000":
        assert ios(record, "checkpoint") == pytest.approx(4 * 400, abs=8)
        assert ios(record, "calm") == pytest.approx(4 * 30, abs=8)


def test_what_waits_in_a_simulated_queue_is_of_the_phase_it_was_due_in(tmp_path):
    record = run("sim", [], "400_000", tmp_path)
    done = ios(record, "checkpoint") + ios(record, "calm")
    assert ios(record, "checkpoint") > 0.99 * done  # though most completed in the calm
    assert record["phases"]["calm"]["run_s"] == pytest.approx(1.2)


# how a run ends does not change what it does; a permutation is asked for by name

GIB = 1 << 30
FACTS = TargetFacts(path="t", kind="file", capacity_bytes=GIB, block_bytes=512)


def amplification(stream, **limit):
    """Of the second run, as the first one fills the drive."""
    bench = Bench(DriveSpec(), GIB)
    bench.run(stream, **limit)
    return float(bench.run(stream, **limit)[0].facts["write_amplification"])


@pytest.mark.long
def test_bytes_and_passes_wear_a_drive_alike():
    permuted, pair = WRITES.model_copy(update={"permuted": True}), [{"passes": 2}]
    pair.append({"limit_bytes": 2 * GIB})
    anew = [amplification(WRITES, **limit) for limit in pair]
    once = [amplification(permuted, **limit) for limit in pair]
    assert anew[0] == pytest.approx(anew[1], rel=0.05)
    assert once[0] == pytest.approx(once[1], rel=0.05)
    assert anew[0] > 1.2 * once[0]


def jobs(text):
    """Whether each job of a plan permutes."""
    steps = unfold(checked(text))
    return [job.streams[0].permuted for _, job in all_jobs(steps, FACTS, False)]


@pytest.mark.parametrize(
    ("write", "permuted"),
    [
        ("random 4KiB, 2 passes", True),
        ("sequential 4KiB, 2 passes", False),
        ("random 4KiB, zipf 1.1, 2 passes", False),
        ("random sizes { 4KiB 50%, 8KiB 50% }, 2 passes", False),
        ("random 4KiB for 1h", False),
        ("random 4KiB, permuted for 1h", True),
        ("random 4KiB, until steady iops every 1s, at most 4 passes", False),
    ],
)
def test_a_precondition_by_passes_permutes(write, permuted):
    text = f"precondition p {{ write {write} }}\n"
    text += 'test "T" { after p run random 4KiB 100/0 for 1s }'
    assert jobs(text) == [permuted, False]


def test_plan_and_record_say_which(tmp_path, store_path):
    text = "precondition p { write random 4KiB, 1 pass }\n"
    text += 'test "T" { after p run random 4KiB 0/100 for 1s }\n'
    text += 'test "U" { run random 4KiB 0/100, permuted, 1 pass }\n'
    path = plan_file(tmp_path, text)
    drive = ("--sim", DRIVES / "datacentre.toml", "--create", "1GiB")
    plan = " ".join(ioplan("plan", path, "--capacity", "1GiB").out.split())
    assert "write random 4KiB, 1 pass (permuted)" in plan
    done = ioplan("run", path, *drive)
    assert done.code == 0, done.err
    assert "p: random permuted 4KiB writes" in ioplan("show", "--tables").out
    with Store.open(store_path) as store:
        records = store.records(store.session("last").id)
        said = [one.asked.job.streams[0].permuted for one in records]
    assert said == [True, False, True]
