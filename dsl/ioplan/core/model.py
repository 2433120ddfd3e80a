"""The base of every model that crosses a boundary."""

from __future__ import annotations

from typing import Any, ClassVar

from ioplan.core.lazy_model import ValidatedModel, described

__all__ = ["Figures", "Model", "described"]


class Model(ValidatedModel):
    """Immutable, and closed: an unknown field is an error, never dropped."""


class Figures(Model):
    """A model whose numbers are finite: JSON knows neither NaN nor infinity."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "allow_inf_nan": False,
    }
