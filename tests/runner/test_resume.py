"""Going on with a session, and what is known of a target's state across sessions.

What a session comes to after it was struck at any moment is in `test_faults`.
"""

import fcntl
import os
import sys
from contextlib import ExitStack, contextmanager

import pytest
from command import ioplan, plan_file
from faults import STOPPED, Fault, Session, said
from paths import ROOT

from ioplan.results.store import Store
from targets import lab_of_file, loop_device, needs_root, tell

pytestmark = pytest.mark.slow

FILLED = "precondition filled { write sequential 128KiB, qd 8, 1 pass }\n"
READS = """test "Reads" {
  after filled
  vary qd in DEPTHS
  run random 4KiB 100/0 for 256KiB
}"""
MIX = FILLED + 'test "Mix" { after filled run random 4KiB 50/50 for 256KiB }'
SIZE = ("--create", "8MiB")


def reads(depths):
    return FILLED + READS.replace("DEPTHS", depths)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "scratch"


def run(plan, file, *more):
    done = ioplan("run", plan, "--target", file, *SIZE, *more)
    assert done.code == 0, done.err
    return done


def records(store, session="last"):
    with Store.open(store) as opened:
        return list(opened.records(opened.session(session).id))


def kinds(store, session="last"):
    return [one.asked.kind for one in records(store, session)]


def depths(store):
    done = (one.asked for one in records(store) if one.asked.kind == "run")
    return [asked.cell["qd"] for asked in done]


# states across sessions


@pytest.mark.promise("resume.state_kept")
def test_a_state_is_kept_while_nothing_writes(tmp_path, store_path, file):
    plan = plan_file(tmp_path, reads("1, 2"))
    run(plan, file)
    shown = ioplan("plan", plan, "--target", file).out
    assert "filled is not repeated: nothing has written" in shown
    assert "0 B written" in shown
    assert "filled is not repeated" in run(plan, file).out
    assert kinds(store_path) == ["run", "run"]
    run(plan, file, "--fresh")
    assert kinds(store_path)[0] == "prepare"


@pytest.mark.promise("resume.state_written")
def test_a_write_of_ioplan_ends_it(tmp_path, store_path, file):
    plan = plan_file(tmp_path, MIX)
    for _ in range(2):
        assert "is kept" not in run(plan, file).out
        assert kinds(store_path) == ["prepare", "run"]


@pytest.mark.promise("resume.state_written")
def test_a_write_of_another_program_ends_it(tmp_path, store_path, file):
    plan = plan_file(tmp_path, reads("1"))
    run(plan, file)
    with file.open("r+b") as opened:
        opened.write(b"x")
    why = "filled is repeated: the target was changed since"
    assert why in ioplan("plan", plan, "--target", file).out.replace("\n", " ")
    assert why in run(plan, file, "--overwrite-data", str(file)).out
    assert kinds(store_path) == ["prepare", "run"]


def test_a_restart_of_the_host_ends_it(tmp_path, store_path, file, monkeypatch):
    plan = plan_file(tmp_path, reads("1"))
    run(plan, file)
    other = tmp_path / "boot_id"
    other.write_text("another boot")
    monkeypatch.setattr("ioplan.runner.devices.write_evidence.BOOT_ID", other)
    assert "the host was rebooted since" in run(plan, file).out
    assert kinds(store_path) == ["prepare", "run"]


STATES = """precondition filled { purge write sequential 128KiB, qd 8, 1 pass }
precondition twice { purge write sequential 128KiB, qd 8, 2 passes }
precondition scrambled { filled write random 4KiB, qd 32, 1 pass }
precondition same { idle 1ms scrambled }
precondition unpurged { write sequential 128KiB, qd 8, 1 pass }
"""


