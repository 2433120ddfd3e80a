"""The base of every model that people or other programs write or read."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

M = TypeVar("M", bound=BaseModel)
PLAIN = {str, int, float, bool, type(None)}

ALL_GIVEN: set[str] = set()
"""One for all models: nothing here asks which fields were given, and a set of its own
is as large as the rest of a model (216 to 2,200 bytes)."""
SET_DICT, SET_GIVEN, SET_EXTRA, SET_PRIVATE = (
    BaseModel.__dict__[name].__set__
    for name in (
        *("__dict__", "__pydantic_fields_set__"),
        *("__pydantic_extra__", "__pydantic_private__"),
    )
)
"""The slots of a model, past `__setattr__`, which refuses what is frozen."""


class Model(BaseModel):  # noqa: PLW1641  pydantic hashes what is frozen
    """Immutable, closed, and finite: JSON knows neither NaN nor infinity."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,
        protected_namespaces=(),
    )

    @classmethod
    def complete(cls, values: dict[str, Any]) -> Self:
        """A model of all its values, right ones: `model_construct` in a fifth of the
        time, as plans of 100,000 runs need it."""
        made = cls.__new__(cls)
        SET_DICT(made, values)
        SET_GIVEN(made, ALL_GIVEN)
        SET_EXTRA(made, None)
        SET_PRIVATE(made, None)
        return made

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


def about(description: str, default: Any) -> Any:
    """A field that need not be given, with what it means."""
    return Field(default, description=description)


def defaults_of(model: type[BaseModel]) -> dict[str, Any]:
    """The values of the fields that need not be given."""
    fields = model.model_fields.items()
    return {name: field.default for name, field in fields if not field.is_required()}


def slimmed(model: M) -> M:
    """The same model, of which ten thousands are to be kept: without the sets of the
    fields that were given."""
    object.__setattr__(model, "__pydantic_fields_set__", ALL_GIVEN)
    for value in model.__dict__.values():
        if type(value) not in PLAIN:
            _slim(value)
    return model


def _slim(value: object) -> None:
    kind = type(value)
    if kind in PLAIN:
        return
    if kind is tuple or kind is dict:
        parts = value.values() if isinstance(value, dict) else value
        for part in parts:  # type: ignore[attr-defined]
            _slim(part)
    elif hasattr(value, "__pydantic_fields_set__"):  # isinstance takes longer
        slimmed(value)  # type: ignore[type-var]
