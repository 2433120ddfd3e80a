"""Ways to draw many series: what the page is given for each."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ioplan.results.report import ChartSpec, Column, Datum, framed, modes

FEW, NUMBER = 8, 20
COLORS = 8


def picture(sessions: int, kind: Any = "lines", per: int = 1) -> ChartSpec:
    data = [
        Datum({"session": f"drive {s}", "read": f"{p}%"}, (2.0**q, 1000.0 * s))
        for s in range(sessions)
        for p in range(per)
        for q in range(4)
    ]
    columns = (Column("x", "queue depth", ""), Column("y", "IOPS", "1/s"))
    frame, channels = framed(data, columns, per=("read",))
    return ChartSpec(kind, "IOPS", "", frame, "x", "y", channels)


def layer_with(made: Any, role: str) -> list[Any]:
    wanted = {"filter": f"datum.role === '{role}'"}
    view = made["spec"]
    layers = view.get("spec", view)["layer"]
    return [one for one in layers if wanted in one.get("transform", [])]


def test_few_series_have_one_way() -> None:
    assert list(modes(picture(FEW))) == ["together"]


def test_many_sessions_have_panels_and_a_spread() -> None:
    found = modes(picture(NUMBER))
    assert list(found) == ["together", "apart", "spread"]
    apart, spread = found["apart"], found["spread"]
    assert apart["channels"]["panel"] == found["together"]["channels"]["color"]
    assert apart["spec"]["spec"]["encoding"]["color"]["legend"] is None
    assert len(layer_with(apart, "back")) == 1
    assert spread["channels"]["color"] == ""
    assert [one["mark"]["type"] for one in layer_with(spread, "spread")] == [
        "area",
        "line",
    ]
    assert layer_with(spread, "out") and layer_with(spread, "end")


def test_panels_that_were_there_become_a_choice() -> None:
    """Thirteen sessions and more take the colour; what the plan wants, the panels."""
    found = modes(picture(NUMBER, per=6))
    usual, apart = found["together"]["channels"], found["apart"]["channels"]
    assert usual["panel"] == apart["pick"] != ""
    assert found["spread"]["channels"]["panel"] == usual["panel"]


@pytest.mark.parametrize("kind", ["hockey", "cumulative", "histogram"])
def test_without_a_shared_x_there_is_no_spread(kind: str) -> None:
    assert list(modes(picture(NUMBER, kind))) == ["together", "apart"]


def test_more_than_eight_differ_by_shape_where_colours_repeat() -> None:
    view = modes(picture(NUMBER))["together"]["spec"]
    (scale,) = [
        one["encoding"]["shape"]["scale"]
        for one in view["layer"]
        if "shape" in one["encoding"]
    ]
    assert len(scale["domain"]) == len(scale["range"]) == NUMBER
    signs = {(n % COLORS, shape) for n, shape in enumerate(scale["range"])}
    assert len(signs) == NUMBER


def test_other_series_fade_while_one_is_looked_at() -> None:
    view = modes(picture(2))["together"]["spec"]
    line = next(one for one in view["layer"] if one["mark"]["type"] == "line")
    assert "lit" in line["encoding"]["opacity"]["condition"]["test"]
    plain = replace(picture(2), channels=picture(1).channels)
    view = modes(plain)["together"]["spec"]
    assert all("opacity" not in one["encoding"] for one in view["layer"])
