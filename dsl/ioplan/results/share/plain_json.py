"""JSON of strangers: read only where it is small, plain and means one thing."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

MOST_DIGITS = 20
BIGGEST = 1 << 63


def loaded(data: bytes) -> Any:
    """The value of a text. Raises ValueError for what no result of ioplan's has.

    Such are: a name that stands twice in one object, numbers that are not finite or
    need more than 64 bits, and objects in objects without end.
    """
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_constant,
        )
    except RecursionError:
        raise ValueError("its objects are too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _int(text: str) -> int:
    if len(text) > MOST_DIGITS or not -BIGGEST <= int(text) < BIGGEST:
        raise ValueError(f"the number {text[:MOST_DIGITS]}… is too large")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"the number {text[:MOST_DIGITS]} is too large")
    return value


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a valid number in a result")
