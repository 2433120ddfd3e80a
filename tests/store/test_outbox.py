"""What a host has not delivered yet is kept, and sent until it has arrived."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from command import ioplan
from figures import measurement, run
from sessions import put, session

from ioplan.results.store import (
    Delivery,
    Outbox,
    Store,
    StoreError,
    send_all,
    session_lock,
)
from ioplan.results.store.delivery import sender
from ioplan.results.store.delivery.delivered import delivered_now, stored_now
from ioplan.results.store.delivery.reasons import shown
from ioplan.results.store.session_folder import session_folder

MADE = measurement()
IDS = [f"20261121-05000{number}-aaaa" for number in range(3)]
NOWHERE = "postgresql://lab:secret@127.0.0.1:1/ioplan"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three sessions of two runs."""
    path = tmp_path_factory.mktemp("three") / "a.db"
    with Store.open(path) as store:
        for id in IDS:
            put(store, run(1, MADE), run(2, MADE), id=id)
    return path


@pytest.fixture
def outbox(three: Path, tmp_path: Path) -> Outbox:
    """Of a copy of that store, all of whose sessions are to be sent to b.db."""
    found = Outbox(shutil.copy(three, tmp_path / "a.db"))
    for id in IDS:
        found.add(id, str(tmp_path / "b.db"))
    return found


def there(outbox: Outbox) -> dict[str, int]:
    """The runs of each session that has arrived."""
    path = outbox.store.with_name("b.db")
    if not path.exists():
        return {}
    with Store.open(path) as store:
        return {id: store.count(id) for id in sorted(store.ids())}


def address(outbox: Outbox, sessions: list[str], place: str) -> None:
    """Those that are to be sent go to another place."""
    for one in outbox.entries():
        if one.session in sessions:
            outbox.add(one.session, place)


def test_all_that_is_in_it_is_sent_once(outbox: Outbox) -> None:
    assert [one.session for one in outbox.due()] == IDS
    send_all(outbox.store, 0)
    assert there(outbox) == dict.fromkeys(IDS, 2)
    assert outbox.entries() == [] and outbox.report() == {}


def test_a_session_that_goes_on_is_sent_when_it_has_ended(outbox: Outbox) -> None:
    with session_lock(session_folder(outbox.store, IDS[1])):
        send_all(outbox.store, 0)
        assert list(there(outbox)) == [IDS[0], IDS[2]]
        assert list(outbox.report()) == [IDS[1]]
    send_all(outbox.store, 0)
    assert list(there(outbox)) == IDS


def test_a_refused_session_is_told_and_holds_up_no_other(outbox: Outbox) -> None:
    with Store.open(outbox.store.with_name("b.db")) as shared:
        other = {"id": IDS[0], "target": "another drive"}
        shared.begin(session(**other))
    send_all(outbox.store, 0)
    assert there(outbox) == {IDS[0]: 0, IDS[1]: 2, IDS[2]: 2}
    assert outbox.due() == [], "it is not tried again and again"
    (left,) = outbox.report().values()
    assert left.refused and (left.runs, left.stored) == (2, 0)
    assert "its target is another one" in left.error
    address(outbox, IDS, str(outbox.store.with_name("c.db")))
    assert [one.session for one in outbox.due()] == IDS[:1], "to another database it is"


def test_a_session_that_is_dropped_is_not_sent(outbox: Outbox) -> None:
    for words, text in (
        ([IDS[1]], "is no longer to be sent"),
        ([IDS[1]], "was not to be sent"),
    ):
        done = ioplan("push", *words, "--drop", "--store", outbox.store)
        assert done.code == 0 and text in done.out
    assert ioplan("push", "--drop", "--store", outbox.store).code == 2
    send_all(outbox.store, 0)
    assert list(there(outbox)) == [IDS[0], IDS[2]]


