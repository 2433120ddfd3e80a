"""Immutable objects of named fields that cost next to nothing to define.

A frozen dataclass takes a millisecond to define and a pydantic model two, at each
start of each command, and the syntax tree alone has 40 classes. These take some
microseconds, as they share their methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

Made = TypeVar("Made")


class Factory:
    """Makes a field's default anew for each object."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def fresh(make: Callable[[], Made]) -> Made:
    """A default that objects do not share: `names: list[str] = fresh(list)`."""
    return cast(Made, Factory(make))


@dataclass_transform(frozen_default=True)
class Value:
    """Its fields are what a class annotates, as with a frozen dataclass."""

    fields_: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    defaults_: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = [name for name, kind in cls.__annotations__.items() if is_field(kind)]
        cls.fields_ = (*cls.fields_, *(n for n in own if n not in cls.fields_))
        cls._names = frozenset(cls.fields_)
        given = {name: vars(cls)[name] for name in own if name in vars(cls)}
        cls.defaults_ = {**cls.defaults_, **given}
        defaults = cls.defaults_.items()
        cls._factories = tuple(n for n, one in defaults if isinstance(one, Factory))

    def __init__(self, *args: Any, **given: Any) -> None:
        if not given and len(args) == len(self.fields_):  # most are made like this
            self.__dict__.update(zip(self.fields_, args, strict=True))
            return
        values = {**self.defaults_, **dict(zip(self.fields_, args, strict=False))}
        values |= given
        for name in self._factories:
            if isinstance(values[name], Factory):
                values[name] = values[name].make()
        if values.keys() != self._names or len(args) > len(self.fields_):
            raise TypeError(f"{type(self).__name__} has the fields {self.fields_}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.values_ == other.values_

    def __hash__(self) -> int:
        return hash(self.values_)

    def __repr__(self) -> str:
        shown = zip(self.fields_, self.values_, strict=True)
        fields = ", ".join(f"{name}={value!r}" for name, value in shown)
        return f"{type(self).__name__}({fields})"

    @property
    def values_(self) -> tuple[Any, ...]:
        """Those of its fields, in their order."""
        known = self.__dict__
        return tuple([known[name] for name in self.fields_])


Kind = TypeVar("Kind", bound=Value)


def replace(one: Kind, **changes: Any) -> Kind:
    """A copy with other values, which are not checked."""
    made = object.__new__(type(one))
    made.__dict__.update(zip(one.fields_, one.values_, strict=True), **changes)
    return made


def is_field(annotation: object) -> bool:
    """Whether what a class annotates so is a field of its objects."""
    return not str(annotation).startswith("ClassVar")
