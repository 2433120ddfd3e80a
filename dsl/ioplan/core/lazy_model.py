"""Values with the interface of a pydantic model, which is imported when it is used.

Importing pydantic takes as long as seven starts of Python, and checking a plan needs
none of it: the checker validates better than any model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, dataclass_transform

from ioplan.core.value import Factory, Value, replace

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema


class Limits:
    """Stands in `Annotated` for a `pydantic.Field` with the same arguments."""

    def __init__(self, **limits: Any) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic import Field  # noqa: PLC0415

        return handler.generate_schema(Annotated[source, Field(**self.limits)])


_adapters: dict[type, TypeAdapter[Any]] = {}


def adapter(kind: type) -> TypeAdapter[Any]:
    """What validates and prints values of a class, made once."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class LazyModel(Value):
    """Immutable, and closed: an unknown field is an error, never dropped.

    Its fields are validated only where it is read from other types than its own, or
    is a field of another model.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    @classmethod
    def complete(cls, values: dict[str, Any]) -> Self:
        """A model of values that are known to be right, all of them given."""
        made = object.__new__(cls)
        object.__setattr__(made, "__dict__", values)
        return made

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """The same with the defaults of what is not given."""
        return cls.complete({**cls.defaults_, **values})

    @classmethod
    def model_validate(cls, values: Any) -> Self:
        """A model of values in Python's or JSON's types. Raises ValidationError."""
        made: Self = adapter(cls).validate_python(values)
        return made

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """A model of JSON text. Raises ValidationError."""
        made: Self = adapter(cls).validate_json(text)
        return made

    def model_copy(self, *, update: dict[str, Any] | None = None) -> Self:
        """A copy with other values, which are not validated."""
        return replace(self, **update or {})

    def model_dump(self, **how: Any) -> dict[str, Any]:
        """Its fields, as pydantic's `dump_python` gives them."""
        found: dict[str, Any] = adapter(type(self)).dump_python(self, **how)
        return found

    def model_dump_json(self, **how: Any) -> str:
        """Its fields as JSON, as pydantic's `dump_json` gives them."""
        return adapter(type(self)).dump_json(self, **how).decode()

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """What pydantic knows how to read is a dataclass."""
        from dataclasses import dataclass, field  # noqa: PLC0415

        for kind in reversed(cls.__mro__):
            if issubclass(kind, LazyModel) and "__dataclass_fields__" not in vars(kind):
                for name, value in kind.defaults_.items():
                    if isinstance(value, Factory) and name in vars(kind):
                        setattr(kind, name, field(default_factory=value.make))
                dataclass(init=False, repr=False, eq=False)(kind)
        return handler(source)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """With its description, which pydantic leaves out of a dataclass's."""
        found = handler.resolve_ref_schema(handler(schema))
        return found | {"description": cls.__doc__}


def plain(value: Any) -> Any:
    """A model as `model_dump(mode="json")` gives it, without pydantic.

    For models of models, texts, numbers, tuples and dictionaries that were validated
    before.
    """
    if isinstance(value, Value):
        return {name: plain(one) for name, one in vars(value).items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


class ValidatedModel(LazyModel):
    """Validated also when it is called; `model_construct` makes one without that."""

    def __init__(self, **values: Any) -> None:
        made = adapter(type(self)).validate_python(values)
        self.__dict__.update(made.__dict__)
