"""An SQLite file as an SQLAlchemy engine: durable, and fit for several writers."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

WRITES = {"ioplan_writes": True}
"""The execution option of an engine whose transactions write."""


def sqlite_engine(path: Path, busy_s: float) -> Engine:
    """An engine for a file, which need not exist yet, but whose folder must."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)), connect_args={"timeout": busy_s}
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:
        # the driver's own BEGIN comes too late, only before the first write
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        # a store that was passed on may have triggers and views of its own
        connection.execute("PRAGMA trusted_schema = OFF")
        _use_wal(connection, busy_s)
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # a transaction that reads first could not wait for its turn to write
        writes = connection.get_execution_options().get("ioplan_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_wal(connection: sqlite3.Connection, busy_s: float) -> None:
    """Switch to WAL. SQLite's busy timeout does not cover this, so wait here."""
    deadline_s = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline_s:
                raise
        time.sleep(0.01)
