"""Values with the interface of a pydantic model, which is imported when it is used.

Importing pydantic takes as long as seven starts of Python, and neither checking a plan
nor beginning its first run needs any of it: the checker validates better than any
model, and what ioplan itself makes is checked by mypy.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, dataclass_transform

from ioplan.core.value import Factory, Value, is_field, replace

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema


class Marked:
    """Stands in `Annotated` for what pydantic has by that name."""

    def __init__(self, name: str, *args: Any, **more: Any) -> None:
        self.name, self.args, self.more = name, args, more

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        import pydantic  # noqa: PLC0415

        mark = getattr(pydantic, self.name)(*self.args, **self.more)
        return handler.generate_schema(Annotated[source, mark])


class Limits(Marked):
    """Stands in `Annotated` for a `pydantic.Field` with the same arguments."""

    def __init__(self, **limits: Any) -> None:
        super().__init__("Field", **limits)


class Described:
    """What stands in a class for a field with a definition, and more than a default."""

    def __init__(self, **more: Any) -> None:
        self.more = more

    def default(self) -> dict[str, Any]:
        """Its default under that word; empty without one."""
        if make := self.more.get("default_factory"):
            return {"default": Factory(make)}
        return {name: self.more[name] for name in ("default",) if name in self.more}


def described(text: str, **more: Any) -> Any:
    """A field with its definition, and what `pydantic.Field` takes besides."""
    return Described(description=text, **more)


class ReadAsTuple:
    """Stands in `Annotated` for a sequence of any type that is read as a tuple."""

    def __init__(self, item: type) -> None:
        self.item = item

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415

        read = handler.generate_schema(tuple[self.item, ...])  # type: ignore[name-defined]
        printed = core_schema.plain_serializer_function_ser_schema(
            tuple, return_schema=read
        )
        return {**read, "serialization": printed}


_adapters: dict[type, TypeAdapter[Any]] = {}
_making = RLock()
"""Held while pydantic learns of a class: a thread does it during the first run."""


def adapter(kind: type) -> TypeAdapter[Any]:
    """What validates and prints values of a class, made once."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    if kind not in _adapters:
        with _making:
            made: TypeAdapter[Any] = TypeAdapter(kind)
            _adapters[kind] = made
            if DATACLASS in vars(kind) and not hasattr(kind, "check"):
                # where it is a field of another, pydantic does not begin anew
                kind.__pydantic_core_schema__ = made.core_schema  # type: ignore[attr-defined]
    return _adapters[kind]


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(described,)
)
class LazyModel(Value):
    """Immutable, and closed: an unknown field is an error, never dropped.

    Its fields are validated only where it is read from other types than its own, or
    is a field of another model. A `check` that it has is called then: it raises
    ValueError.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    described_: ClassVar[dict[str, Described]] = {}

    def __init_subclass__(cls) -> None:
        own = {n: one for n, one in vars(cls).items() if isinstance(one, Described)}
        cls.described_ = {**cls.described_, **own}
        for name, one in own.items():
            delattr(cls, name)
            for value in one.default().values():
                setattr(cls, name, value)
        for name, value in tuple(vars(cls).items()):
            kind = cls.__annotations__.get(name, "ClassVar")
            if is_field(kind) and isinstance(value, dict | list | set):
                setattr(cls, name, Factory(partial(copy, value)))
        super().__init_subclass__()

    @classmethod
    def complete(cls, values: dict[str, Any]) -> Self:
        """A model of values that are known to be right, all of them given."""
        made = object.__new__(cls)
        object.__setattr__(made, "__dict__", values)
        return made

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """The same with the defaults of what is not given."""
        made = {**cls.defaults_, **values}
        for name in cls._factories:
            if isinstance(made[name], Factory):
                made[name] = made[name].make()
        return cls.complete(made)

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
    def model_json_schema(cls, **how: Any) -> dict[str, Any]:
        """The JSON Schema, as pydantic's `json_schema` gives it."""
        return adapter(cls).json_schema(**how)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """What pydantic knows how to read is a dataclass."""
        with _making:
            for kind in reversed(cls.__mro__):
                if issubclass(kind, LazyModel) and DATACLASS not in vars(kind):
                    _make_dataclass(kind)
        schema = handler(source)
        if not hasattr(cls, "check"):
            return schema
        from pydantic_core import core_schema  # noqa: PLC0415

        return core_schema.no_info_after_validator_function(_checked, schema)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """With its description, which pydantic leaves out of a dataclass's."""
        found = handler.resolve_ref_schema(handler(schema))
        return found | {"description": cls.__doc__}


DATACLASS = "__dataclass_fields__"
UNKNOWN_FIELD = "unexpected_keyword_argument"
"""What pydantic calls the error of a field that a model has not."""


def _make_dataclass(kind: type[LazyModel]) -> None:
    """Tell pydantic of the fields in the standard library's terms."""
    from dataclasses import dataclass, field  # noqa: PLC0415

    for name in kind.fields_:
        if name not in kind.__annotations__:
            continue  # inherited
        told = dict(kind.described_[name].more) if name in kind.described_ else {}
        made: dict[str, Any] = {}
        if (value := kind.defaults_.get(name, kind)) is not kind:
            is_made = isinstance(value, Factory)
            made = {"default_factory": value.make} if is_made else {"default": value}
        for default in ("default", "default_factory"):
            told.pop(default, None)
        setattr(kind, name, field(**made, metadata=told))
    dataclass(init=False, repr=False, eq=False)(kind)


def _checked(model: Any) -> Any:
    model.check()
    return model


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