@pytest.mark.parametrize(
    ("there", "wanted", "steps"),
    [
        ("filled", "filled", []),
        ("same", "scrambled", []),
        ("filled", "scrambled", [2]),  # it goes on from where it is
        ("scrambled", "filled", [1]),
        ("filled", "twice", [1]),
        ("unpurged", "filled", [1]),
    ],
)
@pytest.mark.promise("resume.state_kept")
def test_only_what_is_missing_to_a_state_is_done(
    there, wanted, steps, store_path, tmp_path
):
    file = tmp_path / "scratch"
    for name in (there, wanted):
        body = f'test "T" {{ after {name} run random 4KiB 100/0 for 64KiB }}'
        plan = plan_file(tmp_path, STATES + body, f"{name}.ioplan")
        done = ioplan("run", plan, "--target", file, "--create", "1MiB")
        assert done.code == 0, done.err
    made = [one.asked for one in records(store_path) if one.asked.kind == "prepare"]
    assert [one.step for one in made] == steps


@pytest.mark.long
@needs_root
@pytest.mark.promise("resume.state_kept")
def test_the_write_counter_of_a_device_proves_it(tmp_path, store_path, file):
    file.write_bytes(os.urandom(8 << 20))
    plan = plan_file(tmp_path, reads("1"))
    with loop_device(file) as device:
        words = ("run", plan, "--target", device, "--overwrite-data", file)
        words += ("--lab", lab_of_file(tmp_path, file))
        first = ioplan(*words)
        assert first.code == 0, first.err
        assert "filled is not repeated" in ioplan(*words).out
        fd = os.open(device, os.O_RDWR | os.O_SYNC)
        os.write(fd, b"x" * 512)
        os.close(fd)
        assert "filled is repeated: the target was changed" in ioplan(*words).out
        assert kinds(store_path) == ["prepare", "run"]


# sessions that were stopped


def stopped_after(number, text, folder):
    """A session on a scratch file, stopped once so many records were stored."""
    plan, file = plan_file(folder, text), folder / "scratch"
    made = Session(plan, folder / "results.db", ("--target", file, *SIZE))
    Fault(STOPPED, said("record", number)).happen(made)
    assert made.codes == [130], made.out.read_text()
    return made


@pytest.fixture
def stopped(tmp_path, store_path):
    """The plan of a session that was stopped after two of its four runs."""
    return stopped_after(3, reads("1, 2, 4, 8"), tmp_path).plan


@pytest.mark.promise("resume.once")
def test_resume_does_what_is_left(stopped, store_path):
    before = records(store_path)
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "2 finished runs are kept" in done.out
    assert "5 runs kept, 2 of them reused: ioplan show" in done.out
    assert records(store_path)[:3] == before
    assert depths(store_path) == [*"1248"]
    with Store.open(store_path) as store:
        session = store.session("last")
        assert session.status == "ok"
        told = [one.kind for one in store.events(session.id)]
        assert told[-2:] == ["resumed", "state"]
    done = ioplan("resume")
    assert done.code == 0
    assert "has ended; nothing to resume" in done.out
    assert len(records(store_path)) == 5


def test_another_plan_does_not_take_the_place_of_the_first(stopped, store_path):
    """None of its runs is in the session: all that was measured would be put aside."""
    before = records(store_path)
    other = plan_file(stopped.parent, reads("3, 5"), "other.ioplan")
    done = ioplan("resume", "--plan", other)
    assert done.code == 2
    assert "none of its runs is in" in done.err and f"ioplan run {other}" in done.err
    with Store.open(store_path) as store:
        session = store.session("last")
    assert (session.status, session.plan_text) == ("interrupted", stopped.read_text())
    assert records(store_path) == before


@pytest.mark.promise("resume.edited", "resume.removed")
def test_an_edited_plan_keeps_what_is_unchanged(stopped, store_path):
    renamed = reads("2, 16").replace('"Reads"', '"Renamed"')
    stopped.write_text(renamed + "\n# a comment\n")
    done = ioplan("resume")
    assert done.code == 0, done.err
    said = done.err.splitlines()
    assert said[0].endswith(
        "was edited since: 1 finished runs are still in it, 1 are to be done, "
        "1 are no longer in it"
    )
    assert said[1:3] == [
        "  to be done: Renamed: qd=16",
        "  no longer in it: Reads: qd=1",
    ]
    runs = [one.asked for one in records(store_path) if one.asked.kind == "run"]
    assert [(one.test, one.cell["qd"], one.removed) for one in runs] == [
        ("Reads", "1", True),
        ("Renamed", "2", False),
        ("Renamed", "16", False),
    ]
    assert ioplan("show", "--plan").out == stopped.read_text()


