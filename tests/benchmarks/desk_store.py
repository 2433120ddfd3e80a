"""What `ls`, `show`, `history` and the desk's pages cost on the store of a large lab.

    python tests/benchmarks/desk_store.py [SESSIONS [RUNS [sqlite|postgres …]]]

Makes a store of 10,000 sessions of 100 runs, on 2,000 drives of 100 hosts, in a file and in
a PostgreSQL, if that is there; the database copies the runs, which takes minutes and, for a
million, 8 GB each. Each command is a process of its own, in seconds of CPU time.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from benchmark_row import tell
from desk_pages import pages
from figures import measurement, record
from postgres import PATH, postgres
from sessions import session

from ioplan.records import Drive, Session, Verdict
from ioplan.results.store import COLUMNS, Store
from ioplan.results.store.connection import Connection
from ioplan.results.store.layout.tables import insert, insert_missing
from ioplan.results.store.rows import drive_row, env_row, session_row

SESSIONS, RUNS, DRIVES, HOSTS, PAGE = 10_000, 100, 2000, 100, 500
MOST_S = {"ls": 1.0, "show": 1.0, "history": 5.0}
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ID = "20270101-000000-aaaa"
PLAN = 'plan "P" test "demo" { run random 4KiB 100/0 for 3s }'
COPY = """
INSERT INTO {table} ({columns}) SELECT {values} FROM {table} AS one JOIN session
ON session.id >= :first AND session.id <= :last WHERE one.session = :base"""


def main(sessions: int, runs: int, kinds: list[str]) -> None:
    """A store of each kind, and its rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "sqlite" in kinds:
            measured(str(folder / "results.db"), "SQLite", sessions, runs)
            shutil.rmtree(folder)
            folder.mkdir()
        if "postgres" in kinds and shutil.which("initdb", path=PATH):
            with postgres() as address:
                measured(address, "PostgreSQL", sessions, runs)


def measured(place: str, kind: str, sessions: int, runs: int) -> None:
    """Fill it, and print a row for each command."""
    with Store.at(place) as store:
        fill(store, sessions, runs)
    on = f"{kind}, {sessions:,} sessions, {sessions * runs:,} runs"
    for words in (
        ("ls",),
        ("ls", "--limit", "20"),
        ("ls", "--drive", "lab7", "--verdict", "failed"),
        ("ls", "--format", "csv"),
        ("show", ID),
        ("history", ID, "--cell", "qd=8"),
    ):
        used_s, lines = cpu_s(place, *words)
        shown = " ".join(words)
        tell(
            f"`ioplan {shown}` on {on}",
            f"{used_s:.2f} s of CPU time, {lines:,} lines",
            f"at most {MOST_S[words[0]]:g} s",
            held=used_s <= MOST_S[words[0]],
        )
    pages(place, f"{on}, {DRIVES:,} drives, {HOSTS} hosts", lab())


def lab() -> str:
    """A lab file that names all drives."""
    lines = ['scheduler = "tls://127.0.0.1:9"']
    lines += [f"[hosts.host{number}]" for number in range(HOSTS)]
    for number in range(DRIVES):
        lines += [f"[targets.lab{number}]", f'host = "host{number % HOSTS}"']
        lines += [f'serial = "S{number:07}"']
    return "\n".join([*lines, ""])


def cpu_s(place: str, *words: str) -> tuple[float, int]:
    """CPU time of a call, in user and kernel, and how many lines it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "ioplan.cli", *words, "--store", place],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used_s, done.stdout.count(b"\n")


# ---- the store


def fill(store: Store, sessions: int, runs: int) -> None:
    """One session with all that belongs to it; of the others, the runs' records."""
    made = measurement(1)
    verdict = Verdict(
        expectation="e", outcome="held", actual=2.0, limit=1.0, unit="1/s"
    )
    store.begin(one(sessions).model_copy(update={"id": ID}))
    for seq in range(1, runs + 1):
        update = {"verdicts": (verdict,), "run_id": f"run-{seq}"}
        cell = {"qd": str(seq), "bs": "4KiB"}
        run = record(seq, session=ID, made=made, cell=cell).model_copy(update=update)
        store.add(run, made.detail)
    others = [one(number) for number in range(sessions - 1)]
    for first in range(0, len(others), PAGE):
        page = others[first : first + PAGE]
        with store.writing() as connection:
            add_sessions(connection, page)
            for table in ("run", "verdict"):
                copy(connection, table, page)
    with store.writing() as connection:
        fail_some(connection)
        connection.change("ANALYZE", {})


def one(number: int) -> Session:
    """Its drive, host and words follow from its number."""
    at = BEGAN + timedelta(minutes=30 * number)
    drive = number % DRIVES
    return session(
        f"{at:%Y%m%d-%H%M%S}-aaaa",
        plan=f"Review {number % 20}",
        plan_text=PLAN,
        started_at=at.isoformat(timespec="milliseconds"),
        ended_at=(at + timedelta(minutes=20)).isoformat(timespec="milliseconds"),
        status="ok",
        host={"hostname": f"host{number % HOSTS}", "kernel": "6.1"},
        host_name=f"host{number % HOSTS}",
        person=("ada", "eve")[number % 2],
        drive=Drive(serial=f"S{drive:07}", model="ACME", lab_name=f"lab{drive}"),
        tags=("nightly",) if number % 3 else (),
    )


def add_sessions(connection: Connection, page: list[Session]) -> None:
    """With their hosts and drives."""
    insert_missing(connection, "env", *(env_row(each.host) for each in page))
    drives = (drive_row(each.drive) for each in page if each.drive)
    insert_missing(connection, "drive", *drives)
    insert(connection, "session", *map(session_row, page))


def copy(connection: Connection, table: str, page: list[Session]) -> None:
    """The rows of the first session for each of these, under its id."""
    other = {
        "session": "session.id",
        "env": "session.env",
        "record": "replace(one.record, :base, session.id)",
    }
    names = COLUMNS[table]
    values = ", ".join(other.get(name, f"one.{name}") for name in names)
    statement = COPY.format(table=table, columns=", ".join(names), values=values)
    ends = {"first": page[0].id, "last": page[-1].id}
    connection.change(statement, {"base": ID, **ends})


FAIL = """
UPDATE verdict SET verdict = replace(verdict, '"held"', '"failed"')
WHERE seq = 7 AND session LIKE '%00-aaaa'
AND session IN (SELECT id FROM session WHERE host_name = 'host7')"""


def fail_some(connection: Connection) -> None:
    """An expectation of some sessions."""
    connection.change(FAIL, {})


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [int(word) for word in given if word.isdigit()]
    named = [word for word in given if not word.isdigit()]
    main(*(numbers + [SESSIONS, RUNS][len(numbers) :]), named or ["sqlite", "postgres"])
