"""A PostgreSQL database as a store's, for results that a lab shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Source
from ioplan.results.store.errors import KeyViolation, StoreError, without_password

CONNECTION: dict[str, Any] = {
    "connect_timeout": 4,
    # a server that went without a word is given up after half a minute, not after hours
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""libpq's words."""
LIMITS = """SELECT set_config('lock_timeout', '30s', true),
    set_config('idle_in_transaction_session_timeout', '60s', true)"""
"""A writer whose link was cut holds its rows for a minute at most, and whoever needs
them meanwhile is told so. For one transaction: poolers pass connections on."""
SCHEMA_LOCK = 0x696F706C616E
"""The advisory lock of those who make the tables: "ioplan" in ASCII."""
ENDING = ("57P01", "57P02", "57P03")
"""SQL states of a server that ends, or begins."""
WORDS = {
    r" BLOB\b": " BYTEA",
    r" DOUBLE\b": " DOUBLE PRECISION",
    r" WITHOUT ROWID": "",
    r" VIRTUAL\b": " STORED",
    r"\binstr\(": "strpos(",
    r"\bjson_extract\(([\w.]+), '\$\.(\w+)'\)": r"(\1::jsonb ->> '\2')",
    r"\bjson_each\((.+?)\) AS (\w+)": (
        r"jsonb_array_elements_text(\1::jsonb) AS \2(value)"
    ),
    r"\bjulianday\((.+?)\)": r"(extract(epoch FROM \1::timestamptz) / 86400)",
}
"""PostgreSQL's for SQLite's, in definitions."""
PARAMETER = re.compile(r"(?<![:\w]):(\w+)(?!:)")
MOST_IDLE = 5


class PostgresDatabase(Source):
    """The database at `postgresql://[USER@]HOST/DATABASE`. Raises StoreError.

    Passwords are libpq's business: ~/.pgpass, PGPASSWORD, or a peer's login.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self.where = without_password(address)
        self._address = address
        try:
            conninfo_to_dict(address)
        except psycopg.ProgrammingError as error:
            raise StoreError(
                f"this is no address of a database: {error}; write for example "
                f"postgresql://lab@db.example/ioplan",
                StoreFault.STORE_ADDRESS,
            ) from error

    @contextmanager
    def transaction(self, writes: bool) -> Iterator[Connection]:
        with _errors(self.where):
            connection = self._idle_connection() or psycopg.connect(
                self._address, **CONNECTION
            )
            try:
                with connection.transaction():
                    if writes:
                        connection.execute(LIMITS)
                    yield PostgresConnection(connection)
            finally:
                if len(self._idle) < MOST_IDLE and not connection.closed:
                    self._idle.append(connection)
                else:
                    connection.close()

    def _idle_connection(self) -> Any:
        """One that the server has not closed meanwhile."""
        while connection := super()._idle_connection():
            with suppress(psycopg.Error):
                connection.execute("SELECT 1")
                connection.rollback()
                return connection
            connection.close()
        return None


class PostgresConnection(Connection):
    for_update = " FOR UPDATE"
    tables = """
        SELECT tablename AS name FROM pg_tables
        WHERE schemaname = current_schema()"""
    lock = f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"

    def define(self, statement: str, /) -> None:
        for lite, own in WORDS.items():
            statement = re.sub(lite, own, statement)
        super().define(statement)

    @staticmethod
    @lru_cache
    def _translated(statement: str) -> bytes:
        """With psycopg's `%(name)s` for `:name`."""
        return PARAMETER.sub(r"%(\1)s", statement.replace("%", "%%")).encode()


@contextmanager
def _errors(where: str) -> Iterator[None]:
    """Turn the server's errors into StoreError and KeyViolation."""
    try:
        yield
    except psycopg.IntegrityError as error:
        raise KeyViolation from error
    except psycopg.Error as error:
        text, fault = f"reports: {error}", StoreFault.STORE_DATABASE
        # a server's own errors have an SQL state; without one it did not answer
        is_operational = isinstance(error, psycopg.OperationalError)
        if is_operational and error.sqlstate in (None, *ENDING):
            reason = str(error).partition("\n")[0]  # then advice, and each address
            text = (
                f"cannot be reached: {reason}; see that the server runs and lets you "
                "in (psql with the same address); what is kept on this host stays there"
            )
            fault = StoreFault.STORE_UNREACHABLE
        raise StoreError(f"the store {where} {text}", fault) from error
