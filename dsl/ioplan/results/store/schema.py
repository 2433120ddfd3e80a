"""The schema version of a record's JSON, which must be the one of this ioplan."""

from __future__ import annotations

from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.records.record import SCHEMA_VERSION
from ioplan.results.store.errors import StoreError

Raw = dict[str, Any]


def checked_schema(raw: Raw) -> Raw:
    """A record's JSON, if it has this ioplan's schema. Raises StoreError."""
    version = raw.get("schema_version")
    if not isinstance(version, int):
        raise StoreError(
            "a stored record has no schema version: it is damaged",
            StoreFault.RECORD_DAMAGED,
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"a record has schema {version}, and this ioplan reads schema "
            f"{SCHEMA_VERSION} only: read it with the ioplan that wrote it",
            StoreFault.STORE_VERSION,
        )
    return raw
