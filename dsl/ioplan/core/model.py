"""The base of every model that crosses a boundary."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

_set = object.__setattr__


class Model(BaseModel):
    """Immutable, and closed: an unknown field is an error, never dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def complete(cls, values: dict[str, Any]) -> Self:
        """A model of values that were validated before, all of them given.

        Does what `model_construct` does but for looking for defaults, which takes
        most of the time of planning 100,000 runs.
        """
        made = cls.__new__(cls)
        _set(made, "__dict__", values)
        _set(made, "__pydantic_fields_set__", set(values))
        _set(made, "__pydantic_extra__", None)
        _set(made, "__pydantic_private__", None)
        return made


def described(text: str, **more: Any) -> Any:
    """A field with its definition."""
    return Field(description=text, **more)


class Figures(Model):
    """A model whose numbers are finite: JSON knows neither NaN nor infinity."""

    model_config = ConfigDict(allow_inf_nan=False)