# what is refused, and changes nothing


@contextmanager
def renamed(path):
    other = path.rename(path.with_name("moved"))
    yield
    other.rename(path)


@contextmanager
def emptied(path):
    text = path.read_text()
    path.write_text("")
    yield
    path.write_text(text)


@contextmanager
def held(session):
    lock = session.store.parent / "sessions" / session.id / "lock"
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def edited_and_held(session):
    text = session.plan.read_text()
    session.plan.write_text('plan "Edited"\n' + text)
    with held(session):
        yield
    session.plan.write_text(text)


@contextmanager
def by_a_stranger(session):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(session.store.with_name("another user")))
        yield


@contextmanager
def on_another_host(session):
    """The store and the key may lie on a file system that both have."""
    other = session.store.with_name("machine-id")
    other.write_text("another machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ioplan.runner.session.signature.MACHINE_ID", other)
        yield


REFUSED = {
    "in another process": (held, "goes on in another process; wait until it ends"),
    "edited meanwhile": (edited_and_held, "goes on in another process"),
    "plan gone": (
        lambda one: renamed(one.plan),
        "is gone; name it with --plan, or write it out",
    ),
    "plan empty": (lambda one: emptied(one.plan), "is empty; name it with --plan"),
    "target gone": (
        lambda one: renamed(one.plan.with_name("scratch")),
        "there is no target",
    ),
    "stranger": (by_a_stranger, "was not started by you on this host"),
    "another host": (on_another_host, "was not started by you on this host"),
}


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """A stopped session that nothing goes on with."""
    return stopped_after(3, reads("1, 2, 4"), tmp_path_factory.mktemp("waiting"))


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.promise("resume.one_process", "resume.same_target", "resume.trust")
def test_what_is_refused_changes_nothing(why, waiting):
    prevent, said = REFUSED[why]
    with Store.open(waiting.store) as store:
        before = store.session("last"), store.events(waiting.id)
        with prevent(waiting):
            done = ioplan("resume", "--store", waiting.store)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert said in done.err
        assert (store.session("last"), store.events(waiting.id)) == before


def test_a_session_whose_process_is_gone_is_not_running(waiting):
    with Store.open(waiting.store) as store:
        store.finish(waiting.id, "running", "2026-01-01T00:00:00")
    at = ("--store", waiting.store)
    bundle, page = (waiting.store.with_suffix(end) for end in (".bundle", ".html"))
    assert "interrupted" in ioplan("ls", *at).out
    assert " interrupted;" in " ".join(ioplan("show", "last", *at).out.split())
    assert ioplan("report", "last", "-o", page, *at).code == 0
    assert "<dd>interrupted" in page.read_text()
    assert ioplan("bundle", "last", "-o", bundle, *at).code == 0
    with held(waiting):
        assert "running" in ioplan("ls", *at).out
        assert " running;" in " ".join(ioplan("show", "last", *at).out.split())
        assert "is still running" in ioplan("bundle", "last", "--force", *at).err


@pytest.mark.promise("resume.same_target", "resume.trust")
def test_what_was_refused_goes_on_when_it_is_allowed(
    stopped, store_path, tmp_path, file
):
    """A plan elsewhere, a stranger's session, and data that is given up."""
    with ExitStack() as stack:
        session = Session(stopped, store_path, ())
        stack.enter_context(by_a_stranger(session))
        assert "add --overwrite-data" in ioplan("resume", "--trust").err
        moved = stopped.rename(tmp_path / "moved.ioplan")
        words = ("--trust", "--overwrite-data", file, "--plan", moved)
        done = ioplan("resume", *words)
        assert done.code == 0 and "was edited" not in done.err, done.err


@pytest.mark.long
@pytest.mark.promise("resume.same_target")
def test_a_session_goes_on_on_its_own_target_only(stopped, store_path, file):
    file.rename(file.with_name("other"))
    run(stopped, file)
    with Store.open(store_path) as store:
        first = store.sessions()[-1].id
    done = ioplan("resume", first)
    assert done.code == 2
    assert f"is not the target that session {first} began on" in done.err


