"""examples/lab/postgres/hosts.sql: a host sees and adds its own results only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from desks import by_token, call_of, desk_in, state_of
from figures import measurement, record
from msgspec import Struct
from paths import ROOT
from postgres import needs_postgres, postgres, psql
from sessions import session

from ioplan import StoreFault
from ioplan.records import RunRequest
from ioplan.results.store import COUNTED, Store, StoreError, push
from ioplan_lab import (
    TABLES,
    DeskDatabase,
    LaneCall,
    LaneState,
    Missing,
    Queue,
    QueueEntry,
    Refused,
)

pytestmark = pytest.mark.long_but_first
SQL = ROOT / "examples/lab/postgres"
MINE, THEIRS = "20261125-100000-mine", "20261125-100000-theirs"
SECRETS = ("desk_token", "desk_browser", "desk_hook", "desk_delivery", "desk_audit")


class Roles(Struct):
    """Addresses of one database, by who asks."""

    owner: str

    def of(self, role: str) -> str:
        return self.owner.replace("ioplan@", f"{role}@")

    def refused(self, role: str, statement: str) -> None:
        with (
            psycopg.connect(self.of(role)) as there,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            there.execute(statement)

    def changed(self, role: str, statement: str) -> int:
        with psycopg.connect(self.of(role)) as there:
            return there.execute(statement).rowcount


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    """Hosts h1 and h2; each has pushed a session."""
    folder = tmp_path_factory.mktemp("roles")
    with postgres() as owner:
        made = Roles(owner)
        psql(owner, SQL / "roles.sql")
        DeskDatabase.at(made.of("lab"), folder, TABLES).close()
        for host in ("h1", "h2", "h1"):
            psql(owner, SQL / "hosts.sql", "-v", f"host={host}")
        pushed(folder / "h1.db", MINE, made.of("lab_h1"))
        pushed(folder / "h2.db", THEIRS, made.of("lab_h2"))
        yield made


def stored(file: Path, id: str) -> Store:
    local = Store.open(file)
    local.begin(session().model_copy(update={"id": id}))
    made = measurement()
    local.add(record(1, session=id, made=made), made.detail)
    local.finish(id, "ok", "2026-11-25T10:00:00+00:00")
    return local


def pushed(file: Path, id: str, address: str) -> None:
    with stored(file, id) as local, Store.at(address) as shared:
        assert [one.session for one in push(local, shared)] == [id]
        assert not list(push(local, shared))


@needs_postgres
@pytest.mark.long
def test_a_host_sees_its_own_and_readers_see_all(roles: Roles) -> None:
    seen = {
        role: {table: count(roles.of(role), table) for table in ("session", "run")}
        for role in ("lab_h1", "lab_h2", "lab_read", "lab")
    }
    assert seen["lab_h1"] == seen["lab_h2"] == {"session": 1, "run": 1}
    assert seen["lab_read"] == seen["lab"] == {"session": 2, "run": 2}


def count(address: str, table: str) -> int:
    with psycopg.connect(address) as there:
        (found,) = there.execute(f"SELECT count(*) FROM {table}").fetchone() or (-1,)
        return int(found)


@needs_postgres
def test_a_host_changes_nothing_of_another(roles: Roles) -> None:
    update = "UPDATE session SET status = 'failed' WHERE id = "
    assert roles.changed("lab_h1", f"{update} '{THEIRS}'") == 0
    assert roles.changed("lab_h1", f"{update} '{MINE}'") == 1
    assert roles.changed("lab", f"UPDATE session SET status = 'ok' WHERE id = '{MINE}'")
    event = "INSERT INTO event (session, position, at, kind, text) VALUES "
    roles.refused("lab_h1", f"{event} ('{THEIRS}', 1, '', 'x', '')")
    assert roles.changed("lab_h2", f"{event} ('{THEIRS}', 1, '', 'x', '')") == 1


@needs_postgres
def test_a_host_takes_nobodys_place(roles: Roles) -> None:
    """Neither by a name that it gives itself, nor by giving away what it added."""
    copied = "INSERT INTO session SELECT * FROM session"
    roles.refused("lab_h1", f"UPDATE session SET added_by = 'lab_h2' WHERE id='{MINE}'")
    with psycopg.connect(roles.of("lab")) as there:
        names = [column.name for column in there.execute("TABLE session").description]
    said = [
        {"id": "'20261125-x'", "added_by": "'lab_h2'"}.get(name, name) for name in names
    ]
    listed = f"({', '.join(names)}) SELECT {', '.join(said)} FROM session"
    roles.refused("lab_h1", f"INSERT INTO session {listed}")
    roles.refused("lab_h1", "SET ROLE lab_h2")
    roles.refused("lab_h1", f"ALTER TABLE session DISABLE ROW LEVEL SECURITY; {copied}")


@needs_postgres
def test_a_host_removes_and_rewrites_nothing(roles: Roles) -> None:
    for table in ("session", *COUNTED, "env", "drive", "meta"):
        roles.refused("lab_h1", f"DELETE FROM {table}")
        roles.refused("lab_h1", f"TRUNCATE {table} CASCADE")
        if table != "session":
            with psycopg.connect(roles.of("lab")) as there:
                name = there.execute(f"TABLE {table}").description[0].name
            roles.refused("lab_h1", f"UPDATE {table} SET {name} = {name}")


@needs_postgres
@pytest.mark.parametrize("role", ["lab_h1", "lab_read", "lab_operator"])
def test_only_the_desk_reads_secrets(roles: Roles, role: str) -> None:
    psql(roles.owner, "", "-c", f"ALTER ROLE {role} LOGIN")
    for table in SECRETS:
        roles.refused(role, f"TABLE {table}")


@needs_postgres
def test_a_host_neither_reads_nor_fills_the_queue(roles: Roles) -> None:
    roles.refused("lab_h1", "TABLE desk_queue")
    roles.refused("lab_h1", "INSERT INTO desk_lock VALUES ('x')")
    roles.refused("lab_h1", "CREATE TABLE public.mine (a int)")
    sample = "INSERT INTO desk_sample VALUES ('j', 'of another', 1, 1, 1)"
    roles.refused("lab_h1", sample)
    psql(roles.owner, "", "-c", "ALTER ROLE lab_operator LOGIN")
    assert roles.changed("lab_operator", "INSERT INTO desk_lock VALUES ('x')") == 1
    roles.refused("lab_operator", "DELETE FROM run")


@needs_postgres
def test_an_id_that_another_host_has_is_a_conflict(
    roles: Roles, tmp_path: Path
) -> None:
    with (
        stored(tmp_path / "h1.db", THEIRS) as local,
        Store.at(roles.of("lab_h1")) as shared,
        pytest.raises(StoreError) as told,
    ):
        list(push(local, shared))
    assert told.value.kind == StoreFault.SESSION_CONFLICT
    assert "added by somebody else" in str(told.value)


@needs_postgres
def test_lanes_are_reported_by_their_host_and_cancelled_by_people(
    roles: Roles, tmp_path: Path
) -> None:
    psql(roles.owner, "", "-c", "ALTER ROLE lab_operator LOGIN")
    with ExitStack() as stack:
        h1, h2, desk, person = (
            stack.enter_context(desk_in(tmp_path / one, results=roles.of(one)))
            for one in ("lab_h1", "lab_h2", "lab", "lab_operator")
        )
        one, two = (call_of(number, host=f"h{number}") for number in (1, 2))
        for host, call in ((h1, one), (h2, two)):
            host.inventory.forget_old()
            assert host.inventory.report([(call, running(call))]) == {}
        for whose, hosts in ((desk, 2), (person, 2), (h1, 1)):
            assert len(whose.inventory.running()) == hosts
        assert by_token(desk, "viewer").get(f"/jobs/{one.job}/now").text.count("<svg")
        person.inventory.cancel(one.job, "olga")
        told = h1.inventory.report([(one, running(one))])
        assert told == {one.session: "olga"}
        with pytest.raises(StoreError):
            h2.inventory.report([(one, running(one))])


@pytest.fixture(scope="module")
def people(roles: Roles) -> Roles:
    """Ada and olga are of one project, which alone may use drives with the tag qual."""
    for person in ("ada", "olga", "eve", "ada"):
        psql(roles.owner, SQL / "people.sql", "-v", f"person={person}")
    with psycopg.connect(roles.of("lab")) as there:
        there.execute("INSERT INTO desk_project VALUES ('n', 'ada'), ('n', 'olga')")
        there.execute("INSERT INTO desk_permission VALUES ('qual', '@n'), ('x', 'eve')")
        tags = "('d1', 'qual'), ('d2', 'qual'), ('d2', 'x'), ('d3', 'free')"
        there.execute(f"INSERT INTO desk_tag VALUES {tags}")
    return roles


def queued(role: str, people: Roles, person: str, *drives: str) -> int:
    """Add to the queue as `ioplan lab queue add` does; returns its number."""
    with DeskDatabase.at(people.of(role), SQL, TABLES) as there:
        wanted = QueueEntry(person, "P", {"p": "x"}, "t", drives)
        return Queue(there).add(wanted)


@needs_postgres
def test_people_queue_in_their_own_name(people: Roles) -> None:
    assert queued("lab_ada", people, "ada", "d3", "d4") > 0
    assert queued("lab_operator", people, "ada", "d3") > 0, "a role that all share"
    for role, person in (("lab_ada", "olga"), ("lab_eve", "ada")):
        with pytest.raises(StoreError, match="row-level security"):
            queued(role, people, person, "d3")


@needs_postgres
def test_drives_of_a_tag_are_for_whom_it_permits(people: Roles) -> None:
    assert queued("lab_olga", people, "olga", "d1") > 0
    for role, person, drive in (
        ("lab_eve", "eve", "d1"),
        ("lab_ada", "ada", "d2"),
        ("lab_eve", "eve", "d2"),
    ):
        with pytest.raises(StoreError, match="row-level security"):
            queued(role, people, person, "d3", drive)
    reserve = "INSERT INTO desk_reservation VALUES (%s, 'd1', '%s', '', '', '')"
    people.refused("lab_eve", reserve % (1, "eve"))
    people.refused("lab_ada", reserve % (1, "eve"))
    assert people.changed("lab_ada", reserve % (1, "ada")) == 1
    assert people.changed("lab_eve", "DELETE FROM desk_reservation") == 0
    assert people.changed("lab_olga", "DELETE FROM desk_reservation") == 1


@needs_postgres
def test_nobody_permits_themselves(people: Roles) -> None:
    assert people.changed("lab_eve", "DELETE FROM desk_tag WHERE tag = 'qual'") == 0
    people.refused("lab_eve", "INSERT INTO desk_tag VALUES ('d3', 'qual')")
    assert people.changed("lab_eve", "INSERT INTO desk_tag VALUES ('d1', 'new')") == 1
    people.refused("lab_eve", "INSERT INTO desk_project VALUES ('n', 'eve')")
    people.refused("lab_eve", "DELETE FROM desk_permission")
    people.refused("lab_eve", "SET ROLE lab_ada")


@needs_postgres
def test_people_cancel_what_is_of_their_projects(people: Roles, tmp_path: Path) -> None:
    number = queued("lab_ada", people, "ada", "d3")
    call = call_of(7, request=RunRequest(person="ada"))
    with ExitStack() as stack:
        h1, eve, olga = (
            stack.enter_context(desk_in(tmp_path / one, results=people.of(one)))
            for one in ("lab_h1", "lab_eve", "lab_olga")
        )
        h1.inventory.report([(call, running(call))])
        with pytest.raises(Missing):
            eve.inventory.cancel(call.job, "eve")
        with pytest.raises(Refused, match=f"its project change #{number}"):
            eve.queue.cancel(number, "eve")
        assert olga.queue.cancel(number, "olga") == "cancelled"
        assert olga.queue.entry(number).state == "cancelled"
        olga.inventory.cancel(call.job, "olga")
        told = h1.inventory.report([(call, running(call))])
        assert told == {call.session: "olga"}


def running(call: LaneCall) -> LaneState:
    return state_of(call, status="running", iops=1.0)
