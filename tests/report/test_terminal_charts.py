"""The report's pictures as text: each kind, each curve, each point, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

import plotext
import pytest
import report_charts
from msgspec.structs import replace
from rich.text import Text

from ioplan.results.report import (
    MOST_PARTS,
    PICTURE_KINDS,
    ChartSpec,
    Column,
    Datum,
    Frame,
    framed,
    parts,
)

ELSEWHERE = ("bars", "latencies")
PLOTS = [
    kind
    for kind, one in PICTURE_KINDS.items()
    if not one.is_grid and kind not in ELSEWHERE
]
"""What has curves; test_latencies.py has what is drawn of cells."""

QD = Column("x", "queue depth", "")
IOPS = Column("y", "IOPS", "1/s")

Calls = list[tuple[Sequence[float], Sequence[float], str]]


def printed(picture: ChartSpec) -> list[str]:
    return report_charts.printed(picture).splitlines()


def picture(
    points: list[tuple[dict[str, str], tuple[Any, ...]]],
    kind: str = "lines",
    x: Column = QD,
    y: Column = IOPS,
    **more: Any,
) -> ChartSpec:
    """A picture of points by their dimensions."""
    data = [Datum(where, values) for where, values in points]
    extra = more.pop("columns", ())
    frame, channels = framed(data, (x, y, *extra), more.pop("per", ()))
    fields = {"line": "", "x": x.key, "y": y.key, "channels": channels}
    return ChartSpec(kind=kind, title="A title", frame=frame, **fields | more)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What is drawn: places across, places up, marker."""
    found: Calls = []

    def keep(xs: Sequence[float], ys: Sequence[float], marker: str = "") -> None:
        found.append((xs, ys, marker))

    for name in ("plot", "scatter"):
        kept = getattr(plotext, name)

        def both(
            *at: Any, marker: str = "", kept: Any = kept, color: Any = None
        ) -> None:
            keep(*at, marker=marker)
            kept(*at, marker=marker, color=color)

        monkeypatch.setattr(plotext, name, both)
    return found


# curves and points


@pytest.mark.parametrize("y_scale", ["linear", "log"])
def test_points_lie_where_their_values_are(calls: Calls, y_scale: Any) -> None:
    values = {1: 10_000.0, 2: 20_000.0, 8: 65_000.0}
    points = [({"size": "4KiB"}, (float(qd), iops)) for qd, iops in values.items()]
    lines = printed(picture(points, x_scale="log", y_scale=y_scale))
    ((xs, ys, _),) = calls
    assert xs == [log10(qd) for qd in values]
    at = log10 if y_scale == "log" else float
    assert ys == [at(iops) for iops in values.values()]
    assert "80k┤" in lines[3] or y_scale == "log"
    assert lines[-1].split() == ["1", "2", "8"]


@pytest.mark.parametrize("count", [1, 9, 20])
def test_each_curve_is_drawn_and_named(calls: Calls, count: int) -> None:
    """The ninth is not the last."""
    points = [
        ({"size": f"{n + 1}"}, (float(qd), 1000.0 * (n + qd)))
        for n in range(count)
        for qd in (1, 2)
    ]
    one = picture(points)
    if count > 1:
        one = replace(
            one, channels=replace(one.channels, color="d0", pick="", panel="")
        )
    text = "\n".join(printed(one))
    assert sorted(ys[0] for _, ys, _ in calls) == [
        1000.0 * (n + 1) for n in range(count)
    ]
    letters = [marker for _, _, marker in calls]
    if count == 1:
        assert letters == ["braille"]
    else:
        assert letters[:9] == list("abcdefghi")
        assert len(set(letters)) == count
        entries = [f"{letter} block size {n + 1}" for n, letter in enumerate(letters)]
        assert all(entry in text for entry in entries)


