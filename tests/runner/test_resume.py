"""Going on with a session, and what is known of a target's state across sessions."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Done, ioplan, plan_file
from paths import ROOT

from ioplan.records import RunRecord
from ioplan.results.store import Store, session_folder
from ioplan.runner.devices import write_evidence
from ioplan.runner.session import signature
from targets import lab_of_file, loop_device, needs_root, tell

pytestmark = pytest.mark.slow

FILLED = "precondition filled { write sequential 128KiB, qd 8, 1 pass }\n"
READS = """test "Reads" {
  after filled
  vary qd in DEPTHS
  run random 4KiB 100/0 for 1MiB
}"""
MIX = FILLED + 'test "Mix" { after filled run random 4KiB 50/50 for 1MiB }'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def reads(depths: str) -> str:
    return FILLED + READS.replace("DEPTHS", depths)


def run(plan: Path, file: Path, *more: str | Path) -> Done:
    done = ioplan("run", plan, "--target", file, "--create", "8MiB", *more)
    assert done.code == 0, done.err
    return done


def records(store: Path, session: str = "last") -> list[RunRecord]:
    with Store.open(store) as opened:
        return list(opened.records(opened.session(session).id))


def prepared(store: Path) -> int:
    return sum(one.asked.kind == "prepare" for one in records(store))


# states across sessions


@pytest.mark.promise("resume.state_kept")
def test_a_state_is_kept_while_nothing_writes(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    plan = plan_file(tmp_path, reads("1, 2"))
    run(plan, file)
    shown = ioplan("plan", plan, "--target", file).out
    assert "filled is not repeated: nothing has written" in shown
    assert "0 B written" in shown
    assert "filled is not repeated" in run(plan, file).out
    assert prepared(store_path) == 0


@pytest.mark.promise("resume.state_written")
def test_a_write_of_ioplan_ends_it(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    plan = plan_file(tmp_path, MIX)
    for _ in range(2):
        assert "is kept" not in run(plan, file).out
        assert prepared(store_path) == 1


@pytest.mark.promise("resume.state_written")
def test_a_write_of_another_program_ends_it(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    plan = plan_file(tmp_path, reads("1"))
    run(plan, file)
    with file.open("r+b") as opened:
        opened.write(b"x")
    why = "filled is repeated: the target was changed since"
    assert why in ioplan("plan", plan, "--target", file).out.replace("\n", " ")
    assert why in run(plan, file, "--overwrite-data", str(file)).out
    assert prepared(store_path) == 1


def test_a_restart_of_the_host_ends_it(
    tmp_path: Path, store_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_file(tmp_path, reads("1"))
    run(plan, file)
    other = tmp_path / "boot_id"
    other.write_text("another boot")
    monkeypatch.setattr(write_evidence, "BOOT_ID", other)
    assert "the host was rebooted since" in run(plan, file).out
    assert prepared(store_path) == 1


def test_fresh_prepares_again(tmp_path: Path, store_path: Path, file: Path) -> None:
    plan = plan_file(tmp_path, reads("1"))
    run(plan, file)
    run(plan, file, "--fresh")
    assert prepared(store_path) == 1


def test_a_longer_way_to_a_state_goes_on_from_it(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    run(plan_file(tmp_path, reads("1")), file)
    longer = "precondition more { filled write random 4KiB, qd 8, 1 pass }\n"
    text = FILLED + longer + 'test "T" { after more run random 4KiB 100/0 for 1MiB }'
    run(plan_file(tmp_path, text, "longer.ioplan"), file)
    kinds = [(one.asked.kind, one.asked.step) for one in records(store_path)]
    assert kinds == [("prepare", 1), ("run", 0)]


@pytest.mark.long
@needs_root
@pytest.mark.promise("resume.state_kept")
def test_the_write_counter_of_a_device_proves_it(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    file.write_bytes(os.urandom(8 << 20))
    plan = plan_file(tmp_path, reads("1"))
    with loop_device(file) as device:
        lab = lab_of_file(tmp_path, file)
        words = (
            "run",
            plan,
            "--target",
            device,
            "--lab",
            lab,
            "--overwrite-data",
            file,
        )
        first = ioplan(*words)
        assert first.code == 0, first.err
        assert "filled is not repeated" in ioplan(*words).out
        fd = os.open(device, os.O_RDWR | os.O_SYNC)
        os.write(fd, b"x" * 512)
        os.close(fd)
        assert "filled is repeated: the target was changed" in ioplan(*words).out
        assert prepared(store_path) == 1


# sessions


@pytest.fixture
def stopped(tmp_path: Path, store_path: Path, file: Path) -> Iterator[Path]:
    """The plan of a session that was stopped after two of its four runs."""
    plan = plan_file(tmp_path, reads("1, 2, 4, 8"))
    run(plan, file)
    with Store.open(store_path) as store:
        session = store.session("last").id
        store.finish(session, "interrupted", "2026-01-01T00:00:00")
        forget_runs(store, session, above=3)
    yield plan


def forget_runs(store: Store, session: str, above: int) -> None:
    """As if the process had been killed before they were stored."""
    with store.writing() as connection:
        for table in ("verdict", "run_blob", "run_telemetry", "run_intervals", "run"):
            connection.change(
                f"DELETE FROM {table} WHERE session = :session AND seq > :seq",
                {"session": session, "seq": above},
            )


@pytest.mark.promise("resume.once")
def test_resume_does_what_is_left(stopped: Path, store_path: Path) -> None:
    before = records(store_path)
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "2 finished runs are kept" in done.out
    assert f"5 runs kept in {store_path}, 2 of them not repeated\n" in done.out
    after = records(store_path)
    assert after[:3] == before
    assert [one.asked.cell["qd"] for one in after if one.asked.kind == "run"] == [
        *"1248"
    ]
    with Store.open(store_path) as store:
        session = store.session("last")
        assert session.status == "ok"
        assert [one.kind for one in store.events(session.id)] == ["resumed", "state"]


def test_nothing_is_left_of_a_finished_one(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    run(plan_file(tmp_path, reads("1")), file)
    done = ioplan("resume")
    assert done.code == 0
    assert "has ended; nothing to resume" in done.out
    assert len(records(store_path)) == 2


@pytest.mark.promise("resume.edited", "resume.removed")
def test_an_edited_plan_keeps_what_is_unchanged(
    stopped: Path, store_path: Path
) -> None:
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
    assert [(one.test, one.cell["qd"]) for one in runs] == [
        ("Reads", "1"),
        ("Renamed", "2"),
        ("Renamed", "16"),
    ]
    assert [one.removed for one in runs] == [True, False, False]
    assert ioplan("show", "--plan").out == stopped.read_text()


def test_a_plan_that_is_gone(stopped: Path, store_path: Path, tmp_path: Path) -> None:
    stopped.rename(tmp_path / "moved.ioplan")
    done = ioplan("resume")
    assert done.code == 2
    assert "is gone; name it with --plan, or write it out" in done.err
    stopped.touch()
    assert "is empty; name it with --plan" in ioplan("resume").err
    done = ioplan("resume", "--plan", tmp_path / "moved.ioplan")
    assert done.code == 0
    assert "was edited" not in done.err


@pytest.mark.long
@pytest.mark.promise("resume.same_target")
def test_a_session_goes_on_on_its_own_target_only(
    stopped: Path, store_path: Path, file: Path
) -> None:
    file.rename(file.with_name("other"))
    done = ioplan("resume")
    assert done.code == 2
    assert "there is no target" in done.err
    ioplan("run", stopped, "--target", file, "--create", "8MiB")
    with Store.open(store_path) as store:
        first = store.sessions()[-1].id
    done = ioplan("resume", first)
    assert done.code == 2
    assert f"is not the target that session {first} began on" in done.err


def test_a_session_whose_process_is_gone_is_not_running(
    stopped: Path, store_path: Path
) -> None:
    with Store.open(store_path) as store:
        session = store.session("last")
        store.finish(session.id, "running", "2026-01-01T00:00:00")
    bundle, page = (store_path.with_suffix(end) for end in (".bundle", ".html"))
    assert "interrupted" in ioplan("ls").out
    assert ", interrupted;" in ioplan("show", "last").out
    assert ioplan("report", "last", "-o", page).code == 0
    assert "<dd>interrupted" in page.read_text()
    assert ioplan("bundle", "last", "-o", bundle).code == 0
    lock = store_path.parent / "sessions" / session.id / "lock"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "running" in ioplan("ls").out
        assert ", running;" in ioplan("show", "last").out
        assert "is still running" in ioplan("bundle", "last", "--force").err


@pytest.mark.promise("resume.one_process")
def test_one_process_at_a_time(stopped: Path, store_path: Path) -> None:
    with Store.open(store_path) as store:
        session = store.session("last").id
    lock = store_path.parent / "sessions" / session / "lock"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = ioplan("resume")
    assert done.code == 2
    assert "goes on in another process; wait until it ends" in done.err


@pytest.mark.promise("resume.one_process")
def test_a_resume_that_is_refused_changes_nothing(
    stopped: Path, store_path: Path
) -> None:
    with Store.open(store_path) as store:
        before = store.session("last")
        stopped.write_text('plan "Edited"\n' + stopped.read_text())
        lock = store_path.parent / "sessions" / before.id / "lock"
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            done = ioplan("resume")
        assert done.code == 2
        assert (done.out, done.err.count("\n")) == ("", 1)
        assert store.session("last") == before
        assert store.events(before.id) == []


def test_a_resume_whose_target_is_refused_leaves_no_event(
    stopped: Path, store_path: Path, file: Path
) -> None:
    with Store.open(store_path) as store:
        before = store.session("last")
        stopped.write_text('plan "Edited"\n' + stopped.read_text())
        file.write_bytes(os.urandom(file.stat().st_size))
        done = ioplan("resume")
        assert done.code == 2 and "add --overwrite" in done.err
        assert store.session("last") == before
        assert store.events(before.id) == []


@pytest.mark.long
@pytest.mark.promise("resume.once")
def test_what_another_process_did_meanwhile_is_not_done_again(
    stopped: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends just before this one gets the lock."""
    lock = session_folder._lock

    def late(fd: int, session: str) -> None:
        tell(sys.executable, "-m", "ioplan.cli", "resume")
        lock(fd, session)

    monkeypatch.setattr(session_folder, "_lock", late)
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "has ended; nothing to resume" in done.out
    runs = [one.asked.cell for one in records(store_path) if one.asked.kind == "run"]
    assert [cell["qd"] for cell in runs] == [*"1248"]


