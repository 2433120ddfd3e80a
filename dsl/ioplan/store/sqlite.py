"""An SQLite file as an SQLAlchemy engine: durable, and fit for several writers."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

WRITES = {"ioplan_writes": True}
"""The execution option of an engine whose transactions write."""
LOGS = ("-wal", "-journal")
"""What SQLite keeps beside a file for as long as it is not in the file."""


def sqlite_engine(path: Path, busy_s: float = 0.0, immutable: bool = False) -> Engine:
    """An engine for a file, which need not exist yet, but whose folder must.

    One that is immutable is read without a lock, and nothing is made beside it.
    """
    engine = create_engine(_url(path, immutable), connect_args={"timeout": busy_s})

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:
        # the driver's own BEGIN comes too late, only before the first write
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        # a store that was passed on may have triggers and views of its own
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("ioplan_writes"):
            connection.exec_driver_sql("BEGIN")
            return
        _use_wal(connection, busy_s)
        # a transaction that reads first could not wait for its turn to write
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _url(path: Path, immutable: bool) -> URL:
    if not immutable:
        return URL.create("sqlite", database=str(path))
    options = {"uri": "true", "immutable": "1"}
    return URL.create("sqlite", database=path.absolute().as_uri(), query=options)


def is_immutable(path: Path) -> bool:
    """Whether we cannot write to it, and no log holds what is not in it yet."""
    logs = (path.with_name(path.name + log) for log in LOGS)
    try:
        if any(log.stat().st_size for log in logs if log.exists()):
            return False
    except OSError:  # not for us to see
        return False
    needed = (path, path.parent)
    return not all(os.access(one, os.W_OK, effective_ids=True) for one in needed)


def _use_wal(connection: Connection, busy_s: float) -> None:
    """Switch to WAL. SQLite's busy timeout does not cover this, so wait here.

    The file remembers it, so only writers do it.
    """
    deadline_s = time.monotonic() + busy_s
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            code = getattr(error.orig, "sqlite_errorcode", 0)
            busy = code & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline_s:
                raise
        time.sleep(0.01)
