"""What a host has not delivered is kept and sent; a store that is lost is written anew."""

import os
import re
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command import ioplan, plan_file, program
from figures import measurement, record, run
from refused import refused
from sessions import TABLES_OF_SESSIONS, put, session
from started import started

from ioplan import StoreFault
from ioplan.records import RunDetail
from ioplan.results.store import (
    Delivery,
    Outbox,
    Store,
    StoreError,
    delivered_now,
    send_all,
    session_lock,
    start,
    without_password,
)
from ioplan.runner import processes
from targets import wait_for

MADE = measurement()
IDS = [f"20261121-05000{number}-aaaa" for number in range(3)]
NOWHERE = "postgresql://lab:secret@127.0.0.1:1/ioplan"


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A store with three sessions of two runs."""
    path = tmp_path_factory.mktemp("three") / "a.db"
    with Store.open(path) as store:
        for id in IDS:
            put(store, run(1, MADE), run(2, MADE), id=id)
    return path


@pytest.fixture
def outbox(three, tmp_path):
    """Of a copy of that store, all of whose sessions are to be sent to b.db."""
    found = Outbox(shutil.copy(three, tmp_path / "a.db"))
    for id in IDS:
        found.add(id, str(tmp_path / "b.db"))
    return found


def there(outbox):
    """The runs of each session that has arrived."""
    path = outbox.store.with_name("b.db")
    if not path.exists():
        return {}
    with Store.open(path) as store:
        return {id: store.count(id) for id in sorted(store.ids())}


def address(outbox, sessions, place):
    """Those that are to be sent go to another place."""
    for one in outbox.entries():
        if one.session in sessions:
            outbox.add(one.session, place)


def test_all_that_is_in_it_is_sent_once(outbox):
    assert [one.session for one in outbox.due()] == IDS
    send_all(outbox.store, 0)
    assert there(outbox) == dict.fromkeys(IDS, 2)
    assert outbox.entries() == [] and outbox.report() == {}


def test_a_session_that_goes_on_is_sent_when_it_has_ended(outbox):
    with session_lock(outbox.store.parent / "sessions" / IDS[1]):
        send_all(outbox.store, 0)
        assert list(there(outbox)) == [IDS[0], IDS[2]]
        assert list(outbox.report()) == [IDS[1]]
    send_all(outbox.store, 0)
    assert list(there(outbox)) == IDS


def test_a_refused_session_is_told_and_holds_up_no_other(outbox):
    with Store.open(outbox.store.with_name("b.db")) as shared:
        other = {"id": IDS[0], "target": "another drive"}
        shared.begin(session(**other))
    send_all(outbox.store, 0)
    assert there(outbox) == {IDS[0]: 0, IDS[1]: 2, IDS[2]: 2}
    assert outbox.due() == [], "it is not tried again and again"
    (left,) = outbox.report().values()
    assert left.refused and left.stored == 0
    assert "its target is another one" in left.error
    address(outbox, IDS, str(outbox.store.with_name("c.db")))
    assert [one.session for one in outbox.due()] == IDS[:1], "to another database it is"


def test_a_session_that_is_dropped_is_not_sent(outbox):
    for text in ("is no longer to be sent", "was not to be sent"):
        done = ioplan("push", IDS[1], "--drop", "--store", outbox.store)
        assert done.code == 0 and text in done.out
    assert ioplan("push", "--drop", "--store", outbox.store).code == 2
    send_all(outbox.store, 0)
    assert list(there(outbox)) == [IDS[0], IDS[2]]


def test_a_silent_server_is_tried_again(outbox, monkeypatch):
    address(outbox, IDS[:2], NOWHERE)
    waits = []

    def wait(seconds):
        """The server is there again after the second failure."""
        waits.append(seconds)
        assert outbox.report()[IDS[0]].error == "Connection refused"
        if len(waits) == 2:
            address(outbox, IDS, str(outbox.store.with_name("b.db")))

    monkeypatch.setattr(time, "sleep", wait)
    send_all(outbox.store, 60)
    assert there(outbox) == dict.fromkeys(IDS, 2) and outbox.entries() == []
    assert 0.5 < waits[0] < 1.5 < waits[1] < 2.5 and len(waits) == 2


def test_what_is_entered_again_meanwhile_stays(outbox):
    """One process sends at a time; a session that was never begun leaves."""
    before = outbox.due()[0]
    outbox.add(before.session, before.place)
    outbox.acknowledge(before)
    assert [one.session for one in outbox.entries()] == IDS
    outbox.add("20261121-060000-zzzz", before.place)
    with outbox.sending() as mine:
        assert mine
        send_all(outbox.store, 0)
    assert there(outbox) == {}
    send_all(outbox.store, 0)
    assert outbox.entries() == [] and list(there(outbox)) == IDS


@pytest.mark.slow
def test_one_sender_is_started_however_many_ask(outbox):
    """As when many drive jobs of a host end at once."""
    address(outbox, IDS, NOWHERE)
    with ThreadPoolExecutor(8) as many:
        list(many.map(lambda _: start(outbox.store, 600.0), range(16)))
    (process,) = [one for one in processes() if str(outbox.store) in words_of(one)]
    try:
        with outbox.sending() as mine:
            assert mine is None
        refused = {"Connection refused"}
        wait_for(lambda: {one.error for one in outbox.report().values()} == refused, 60)
    finally:
        os.kill(int(process.name), signal.SIGKILL)


def words_of(process):
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


def test_half_a_line_of_another_program_is_no_entry(outbox):
    (outbox.folder / "x.json").write_text('{"place": ')
    (outbox.folder / "state").write_text("[]")
    assert [one.session for one in outbox.due()] == IDS
    assert outbox.report() == dict.fromkeys(IDS, Delivery())


@pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: needs another user")
def test_nobody_else_says_where_results_are_sent(outbox):
    outbox.folder.chmod(0o777)
    assert outbox.due() == []
    with pytest.raises(StoreError, match="cannot note in"):
        outbox.add(IDS[0], "postgresql://thief/db")


LOSSES_THERE = (TABLES_OF_SESSIONS, (*TABLES_OF_SESSIONS, "session"))


@pytest.mark.slow
@pytest.mark.parametrize("tables", LOSSES_THERE)
def test_a_restored_backup_is_noticed_and_filled(outbox, tables):
    """As after restoring an older backup: all is gone, or what these tables had."""
    place = str(outbox.store.with_name("b.db"))
    send_all(outbox.store, 0)
    assert stored_now(outbox, place) == {2}
    with Store.open(Path(place)) as shared, shared.writing() as connection:
        for table in tables:
            connection.change(f"DELETE FROM {table}", {})
    assert stored_now(outbox, place) == {0}
    assert outbox.due() == [] and outbox.is_check_due()
    send_by_program(outbox)
    assert there(outbox) == dict.fromkeys(IDS, 2)
    assert outbox.entries() == [] and not outbox.is_check_due()


def send_by_program(outbox):
    """As `start` has it done."""
    sender = "ioplan.results.store.delivery"
    done = program(sys.executable, "-m", sender, outbox.store, "0")
    assert done.returncode == 0 and not done.stderr, done


def stored_now(outbox, place):
    """How many runs of each session are there."""
    return {one.stored for one in delivered_now(outbox.store, IDS, place).values()}


def test_of_what_is_away_nothing_is_sure(outbox):
    for one in delivered_now(outbox.store, IDS, NOWHERE).values():
        assert (one.stored, one.error) == (0, "Connection refused")
    assert without_password(NOWHERE) == "postgresql://lab:***@127.0.0.1:1/ioplan"


@pytest.mark.slow
def test_what_was_dropped_or_moved_away_does_not_come_back(outbox):
    outbox.drop(frozenset(IDS))
    send_all(outbox.store, 0)
    assert outbox.delivered() == [] and not outbox.is_check_due()
    outbox.store.rename(outbox.store.with_name("away.db"))
    send_by_program(outbox)
    assert not outbox.store.exists()


RUNS = """test "Reads" {
  vary qd in 1, 2, 4, 8
  run random 4KiB 100/0 for 400ms
}"""


def remove(path):
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


def replace_it(path):
    other = path.with_name("other.db")
    Store.open(other).close()
    other.replace(path)


def restore_a_copy(path):
    shutil.copyfile(path, path.with_name("copy.db")).replace(path)


LOSSES = [remove, Path.unlink, replace_it, restore_a_copy]


@pytest.mark.parametrize("lose", LOSSES)
def test_all_of_it_is_written_anew(tmp_path, lose):
    path, id = tmp_path / "results.db", record(1).session
    with Store.open(path) as store:
        put(store, record(1))
        lose(path)
        with refused(StoreFault.STORE_LOST, "was removed or replaced") as caught:
            store.add(record(2), RunDetail())
        store.finish(id, "failed", "2026-01-01T00:00:00Z")
    with Store.open(rescued_in(str(caught.value))) as copy:
        assert [one.seq for one in copy.records(id)] == [1, 2]
        assert copy.session("last").status == "failed"


def rescued_in(text):
    """The copy that a message names."""
    found = re.search(r"\S+-rescued-\S+\.db", text)
    assert found, text
    return Path(found[0])


def test_a_file_that_was_emptied_is_noticed(tmp_path):
    path = tmp_path / "results.db"
    with Store.open(path) as store:
        store.begin(session())
        os.truncate(path, 0)
        with pytest.raises(StoreError):
            store.add(record(1), RunDetail())


@pytest.mark.slow
@pytest.mark.long
def test_a_session_ends_with_3_and_says_where_they_are(tmp_path):
    path, scratch = tmp_path / "results.db", tmp_path / "scratch"
    words = ("--store", path, "--target", scratch, "--create", "8MiB")
    with started(plan_file(tmp_path, RUNS), *words) as run:
        run.until("record")
        remove(path)
        code = run.end()
    assert code == 3, run.said
    with Store.open(rescued_in(run.said)) as copy:
        kept = list(copy.records(copy.session("last").id))
    assert len(kept) == 2 and all(one.status == "ok" for one in kept)
