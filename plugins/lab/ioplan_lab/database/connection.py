"""The lab's database, as a person, a host or its owner sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ioplan.cli import UsageError
from ioplan.core import StoreFault
from ioplan.results.store import CONNECTION, StoreError, is_address, without_password
from ioplan.runner import read_lab

Row = dict[str, Any]
REFUSED = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.NoDataFound,
    psycopg.errors.IntegrityError,
    psycopg.errors.DataError,
)
ABSENT = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
)


class LabDatabase:
    """One connection. Raises StoreError without an answer, UsageError when refused."""

    def __init__(self, connection: psycopg.Connection[Row], where: str) -> None:
        self._connection, self.where = connection, where

    def rows(self, query: str, *values: Any) -> list[Row]:
        """The rows of a query, whose values stand as `%s`."""
        with refusals(self.where):
            return self._connection.execute(query.encode(), values).fetchall()

    def call(self, function: str, *values: Any) -> Any:
        """What a function of the schema `lab` returns."""
        words = ", ".join(["%s"] * len(values))
        made = [Jsonb(one) if isinstance(one, dict) else one for one in values]
        (row,) = self.rows(f"SELECT lab.{function}({words}) AS value", *made)
        return row["value"]


@contextmanager
def lab_database(address: str) -> Iterator[LabDatabase]:
    """The database at this address, for a block."""
    where = without_password(address)
    with refusals(where):
        connection = psycopg.connect(
            address, row_factory=dict_row, autocommit=True, **CONNECTION
        )
    try:
        yield LabDatabase(connection, where)
    finally:
        connection.close()


@contextmanager
def refusals(where: str) -> Iterator[None]:
    """The server's errors as ioplan's."""
    try:
        yield
    except REFUSED as error:
        raise UsageError(error.diag.message_primary or str(error)) from None
    except ABSENT as error:
        why = error.diag.message_primary
        text = f"{where} has no lab yet ({why}): ioplan lab init ADDRESS"
        raise UsageError(text) from None
    except psycopg.OperationalError as error:
        why = str(error).strip().partition("\n")[0]
        text = f"the lab's database {where} does not answer: {why}"
        raise StoreError(text, StoreFault.STORE_UNREACHABLE) from error


def lab_address(lab: Path | None) -> str:
    """`results` of the lab file. Raises UsageError where it names no PostgreSQL."""
    address = read_lab(lab).results or ""
    if not is_address(address):
        raise UsageError(
            'no lab: set results = "postgresql://ROLE@HOST/DATABASE" in the lab file'
        )
    return address
