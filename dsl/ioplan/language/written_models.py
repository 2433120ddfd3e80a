"""Models that people write in TOML, with the quantities of plans."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import core_schema

from ioplan.core.text import did_you_mean
from ioplan.language.quantity import (
    EXAMPLES,
    KIND_NAMES,
    Kind,
    QuantityError,
    parse_quantity,
)

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

MAX_FILE_BYTES = 1 << 20
MOST_ERRORS = 8

Written_ = TypeVar("Written_", bound=BaseModel)


def _quantity(kind: Kind, text: object) -> int | float:
    help = f"write for example {EXAMPLES[kind]!r}"
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not {KIND_NAMES[kind]}; {help}")
    try:
        found = parse_quantity(text)
    except QuantityError as error:
        raise ValueError(f"{error}; {error.help or help}") from None
    if found.kind != kind:
        raise ValueError(
            f"{text!r} is {KIND_NAMES[found.kind]}, not {KIND_NAMES[kind]}; {help}"
        )
    return found.value


class Written:
    """Stands last in `Annotated`: the field is written as a quantity of this kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda text: _quantity(self.kind, text), handler(source)
        )


SIZE, TIME, SHARE = Written("size"), Written("time"), Written("share")
POSITIVE = Field(gt=0)

Size = Annotated[int, SIZE]
SomeSize = Annotated[int, POSITIVE, SIZE]
Time = Annotated[int, TIME]
SomeTime = Annotated[int, POSITIVE, TIME]
Bandwidth = Annotated[float, POSITIVE, Written("bandwidth")]
Iops = Annotated[float, POSITIVE, Written("iops")]


class WrittenError(Exception):
    """A file that is not what its model says; the text names file and keys."""


def read_written(path: str | Path, model: type[Written_], what: str) -> Written_:
    """The model in a TOML file; `what` it is, for errors. Raises WrittenError."""
    try:
        with Path(path).open("rb") as file:
            values = tomllib.loads(file.read(MAX_FILE_BYTES).decode())
        return model.model_validate(values)
    except OSError as error:
        raise WrittenError(f"cannot read {what} {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrittenError(f"{what} {path} is not TOML: {error}") from error
    except ValidationError as error:
        some = error.errors()[:MOST_ERRORS]
        found = "\n  ".join(_error_text(model, one["loc"], one) for one in some)
        raise WrittenError(f"{what} {path}:\n  {found}") from error


def _error_text(model: type[BaseModel], keys: tuple[int | str, ...], error: Any) -> str:
    """An error at its key; a key that is not known, with the ones that are."""
    where = ".".join(str(key + 1) if isinstance(key, int) else key for key in keys)
    if error["type"] != "extra_forbidden":
        message = error["msg"].removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    known = list(_table(model, keys[:-1]).model_fields)
    hint = did_you_mean(str(keys[-1]), known) or f"; there are {', '.join(known)}"
    return f"{where}: there is no such key{hint}"


def _table(model: type[BaseModel], keys: tuple[int | str, ...]) -> type[BaseModel]:
    """The model that is at these keys."""
    for key in keys:
        if isinstance(key, str) and key in model.model_fields:
            model = _model_in(model.model_fields[key].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model of a type, be it in a tuple or optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((one for one in inner if one), None)
