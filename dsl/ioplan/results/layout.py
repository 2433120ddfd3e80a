"""The tables of a new store, and the check of one that is there."""

from sqlalchemy import Connection, insert, inspect, select

from ioplan.results import tables
from ioplan.results.store_error import StoreError


def has_tables(connection: Connection) -> bool:
    """Whether this is a store already."""
    return inspect(connection).has_table("meta")


def is_complete(connection: Connection) -> bool:
    """Whether the tables that were added to this layout later are there too."""
    added = (tables.target_state, tables.run_telemetry)
    return all(inspect(connection).has_table(table.name) for table in added)


def create_tables(connection: Connection, where: str) -> None:
    """Make the tables in an empty database. Raises StoreError in another one."""
    present = inspect(connection).get_table_names()
    if "meta" in present:
        tables.metadata.create_all(connection)  # those that are missing
        return
    if present:
        raise StoreError(
            f"{where} is a database of something else (it has a table "
            f"{present[0]!r}): set IOPLAN_STORE to another file"
        )
    tables.metadata.create_all(connection)
    row = {"name": "layout", "value": str(tables.LAYOUT)}
    connection.execute(insert(tables.meta), row)


def check_layout(connection: Connection, where: str) -> None:
    """Raises StoreError when a newer version made the tables."""
    names = tables.meta.c
    found = connection.scalar(select(names.value).where(names.name == "layout"))
    if found is None or not found.isdigit():
        raise StoreError(
            f"{where} is a database of something else (its table 'meta' gives no "
            "layout): set IOPLAN_STORE to another file"
        )
    if int(found) > tables.LAYOUT:
        raise StoreError(
            f"the store {where} was written by a newer ioplan (layout {found}, and "
            f"this one knows {tables.LAYOUT}): upgrade with "
            "`pip install --upgrade ioplan`, or set IOPLAN_STORE to another file"
        )
