"""A PostgreSQL database as an SQLAlchemy engine, for results that a lab shares."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError

from ioplan.core.error_kinds import StoreFault
from ioplan.store.errors import StoreError

SCHEMES = ("postgresql://", "postgres://")
DRIVER = "postgresql+psycopg"
CONNECT_S = 10
SCHEMA_LOCK = 0x696F706C616E
"""The advisory lock of those who make the tables: "ioplan" in ASCII."""


def is_address(word: str) -> bool:
    """Whether it names a database of a server, not a file."""
    return word.startswith(SCHEMES)


def without_password(address: str) -> str:
    """The address without a password in it."""
    return _url(address).render_as_string(hide_password=True)


def postgres_engine(address: str) -> Engine:
    """An engine for `postgresql://[USER@]HOST/DATABASE`. Raises StoreError.

    Passwords are libpq's business: ~/.pgpass, PGPASSWORD, or a peer's login.
    """
    timeout: dict[str, Any] = {"connect_timeout": CONNECT_S}
    try:
        url = _url(address).set(drivername=DRIVER)
        return create_engine(url, connect_args=timeout, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"results in PostgreSQL need {error.name}: pip install 'ioplan[postgres]'",
            StoreFault.STORE_DRIVER,
        ) from error


def _url(address: str) -> URL:
    try:
        return make_url(address.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"this is no address of a database: {error}; write for example "
            f"postgresql://lab@db.example/ioplan",
            StoreFault.STORE_ADDRESS,
        ) from error


def lock_schema(connection: Connection) -> None:
    """One at a time makes tables; the lock ends with the transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"))
