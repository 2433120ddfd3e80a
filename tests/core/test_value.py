"""Values: like frozen dataclasses, and models where pydantic meets them."""

from __future__ import annotations

import pickle
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from ioplan.core.lazy_model import LazyModel, Limits, Marked, ValidatedModel
from ioplan.core.model import Figures, described
from ioplan.core.value import Value, fresh, replace


class Point(Value):
    x: int
    y: int = 0


class Named(Point):
    name: str = ""
    tags: list[str] = fresh(list)


class TestValue:
    def test_fields_by_place_and_by_name_with_those_inherited_first(self) -> None:
        made = Named(1, name="a")
        assert (made.x, made.y, made.name, made.tags) == (1, 0, "a", [])
        assert Named.fields_ == ("x", "y", "name", "tags")
        assert repr(made) == "Named(x=1, y=0, name='a', tags=[])"

    @pytest.mark.parametrize(
        ("args", "given"),
        [((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((), {"y": 1}), ((), {"z": 1})],
    )
    def test_a_field_too_few_or_too_many(
        self, args: tuple[int, ...], given: dict[str, Any]
    ) -> None:
        with pytest.raises(TypeError, match="has the fields"):
            Point(*args, **given)

    def test_it_is_immutable_and_compared_by_its_fields(self) -> None:
        one = Point(1, 2)
        with pytest.raises(AttributeError):
            one.x = 2  # type: ignore[misc]
        with pytest.raises(AttributeError):
            del one.x
        assert one == Point(1, 2) != Point(2, 1)
        assert len({one, Point(1, 2), Point(2, 2)}) == 2
        assert one != Named(1, 2) and one != (1, 2)

    def test_defaults_that_change_are_not_shared(self) -> None:
        first = Named(1)
        first.tags.append("a")
        assert Named(1).tags == [] and Named(1, tags=["b"]).tags == ["b"]

    def test_a_copy_with_other_values(self) -> None:
        one = Named(1, name="a")
        assert replace(one, y=3) == Named(1, 3, name="a") != one
        assert pickle.loads(pickle.dumps(one)) == one


class Circle(ValidatedModel):
    """Round."""

    kind: Literal["circle"] = "circle"
    radius: Annotated[float, Limits(gt=0)]


class Square(ValidatedModel):
    """With corners."""

    kind: Literal["square"] = "square"
    side: Annotated[float, Limits(gt=0)] = 1.0


class Wide(Square):
    """Two sides."""

    other: int


class Drawing(BaseModel):
    shapes: tuple[Annotated[Circle | Square, Limits(discriminator="kind")], ...]
    wide: Wide | None = None


class Loose(LazyModel):
    """Not validated by itself."""

    size: int
    inner: Circle | None = None


class Listed(LazyModel):
    """With a default that changes."""

    tags: list[str] = fresh(list)


class Range(Figures):
    """With definitions, limits, and a check of its own."""

    low: float = described("inclusive", default=0.0)
    high: float = described("exclusive", gt=0)
    names: dict[str, str] = described("of both", default={})
    marks: tuple[Annotated[str, Marked("AfterValidator", str.upper)], ...] = ()
    id: str = described("its own", default_factory=lambda: f"{len(MADE)}")

    def check(self) -> None:
        MADE.append(self.low)
        if self.low >= self.high:
            raise ValueError("it is empty")


MADE: list[float] = []


class TestModel:
    def test_definitions_and_limits_are_those_of_a_field(self) -> None:
        schema = Range.model_json_schema()["properties"]
        assert schema["low"]["description"] == "inclusive"
        assert schema["low"]["default"] == 0.0
        assert schema["high"]["exclusiveMinimum"] == 0
        for wrong in ({"high": -1}, {"high": float("nan")}, {"high": 1, "marks": [1]}):
            with pytest.raises(ValidationError):
                Range.model_validate(wrong)
        assert Range.model_validate({"high": 1, "marks": ["a"]}).marks == ("A",)

    def test_its_own_check_is_made_where_it_is_read(self) -> None:
        with pytest.raises(ValidationError, match="it is empty"):
            Range(low=1, high=1)
        assert Range.model_construct(low=1.0, high=1.0).low == 1.0

    def test_what_is_made_for_each_is_not_shared(self) -> None:
        one, other = Range(high=1), Range.model_construct(high=1.0)
        assert one.names == {} and one.names is not other.names
        assert one.id != Range(high=1).id

    def test_what_is_called_is_validated(self) -> None:
        assert Circle(radius=2) == Circle.model_construct(radius=2.0)
        for wrong in ({"radius": 0}, {}, {"radius": 1, "size": 2}):
            with pytest.raises(ValidationError):
                Circle(**wrong)

    def test_what_is_known_to_be_right_is_not(self) -> None:
        assert Square.model_construct().values_ == ("square", 1.0)
        assert Circle.complete({"kind": "circle", "radius": 0}).radius == 0
        assert Loose(size="no").size == "no"  # type: ignore[arg-type]
        with pytest.raises(ValidationError):
            Loose.model_validate({"size": "no"})

    def test_defaults_that_change_are_not_shared_when_it_is_read_either(self) -> None:
        first, second = (Listed.model_validate({}) for _ in range(2))
        first.tags.append("a")
        assert (second, Listed()) == (Listed(tags=[]), second)

    def test_it_is_a_field_of_other_models(self) -> None:
        text = '{"shapes":[{"kind":"square","side":2},{"kind":"circle","radius":1}]}'
        found = Drawing.model_validate_json(text)
        assert found.shapes == (Square(side=2.0), Circle(radius=1.0))
        assert Drawing.model_validate_json(found.model_dump_json()) == found
        with pytest.raises(ValidationError, match=r"shapes\.0\.circle\.radius"):
            Drawing.model_validate({"shapes": [{"kind": "circle", "radius": -1}]})
        with pytest.raises(ValidationError):
            Drawing.model_validate({"shapes": [], "wide": {"side": 1}})
        assert Drawing(shapes=(), wide=Wide(other=1)).wide == Wide(side=1.0, other=1)

    def test_its_schema_says_what_a_models_does(self) -> None:
        schema = Drawing.model_json_schema()["$defs"]["Circle"]
        assert schema["description"] == "Round."
        assert schema["additionalProperties"] is False
        assert schema["properties"]["radius"]["exclusiveMinimum"] == 0
        assert schema["required"] == ["radius"]

    def test_it_prints_in_the_order_of_its_fields(self) -> None:
        mixed = Loose.complete({"inner": Circle(radius=1), "size": 2})
        assert mixed.model_dump_json() == (
            '{"size":2,"inner":{"kind":"circle","radius":1.0}}'
        )
        assert mixed.model_dump(exclude_defaults=True) == {
            "size": 2,
            "inner": {"radius": 1.0},
        }
        assert Loose.model_validate_json(mixed.model_dump_json()) == mixed
        assert mixed.model_copy(update={"size": 3}).size == 3
