"""What the shared database does for one session: `python tests/benchmarks/push_one.py`.

PostgreSQL is real, and has a million runs of other sessions. The rows read are those
that its own statistics count, the same on a busy machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from benchmark_row import tell
from command import ioplan
from postgres import postgres

from ioplan.results.store.push import push
from ioplan.results.store.store import Store

RUNS, OF_SESSION, MOST_ROWS = 1_000_000, 13, 500
PLAN = Path(__file__).parents[2] / "examples/demo.ioplan"
COPIES = """
INSERT INTO {table} SELECT {columns} FROM {table} AS one, generate_series(1, %s) AS n
"""
READ = "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables"


def copied(connection: Any, table: str, sessions: int) -> None:
    """The one session there, so many times."""
    from ioplan.results.store.layout.tables import COLUMNS

    key = "id" if table == "session" else "session"
    columns = ", ".join(
        f"{name} || '-' || n" if name == key else name for name in COLUMNS[table]
    )
    connection.execute(COPIES.format(table=table, columns=columns), [sessions])


def rows_read(connection: Any) -> int:
    connection.execute("SELECT pg_stat_force_next_flush()")
    connection.execute("SELECT pg_stat_clear_snapshot()")
    return int(connection.execute(READ).fetchone()[0] or 0)


def main() -> None:
    import psycopg

    with tempfile.TemporaryDirectory() as name, postgres() as address:
        folder = Path(name)
        made: list[Path] = []
        for number in range(2):
            made.append(folder / f"{number}.db")
            os.environ["IOPLAN_STORE"] = str(made[-1])
            words = ("--backend", "sim", "--create", "1GiB", "--quiet")
            assert ioplan("run", PLAN, *words).code == 0
        with Store.open(made[0]) as first, Store.at(address) as shared:
            list(push(first, shared))
        with psycopg.connect(address, autocommit=True) as connection:
            for table in ("session", "run", "run_blob", "verdict"):
                copied(connection, table, RUNS // OF_SESSION)
            connection.execute("ANALYZE")
            before, begun_s = rows_read(connection), time.perf_counter()
            with Store.open(made[1]) as second, Store.at(address) as shared:
                (sent,) = push(second, shared, second.ids())
                took_s = time.perf_counter() - begun_s
            read = rows_read(connection) - before
        tell(
            f"pushing a session of {sent.runs} runs to a store of {RUNS:,}",
            f"{read:,} rows read by the database, {took_s * 1000:.0f} ms",
            f"at most {MOST_ROWS} rows",
            held=read <= MOST_ROWS,
        )


if __name__ == "__main__":
    main()