def test_a_resume_whose_target_is_refused_leaves_no_event(stopped, store_path, file):
    with Store.open(store_path) as store:
        session = store.session("last")
        before = session, store.events(session.id)
        stopped.write_text('plan "Edited"\n' + stopped.read_text())
        file.write_bytes(os.urandom(file.stat().st_size))
        done = ioplan("resume")
        assert done.code == 2 and "add --overwrite" in done.err
        assert (store.session("last"), store.events(session.id)) == before


@pytest.mark.long
@pytest.mark.promise("resume.once")
def test_what_another_process_did_meanwhile_is_not_done_again(
    stopped, store_path, monkeypatch
):
    """It ends just before this one gets the lock."""
    real = fcntl.flock

    def late(fd, operation):
        if operation & fcntl.LOCK_EX and not others:
            others.append(tell(sys.executable, "-m", "ioplan.cli", "resume"))
        real(fd, operation)

    others = []
    monkeypatch.setattr(fcntl, "flock", late)
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "has ended; nothing to resume" in done.out
    assert depths(store_path) == [*"1248"]


# what was written before the run that it goes on with

WRITES = (
    FILLED
    + """test "W" {
  after filled
  vary qd in 1, 2, 4
  run random 4KiB 50/50 for 256KiB
}"""
)


def punched(file):
    tell("fallocate", "--punch-hole", "--offset", "0", "--length", "8MiB", file)


def written_over(file):
    with file.open("r+b") as opened:
        opened.write(bytes(8 << 20))


def written_by_another_session(file):
    plan = plan_file(file.parent, 'test "O" { run random 4KiB 0/100 for 1MiB }', "o")
    run(plan, file, "--overwrite", file)


def touched(file):
    os.utime(file)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(punched, marks=pytest.mark.long),
        written_over,
        written_by_another_session,
        touched,
    ],
    ids=lambda one: one.__name__,
)
@pytest.mark.promise("resume.unproven_state", "resume.state_written")
def test_it_measures_on_the_state_that_the_test_asks_for(
    change, tmp_path, store_path, file
):
    session = stopped_after(3, WRITES, tmp_path).id
    change(file)
    if change in (punched, written_over):
        done = ioplan("resume", session)
        assert done.code == 2 and "add --overwrite" in done.err
    done = ioplan("resume", session, "--overwrite-data", file)
    assert done.code == 0, done.err
    assert "qd=4 needs the state that 2 runs before it left" in done.out
    found = kinds(store_path, session)
    assert found == ["prepare", "run", "run", "prepare", "run"]
    assert file.stat().st_blocks * 512 >= 8 << 20


def test_where_that_state_is_proven_nothing_is_repeated(tmp_path, store_path):
    """As the session would have left it between two runs."""
    plan = stopped_after(4, WRITES, tmp_path).plan
    plan.write_text(WRITES.replace("1, 2, 4", "1, 2, 4, 8"))
    done = ioplan("resume")
    assert done.code == 0 and "needs the state" not in done.out
    assert kinds(store_path) == ["prepare", *["run"] * 4]


# rounds that end cell by cell

BY_CELL = (
    FILLED
    + """on unsteady continue
test "Rounds" {
  after filled
  vary qd in 1, 2, 4, 8
  run random 4KiB 100/0 for 10s
  rounds until every cell within 3%, at most 6, order drawn
}"""
)


@pytest.mark.promise("resume.rounds")
def test_what_was_decided_is_not_repeated_after_a_resume(tmp_path, rough_sim):
    """The same cells in the same order as without the interruption."""
    drive = ("--sim", ROOT / "examples/sim/client.toml", "--create", "1GiB")
    plan = plan_file(tmp_path, BY_CELL)
    quiet, cut = (Session(plan, tmp_path / f"{name}.db", drive) for name in "qc")
    quiet.call()
    assert quiet.codes == [0] and len(quiet.runs) < 24
    Fault(STOPPED, said("record", len(quiet.runs) - 1)).happen(cut)
    cut.until_ended()
    assert cut.codes == [130, 0]
    assert list(cut.runs) == list(quiet.runs)
    shown = ioplan("show", "--store", cut.store).out
    assert "the rounds that decided each cell" in shown