def test_the_runs_of_all_cells_are_drawn_over_time(calls: Calls) -> None:
    points = [
        ({"session": "A", "qd": f"{qd}"}, (float(t), 100.0 * qd + t))
        for qd in (1, 2, 4)
        for t in (1, 2, 3)
    ]
    elapsed = Column("x", "time", "s")
    printed(picture(points, "scatter", elapsed, per=("qd",)))
    assert [list(ys) for _, ys, _ in calls] == [
        [100.0 * qd + t for t in (1, 2, 3)] for qd in (1, 2, 4)
    ]


def test_a_line_is_broken_where_a_point_failed(calls: Calls) -> None:
    points = [({}, (float(qd), None if qd == 3 else 100.0 * qd)) for qd in range(1, 6)]
    printed(picture(points))
    assert [(list(xs), marker) for xs, _, marker in calls] == [
        ([1.0, 2.0], "braille"),
        ([4.0, 5.0], "braille"),
        ([3.0], "✕"),
    ]


def test_what_is_0_has_no_place_on_a_logarithmic_axis(calls: Calls) -> None:
    """As in the page, where its table has it all the same."""
    points = [({}, (float(qd), 100.0 * (qd - 1))) for qd in (1, 2, 3)]
    printed(picture(points, y_scale="log"))
    assert [(list(xs), list(ys)) for xs, ys, _ in calls] == [
        ([2.0, 3.0], [2.0, pytest.approx(log10(200))])
    ]


@pytest.mark.parametrize("kind", PLOTS)
def test_each_kind_that_has_curves_is_drawn(kind: str) -> None:
    columns: tuple[Column, ...] = ()
    rows: list[tuple[Any, ...]] = [(float(n), 100.0 * n) for n in (1, 2, 3)]
    overlay = None
    if kind == "bands":
        columns = tuple(Column(f"y{n}", f"p{n}", "ns") for n in (1, 2, 3))
        rows = [(*row, 200.0 * row[0], 300.0 * row[0], 400.0) for row in rows]
    if kind == "hockey":
        columns = tuple(Column(key, key, "hidden") for key in ("label", "number"))
        rows = [(*row, f"q{number}", number) for number, row in enumerate(rows)]
    if kind == "histogram":
        columns = (Column("x2", "up to", "ns"),)
        rows = [(*row, row[0] + 1) for row in rows]
    if kind == "convergence":
        keys = ("x", "x2", "mean", "low", "high", "least", "most", "fit", "fit2")
        window = (1.0, 3.0, 200.0, 180.0, 220.0, 100.0, 300.0, 100.0, 300.0)
        overlay = Frame(tuple(Column(key, key) for key in keys), [window])
    y = Column("y0" if kind == "bands" else "y", "latency", "ns")
    one = picture(
        [({}, row) for row in rows], kind, y=y, columns=columns, overlay=overlay
    )
    lines = printed(one)
    assert lines[1] == "A title"
    assert len([line for line in lines if "│" in line or "┤" in line]) >= 10
    assert ("q2" in "\n".join(lines)) == (kind == "hockey")
    last = lines[-1]
    assert ("a latency   b p1" in last) == (kind == "bands")
    assert ("─ mean   ╌ limits" in last) == (kind == "convergence")


def test_what_has_one_place_only_is_a_line_of_text() -> None:
    points = [
        ({"metric": name}, (4.0, y)) for name, y in (("mean", 80.0), ("p99", 320.0))
    ]
    lines = printed(picture(points, y=Column("y", "latency", "ns")))
    bars = [line.split() for line in lines[2:]]
    assert [(bar[0], bar[-2]) for bar in bars] == [("4", "80.0"), ("p99", "320")]
    assert bars[1][1] == "█" * 40 and bars[0][2] == "█" * 10


