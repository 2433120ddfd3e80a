"""What `ls`, `show` and `history` cost on the store of a large lab.

    python tests/benchmarks/store_10k.py [SESSIONS [RUNS [sqlite|postgres …]]]

Makes a store of 10,000 sessions of 100 runs, on 2,000 drives of 100 hosts, in a file and in
a PostgreSQL, if that is there; the database copies the runs, which takes minutes and, for a
million, 8 GB each. Each command is a process of its own, in seconds of CPU time.
"""

import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta

from benchmark_row import tell
from large_store import add_copies, add_session
from postgres import PATH, postgres
from sessions import session
from used import IOPLAN, used

from ioplan.records import Drive, Session, Verdict
from ioplan.results.store import Store

SESSIONS, RUNS, DRIVES, HOSTS = 10_000, 100, 2000, 100
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ID = "20270101-000000-aaaa"
PLAN = 'test "demo" { run random 4KiB 100/0 for 3s vary qd in 1..%d step 1 }'
HELD = Verdict(expectation="e", outcome="held", actual=2.0, limit=1.0, unit="1/s")
COMMANDS = {
    ("ls",): 1.0,
    ("show", ID): 1.0,
    ("history", ID, "--cell", "qd=8"): 5.0,
}


def main(sessions: int, runs: int, kinds: list[str]) -> None:
    """A store of each kind, and its rows."""
    if "sqlite" in kinds:
        with tempfile.TemporaryDirectory() as folder:
            measured(f"{folder}/results.db", "SQLite", sessions, runs)
    if "postgres" in kinds and shutil.which("initdb", path=PATH):
        with postgres() as address:
            measured(address, "PostgreSQL", sessions, runs)


def measured(place: str, kind: str, sessions: int, runs: int) -> None:
    """Fill it, and print a row for each command."""
    with Store.at(place) as store:
        fill(store, sessions, runs)
    for words, most_s in COMMANDS.items():
        call = used(IOPLAN, *words, "--store", place)
        lines = call.out.count("\n")
        tell(
            f"`ioplan {' '.join(words)}` on {kind}, {sessions:,} sessions, "
            f"{sessions * runs:,} runs",
            f"{call.cpu_s:.2f} s of CPU time, {lines:,} lines",
            f"at most {most_s:g} s",
            held=call.cpu_s <= most_s,
        )


def fill(store: Store, sessions: int, runs: int) -> None:
    """One session with all that belongs to it; of the others, the runs' records."""
    text = PLAN % runs
    add_session(store, one(sessions, text).model_copy(update={"id": ID}), HELD)
    add_copies(store, ID, [one(number, text) for number in range(sessions - 1)])
    with store.writing() as connection:
        connection.change("ANALYZE", {})


def one(number: int, text: str) -> Session:
    """Its drive, host and words follow from its number."""
    at = BEGAN + timedelta(minutes=30 * number)
    drive, host = number % DRIVES, f"host{number % HOSTS}"
    return session(
        f"{at:%Y%m%d-%H%M%S}-aaaa",
        plan=f"Review {number % 20}",
        plan_text=text,
        started_at=at.isoformat(timespec="milliseconds"),
        ended_at=(at + timedelta(minutes=20)).isoformat(timespec="milliseconds"),
        status="ok",
        host={"hostname": host, "kernel": "6.1"},
        host_name=host,
        person=("ada", "eve")[number % 2],
        drive=Drive(serial=f"S{drive:07}", model="ACME", lab_name=f"lab{drive}"),
        tags=("nightly",) if number % 3 else (),
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [int(word) for word in given if word.isdigit()]
    named = [word for word in given if not word.isdigit()]
    main(*(numbers + [SESSIONS, RUNS][len(numbers) :]), named or ["sqlite", "postgres"])