def test_a_server_that_does_not_answer_is_named_and_tried_again(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    address(outbox, IDS[:2], NOWHERE)
    answers = [outbox.store.with_name("b.db"), NOWHERE]

    def wait(outbox: Outbox, seconds: float) -> None:
        """The server is there again after the second failure."""
        waits.append(seconds)
        assert outbox.report()[IDS[0]].error == "Connection refused"
        if len(waits) == 2:
            address(outbox, IDS, str(answers[0]))

    waits: list[float] = []
    monkeypatch.setattr(sender, "_wait", wait)
    send_all(outbox.store, 60)
    assert there(outbox) == dict.fromkeys(IDS, 2) and outbox.entries() == []
    assert 0.5 < waits[0] < 1.5 < waits[1] < 2.5 and len(waits) == 2


def test_what_is_entered_again_meanwhile_stays(outbox: Outbox) -> None:
    before = outbox.due()[0]
    outbox.add(before.session, before.place)
    outbox.acknowledge(before)
    assert [one.session for one in outbox.entries()] == IDS


def test_a_session_that_was_never_begun_leaves(outbox: Outbox) -> None:
    outbox.add("20261121-060000-zzzz", str(outbox.store.with_name("b.db")))
    send_all(outbox.store, 0)
    assert outbox.entries() == [] and list(there(outbox)) == IDS


def test_one_process_sends_at_a_time(outbox: Outbox) -> None:
    with outbox.sending() as mine:
        assert mine
        send_all(outbox.store, 0)
    assert there(outbox) == {}


def test_half_a_line_of_another_program_is_no_entry(outbox: Outbox) -> None:
    (outbox.folder / "x.json").write_text('{"place": ')
    (outbox.folder / "state").write_text("[]")
    assert [one.session for one in outbox.due()] == IDS
    assert outbox.report() == dict.fromkeys(IDS, Delivery())


@pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: needs another user")
def test_nobody_else_says_where_results_are_sent(outbox: Outbox) -> None:
    outbox.folder.chmod(0o777)
    assert outbox.due() == []
    with pytest.raises(StoreError, match="cannot note in"):
        outbox.add(IDS[0], "postgresql://thief/db")


def test_a_password_is_not_shown_with_what_is_missing() -> None:
    assert shown(NOWHERE) == "postgresql://lab:***@127.0.0.1:1/ioplan"


# what was delivered is asked for again


def shared_of(outbox: Outbox) -> Store:
    return Store.open(outbox.store.with_name("b.db"))


def lose(outbox: Outbox, *tables: str) -> None:
    """As after restoring an older backup: all is gone, or what these tables had."""
    with shared_of(outbox) as shared, shared.writing() as connection:
        for table in tables:
            connection.change(f"DELETE FROM {table}", {})


LOST = (
    ("verdict", "run_blob", "run_telemetry", "run_intervals", "event", "run"),
    (
        "verdict",
        "run_blob",
        "run_telemetry",
        "run_intervals",
        "event",
        "run",
        "session",
    ),
)


@pytest.mark.parametrize("tables", LOST)
def test_delivered_is_what_the_shared_store_has_now(
    outbox: Outbox, tables: tuple[str, ...]
) -> None:
    place = str(outbox.store.with_name("b.db"))
    send_all(outbox.store, 0)
    now = delivered_now(outbox.store, IDS, place)
    assert {(one.done, one.stored, one.runs) for one in now.values()} == {(True, 2, 2)}
    lose(outbox, *tables)
    now = delivered_now(outbox.store, IDS, place)
    assert {(one.done, one.stored, one.runs) for one in now.values()} == {(False, 0, 2)}


@pytest.mark.parametrize("tables", LOST)
def test_a_restored_backup_is_noticed_and_filled_again(
    outbox: Outbox, tables: tuple[str, ...]
) -> None:
    send_all(outbox.store, 0)
    lose(outbox, *tables)
    assert outbox.due() == [] and outbox.is_check_due()
    sender.main(str(outbox.store), "0")
    assert there(outbox) == dict.fromkeys(IDS, 2)
    assert outbox.entries() == [] and not outbox.is_check_due()


def test_a_shared_store_that_is_away_has_nothing_for_sure(outbox: Outbox) -> None:
    send_all(outbox.store, 0)
    now = delivered_now(outbox.store, IDS, NOWHERE)
    assert {(one.done, one.stored, one.error) for one in now.values()} == {
        (False, 0, "Connection refused")
    }


def test_what_was_dropped_is_not_entered_again(outbox: Outbox) -> None:
    outbox.drop(frozenset(IDS))
    send_all(outbox.store, 0)
    assert outbox.delivered() == [] and not outbox.is_check_due()


def test_of_a_host_that_is_away_the_shared_store_is_asked(outbox: Outbox) -> None:
    """What is known of it is how many runs it had."""
    place = str(outbox.store.with_name("b.db"))
    with Store.open(outbox.store) as local:
        for id in IDS:
            local.finish(id, "ok", "2026-11-21T06:00:00+00:00")
    send_all(outbox.store, 0)
    now = stored_now(place, IDS, {IDS[0]: 2, IDS[1]: 3, "none": 1})
    assert [(now[id].done, now[id].stored) for id in (IDS[0], IDS[1], "none")] == [
        (True, 2),
        (False, 2),
        (False, 0),
    ]


def test_a_store_that_was_moved_away_is_not_created_again(outbox: Outbox) -> None:
    send_all(outbox.store, 0)
    outbox.store.rename(outbox.store.with_name("away.db"))
    sender.main(str(outbox.store), "0")
    assert not outbox.store.exists()
