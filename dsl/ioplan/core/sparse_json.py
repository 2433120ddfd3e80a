"""The JSON of a model without its defaults, without pydantic where that is the same.

Ids of runs are digests of it, so it must stay what pydantic makes, to the letter.
"""

from __future__ import annotations

import json
from typing import Any

from ioplan.core.lazy_model import LazyModel
from ioplan.core.memo import ByIdentity

MISSING = object()


def sparse_json(model: LazyModel) -> str:
    """As `model_dump_json(exclude_defaults=True)` gives it."""
    try:
        fields = _sparse(model)
    except _PydanticOnly:
        return model.model_dump_json(exclude_defaults=True)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


class _PydanticOnly(Exception):
    """Something that pydantic may print otherwise than the standard library."""


def _sparse(model: LazyModel) -> dict[str, Any]:
    defaults, values = model.defaults_, vars(model)
    kinds = _kinds(type(model))
    return {
        name: _value(values[name], kinds[name])
        for name in model.fields_
        if defaults.get(name, MISSING) != values[name]
    }


@ByIdentity
def _kinds(model: type) -> dict[str, str]:
    """The annotations of its fields, as written."""
    parts = [vars(kind).get("__annotations__", {}) for kind in model.__mro__]
    return {name: str(one) for part in parts[::-1] for name, one in part.items()}


def _value(value: object, kind: str) -> object:
    if isinstance(value, LazyModel):
        return _sparse(value)
    if isinstance(value, tuple):
        return [_value(one, kind) for one in value]
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, int) and "int" in kind:
        return value  # in a field of floats it would be printed as one
    if isinstance(value, float) and "e" not in repr(value) and "n" not in repr(value):
        return value
    raise _PydanticOnly