def test_bars_on_a_logarithmic_axis_stand_on_a_power_of_ten() -> None:
    names = Column("x", "workload", "text", ("a", "b", "c"))
    points = [({}, (name, y)) for name, y in (("a", 10.0), ("b", 100.0), ("c", 1000.0))]
    one = picture(points, "bars", names, x_scale="names", y_scale="log")
    lengths = [line.count("█") for line in printed(one)[2:]]
    assert lengths == [13, 26, 40]


# parts


def test_each_panel_and_each_choice_is_a_part() -> None:
    """The page has a panel for each session, and a choice among the rest."""
    points = [
        ({"session": s, "qd": qd, "read": read, "size": size}, (float(x), 1.0 + x))
        for s in ("A", "B")
        for qd in ("1", "2", "4", "8", "16")
        for read in ("0%", "100%")
        for size in ("4KiB", "8KiB")
        for x in (1, 2)
    ]
    one = picture(points, per=("qd",))
    found = parts(one)
    assert [part.name for part in found] == [
        f"read {read}, size {size}, {s}"
        for read in ("0%", "100%")
        for size in ("4KiB", "8KiB")
        for s in ("A", "B")
    ]
    text = printed(one)
    assert all(part.name in text for part in found)


def test_parts_that_are_too_many_are_counted() -> None:
    points = [
        ({"a": f"a{n}", "b": f"b{m}"}, (float(x), 1.0))
        for n in range(25)
        for m in range(2)
        for x in (1, 2)
    ]
    one = picture(points)
    count = len(parts(one))
    assert count > MOST_PARTS
    assert f"… and {count - MOST_PARTS} parts more: ioplan report" in printed(one)


# ticks


def test_values_of_few_are_ticks_themselves() -> None:
    size, values = Column("x", "block size", "size"), (512.0, 1024.0, 4096.0, 65536.0)
    one = picture([({}, (v, v)) for v in values], x=size, x_scale="log")
    assert printed(one)[-1].split() == ["512B", "1KiB", "4KiB", "64KiB"]


@pytest.mark.parametrize(
    ("unit", "low", "high", "texts"),
    [
        ("1/s", 0, 360_000, ["0", "100k", "200k", "300k", "400k"]),
        ("1/s", 0, 100, ["0", "20", "40", "60", "80", "100"]),
        ("ns", 0, 199_000, ["0", "50 µs", "100 µs", "150 µs", "200 µs"]),
        ("ns", 0, 1_150_000, ["0", "500 µs", "1 ms", "1.5 ms"]),
        ("s", 0, 12, ["0", "5 s", "10 s", "15 s"]),
        ("%", 0, 93.2, ["0%", "20%", "40%", "60%", "80%", "100%"]),
        ("", -3, 7, ["-5", "0", "5", "10"]),
    ],
)
def test_ticks_are_round_figures_around_the_values(
    unit: str, low: float, high: float, texts: list[str]
) -> None:
    one = picture([({}, (1.0, low)), ({}, (2.0, high))], y=Column("y", "y", unit))
    ticks = [line.partition("┤")[0].strip() for line in printed(one) if "┤" in line]
    assert ticks[::-1] == texts


def curves_of(count: int) -> ChartSpec:
    rows = [
        ({"size": f"{n}KiB"}, (float(qd), n * qd))
        for n in range(1, count + 1)
        for qd in (1, 2, 4)
    ]
    return picture(rows, x_scale="log")


@pytest.mark.parametrize(("count", "fine"), [(2, True), (6, True), (7, False)])
def test_few_curves_have_colours_and_more_have_letters(count: int, fine: bool) -> None:
    text = Text.from_ansi(report_charts.printed(curves_of(count), colors="256"))
    colors = {str(span.style) for span in text.spans} - {"bold", "none"}
    assert (len(colors) == count) == fine == ("aaaa" not in text.plain)
    assert all(f"{n}KiB" in text.plain for n in range(1, count + 1))
    assert max(map(len, text.plain.splitlines())) <= 80


def test_without_colours_curves_have_letters() -> None:
    assert any("aaaa" in line for line in printed(curves_of(2)))
