"""Records of older versions, read as today's.

When the schema changes, SCHEMA_VERSION is raised, and a function that turns the
JSON of the version before into the next one's is added to UPCASTERS. What is
stored is never rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.records.record import SCHEMA_VERSION
from ioplan.store.errors import StoreError

Raw = dict[str, Any]

UPCASTERS: dict[int, Callable[[Raw], Raw]] = {}
"""By the version that the function takes; it returns the next one's JSON."""


def upcast(
    raw: Raw,
    to: int = SCHEMA_VERSION,
    upcasters: Mapping[int, Callable[[Raw], Raw]] = UPCASTERS,
) -> Raw:
    """A record's JSON in today's version. Raises StoreError when none leads there."""
    version = raw.get("schema_version")
    if not isinstance(version, int):
        raise StoreError(
            "a stored record has no schema version: it is damaged",
            StoreFault.RECORD_DAMAGED,
        )
    if version > to:
        raise StoreError(
            f"a record was written by a newer ioplan (schema {version}, and this one "
            f"knows {to}): upgrade with `pip install --upgrade ioplan`",
            StoreFault.STORE_VERSION,
        )
    while version < to:
        if version not in upcasters:
            raise StoreError(
                f"records of schema {version} can no longer be read",
                StoreFault.STORE_VERSION,
            )
        raw = upcasters[version](raw) | {"schema_version": version + 1}
        version += 1
    return raw
