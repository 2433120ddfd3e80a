"""What the fields and figures of every stored model have in common."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from ioplan.model import Model


def described(text: str, **more: Any) -> Any:
    """A field with its definition."""
    return Field(description=text, **more)


class Figures(Model):
    """A model whose numbers are finite: JSON knows neither NaN nor infinity."""

    model_config = ConfigDict(allow_inf_nan=False)
