"""What a session has set on its host, as a record's `host` has it under `prepared`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def prepared_texts(host: Mapping[str, Any]) -> Iterator[str]:
    """Each setting, such as `governor performance (was powersave)`."""
    found = host.get("prepared")
    for key, one in found.items() if isinstance(found, dict) else ():
        if not isinstance(one, dict):
            continue  # a store that was passed on may say anything
        if why := one.get("not_set"):
            yield f"{key} is not set: {why}"
        else:
            of = f" of {one['of']}" if "of" in one else ""
            yield f"{key}{of} {one.get('set')} (was {one.get('before')})"