@pytest.mark.long
@pytest.mark.promise("resume.state_written")
def test_an_interrupted_preparation_is_done_again(
    stopped: Path, store_path: Path, file: Path
) -> None:
    """What wrote to the target meanwhile has ended the state that runs rely on."""
    os.utime(file)
    done = ioplan("resume", "--overwrite-data", str(file))
    assert done.code == 0, done.err
    assert "filled is repeated" in done.out
    kinds = [one.asked.kind for one in records(store_path)]
    assert kinds == ["prepare", "run", "run", "prepare", "run", "run"]


@pytest.mark.promise("resume.trust")
def test_a_strangers_session_is_not_believed(
    stopped: Path,
    store_path: Path,
    tmp_path: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    done = ioplan("resume")
    assert done.code == 2
    assert "was not started by you on this host" in done.err
    assert "add --overwrite-data" in ioplan("resume", "--trust").err
    assert ioplan("resume", "--trust", "--overwrite-data", file).code == 0


@pytest.mark.promise("resume.trust")
def test_a_session_of_another_host_is_not_believed(
    stopped: Path, store_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store and the key may lie on a file system that both have."""
    other = tmp_path / "machine-id"
    other.write_text("another machine")
    monkeypatch.setattr(signature, "MACHINE_ID", other)
    done = ioplan("resume")
    assert done.code == 2
    assert "was not started by you on this host" in done.err
    assert ioplan("resume", "--trust").code == 0


# what was written before the run that it goes on with

WRITES = (
    FILLED
    + """test "W" {
  after filled
  vary qd in 1, 2, 4
  run random 4KiB 50/50 for 1MiB
}"""
)


def interrupted_after(records: int, store_path: Path) -> None:
    with Store.open(store_path) as store:
        session = store.session("last").id
        store.finish(session, "interrupted", "2026-01-01T00:00:00")
        forget_runs(store, session, above=records)


def kinds(store_path: Path) -> list[str]:
    return [one.asked.kind for one in records(store_path)]


def punched(file: Path) -> None:
    tell("fallocate", "--punch-hole", "--offset", "0", "--length", "8MiB", file)


def written_over(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(bytes(8 << 20))


def touched_by_another_session(file: Path) -> None:
    plan = plan_file(file.parent, 'test "O" { run random 4KiB 0/100 for 1MiB }', "o")
    run(plan, file, "--overwrite", file)


@pytest.mark.parametrize(
    "change",
    [punched, written_over, touched_by_another_session],
    ids=lambda one: one.__name__,
)
@pytest.mark.promise("resume.unproven_state")
def test_it_measures_on_the_state_that_the_test_asks_for(
    change: Callable[[Path], None], tmp_path: Path, store_path: Path, file: Path
) -> None:
    run(plan_file(tmp_path, WRITES), file)
    with Store.open(store_path) as store:
        session = store.session("last").id
    interrupted_after(3, store_path)
    change(file)
    if change is not touched_by_another_session:
        done = ioplan("resume", session)
        assert done.code == 2 and "add --overwrite" in done.err
    done = ioplan("resume", session, "--overwrite-data", file)
    assert done.code == 0, done.err
    assert "qd=4 needs the state that 2 runs before it left" in done.out
    found = [one.asked.kind for one in records(store_path, session)]
    assert found == ["prepare", "run", "run", "prepare", "run"]
    assert file.stat().st_blocks * 512 >= 8 << 20


def test_where_that_state_is_proven_nothing_is_repeated(
    tmp_path: Path, store_path: Path, file: Path
) -> None:
    """As the session would have left it between two runs."""
    plan = plan_file(tmp_path, WRITES)
    run(plan, file)
    interrupted_after(4, store_path)
    plan.write_text(WRITES.replace("1, 2, 4", "1, 2, 4, 8"))
    done = ioplan("resume")
    assert done.code == 0 and "needs the state" not in done.out
    assert kinds(store_path) == ["prepare", *["run"] * 4]


ON_SIM = (
    FILLED
    + """precondition more { filled write random 4KiB, qd 8, 1 pass }
test "W" {
  after filled
  vary qd in 1, 2, 4
  run random 4KiB 50/50 for 100ms
  idle 20ms
  repeat 2 { run random 8KiB 0/100 for 1MiB }
}
test "Rounds" {
  after more
  vary size in 4KiB, 16KiB
  run random 0/100 for 100ms
  rounds until steady iops when size == 4KiB, over 3, at most 3
}
test "Seek" {
  after filled
  run random 0/100, size 4KiB for 100ms
  seek highest qd in 1..64 where p99 <= 1ms
}
test "Reads" { after more vary qd in 1, 2 run random 4KiB 100/0 for 1MiB }"""
)


def figures(store_path: Path) -> list[object]:
    kept = [one for one in records(store_path) if one.asked.kind != "prepare"]
    return [(one.asked.test, one.asked.cell, one.directions) for one in kept]


@pytest.mark.long_but_first
@pytest.mark.parametrize("done_before", [3, 1, 5, 9, 12, 15, 18, 21, 24])
@pytest.mark.promise("resume.rounds")
def test_on_a_simulated_drive_the_figures_are_those_of_an_undisturbed_session(
    done_before: int, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, "on unsteady continue\n" + ON_SIM)
    done = ioplan("run", plan, "--backend", "sim", "--create", "256MiB")
    assert done.code in (0, 1), done.err
    undisturbed = figures(store_path)
    assert len(undisturbed) > done_before
    interrupted_after(done_before, store_path)
    assert ioplan("resume").code == done.code
    assert figures(store_path) == undisturbed


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


def rounds_of(store: Path) -> list[tuple[int, str]]:
    runs = (one.asked for one in records(store) if one.asked.kind == "run")
    return [(asked.round, asked.cell["qd"]) for asked in runs]


@pytest.mark.promise("resume.rounds")
def test_what_was_decided_is_not_repeated_after_a_resume(
    tmp_path: Path, store_path: Path, rough_sim: None
) -> None:
    """The same cells in the same order as without the interruption."""
    drive = ROOT / "examples/sim/client.toml"
    plan = plan_file(tmp_path, BY_CELL)
    done = ioplan("run", plan, "--sim", drive, "--create", "1GiB")
    assert done.code == 0, done.err
    whole = rounds_of(store_path)
    assert len(whole) < 24
    with Store.open(store_path) as store:
        session = store.session("last").id
        store.finish(session, "interrupted", "2026-01-01T00:00:00")
        forget_runs(store, session, above=len(whole) - 2)
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert rounds_of(store_path) == whole
    done = ioplan("show")
    assert "the rounds that decided each cell" in done.out
