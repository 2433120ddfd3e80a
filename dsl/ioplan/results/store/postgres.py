"""A PostgreSQL database as a store's, by SQLAlchemy, for results that a lab shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Row
from ioplan.results.store.errors import KeyViolation, StoreError

DRIVER = "postgresql+psycopg"
CONNECTION = {
    "connect_timeout": 10,
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
TABLE_NAMES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
WORDS = {
    r" BLOB\b": " BYTEA",
    r" DOUBLE\b": " DOUBLE PRECISION",
    r" VIRTUAL\b": " STORED",
    r"\binstr\(": "strpos(",
    r"\bjson_each\((.+?)\) AS (\w+)": (
        r"jsonb_array_elements_text(\1::jsonb) AS \2(value)"
    ),
    r"\bjulianday\((.+?)\)": r"(extract(epoch FROM \1::timestamptz) / 86400)",
}
"""PostgreSQL's for SQLite's."""
JSON_PATH = re.compile(r"\bjson_extract\(([\w.]+), '\$\.([^']+)'\)")


class PostgresDatabase:
    """The database at `postgresql://[USER@]HOST/DATABASE`. Raises StoreError.

    Passwords are libpq's business: ~/.pgpass, PGPASSWORD, or a peer's login.
    """

    def __init__(self, address: str) -> None:
        self.where = without_password(address)
        url = _url(address).set(drivername=DRIVER)
        self._engine = create_engine(url, connect_args=CONNECTION, pool_pre_ping=True)

    @contextmanager
    def transaction(self, writes: bool) -> Iterator[PostgresConnection]:
        """Each has a connection to itself."""
        with _errors(self.where), self._engine.begin() as connection:
            if writes:
                connection.execute(text(LIMITS))
            yield PostgresConnection(connection)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


class PostgresConnection:
    """A transaction; see `connection.Connection`."""

    for_update = " FOR UPDATE"
    own = ""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        found = self._connection.execute(text(query), values)
        names = list(found.keys())
        return [dict(zip(names, row, strict=True)) for row in found]

    def change(self, statement: str, /, *rows: Row) -> int:
        return self._connection.execute(text(statement), rows).rowcount if rows else 0

    def define(self, statement: str, /) -> None:
        self._connection.execute(text(translated(statement)))

    def table_names(self) -> set[str]:
        return set(self._connection.scalars(text(TABLE_NAMES)))

    def lock_schema(self) -> None:
        self._connection.execute(text(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"))


def translated(statement: str) -> str:
    """A definition in SQLite's words in PostgreSQL's."""
    for lite, own in WORDS.items():
        statement = re.sub(lite, own, statement)
    return JSON_PATH.sub(_path, statement)


def _path(found: re.Match[str]) -> str:
    """`$.a.b[3]` is `{a,b,3}`."""
    steps = re.sub(r"[.\[]+", ",", found[2].replace("]", ""))
    return f"({found[1]}::jsonb #>> '{{{steps}}}')"


def without_password(address: str) -> str:
    """The address without a password in it."""
    return _url(address).render_as_string(hide_password=True)


def _url(address: str) -> URL:
    try:
        return make_url(address.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"this is no address of a database: {error}; write for example "
            f"postgresql://lab@db.example/ioplan",
            StoreFault.STORE_ADDRESS,
        ) from error


@contextmanager
def _errors(where: str) -> Iterator[None]:
    """Turn the server's errors into StoreError and KeyViolation."""
    try:
        yield
    except IntegrityError as error:
        raise KeyViolation from error
    except DBAPIError as error:
        if _is_unreachable(error):
            text, fault = _unreachable(error), StoreFault.STORE_UNREACHABLE
        else:
            text, fault = f"reports: {error.orig}", StoreFault.STORE_DATABASE
        raise StoreError(f"the store {where} {text}", fault) from error


def _is_unreachable(error: DBAPIError) -> bool:
    """A server's own errors have an SQL state; without one it did not answer."""
    sqlstate = getattr(error.orig, "sqlstate", None)
    return isinstance(error, OperationalError) and sqlstate in (None, *ENDING)


def _unreachable(error: DBAPIError) -> str:
    reason = str(error.orig).partition("\n")[0]  # then advice, and each address
    return (
        f"cannot be reached: {reason}; see that the server runs and lets you in "
        f"(psql with the same address); what is kept on this host stays there"
    )
