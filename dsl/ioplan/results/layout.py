"""The tables of a new store, and the check of one that is there."""

from sqlalchemy import Connection, insert, inspect, select

from ioplan.results import tables
from ioplan.results.store_error import ELSEWHERE, StoreError

ALL = set(tables.metadata.tables)
ADDED = {tables.target_state.name, tables.run_telemetry.name}
"""Added to this layout later, so that a store may be without them."""


def is_complete(connection: Connection, where: str) -> bool:
    """Whether all tables are there; in an empty database none is.

    Raises StoreError for a database of something else, and a newer version's.
    """
    present = set(inspect(connection).get_table_names())
    if not present:
        return False
    layout = _layout(connection) if tables.meta.name in present else None
    if layout is not None and layout > tables.LAYOUT:
        raise StoreError(
            f"the store {where} was written by a newer ioplan (layout {layout}, and "
            f"this one knows {tables.LAYOUT}): upgrade with "
            f"`pip install --upgrade ioplan`, or {ELSEWHERE}"
        )
    if layout is None or ALL - ADDED - present:
        foreign = min(present - ALL, default=tables.meta.name)
        raise StoreError(
            f"{where} is a database of something else (it has a table {foreign!r}, "
            f"and is no store of ioplan's): {ELSEWHERE}"
        )
    return present >= ALL


def _layout(connection: Connection) -> int | None:
    """Its number; None where the table is somebody else's."""
    names = tables.meta.c
    found = {one["name"] for one in inspect(connection).get_columns(tables.meta.name)}
    if not found >= set(names.keys()):
        return None
    value = connection.scalar(select(names.value).where(names.name == "layout"))
    try:
        return int(str(value))
    except ValueError:
        return None


def complete(connection: Connection, where: str) -> None:
    """Make what is missing. Raises StoreError, and nothing is made."""
    if is_complete(connection, where):  # another process was first
        return
    is_new = not inspect(connection).has_table(tables.meta.name)
    tables.metadata.create_all(connection)
    if is_new:
        row = {"name": "layout", "value": str(tables.LAYOUT)}
        connection.execute(insert(tables.meta), row)
