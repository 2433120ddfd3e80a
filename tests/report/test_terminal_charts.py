"""The report's pictures as text: each kind, each curve, each point, in 80 columns."""

import os
import re
import sys
from itertools import product
from math import log10

import plotext
import pytest
from command import ioplan, plan_file, program
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_charts import luminance, printed
from rich.text import Text

from ioplan import iops_text
from ioplan.results.report import (
    FAILED,
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
LOAD, LATENCY = Column("x", "IOPS", "1/s"), Column("y", "p99", "ns")
load, latency = st.floats(1e3, 1e6), st.floats(1e4, 1e8)


def lines_of(picture):
    return printed(picture).splitlines()


def picture(points, kind="lines", x=QD, y=IOPS, **more):
    """A picture of points by their dimensions."""
    data = [Datum(where, values) for where, values in points]
    extra = more.pop("columns", ())
    frame, channels = framed(data, (x, y, *extra), more.pop("per", ()))
    fields = {"line": "", "x": x.key, "y": y.key, "channels": channels}
    return ChartSpec(kind=kind, title="A title", frame=frame, **fields | more)


@pytest.fixture
def calls(monkeypatch):
    """What is drawn: places across, places up, marker."""
    found = []
    for name in ("plot", "scatter"):
        draws = getattr(plotext, name)

        def noted(xs, ys, marker="", d=draws, **how):
            found.append((xs, ys, marker))
            d(xs, ys, marker=marker, **how)

        monkeypatch.setattr(plotext, name, noted)
    return found


# curves and points
@pytest.mark.parametrize("y_scale", ["linear", "log"])
def test_points_lie_where_their_values_are(calls, y_scale):
    values = {1: 10_000.0, 2: 20_000.0, 8: 65_000.0}
    points = [({"size": "4KiB"}, (float(qd), iops)) for qd, iops in values.items()]
    lines = lines_of(picture(points, x_scale="log", y_scale=y_scale))
    ((xs, ys, _),) = calls
    assert xs == [log10(qd) for qd in values]
    at = log10 if y_scale == "log" else float
    assert ys == [at(iops) for iops in values.values()]
    assert "80k┤" in lines[3] or y_scale == "log"
    assert lines[-1].split() == ["1", "2", "8"]


@pytest.mark.parametrize("count", [1, 9, 20])
def test_each_curve_is_drawn_and_named(calls, count):
    """The ninth is not the last."""
    points = [
        ({"size": f"{n + 1}"}, (float(qd), 1000.0 * (n + qd)))
        for n, qd in product(range(count), (1, 2))
    ]
    one = picture(points)
    named = replace(one.channels, color="d0", pick="", panel="")
    text = printed(replace(one, channels=named) if count > 1 else one)
    firsts = sorted(ys[0] for _, ys, _ in calls)
    assert firsts == [1000.0 * (n + 1) for n in range(count)]
    letters = [marker for _, _, marker in calls]
    if count == 1:
        assert letters == ["braille"]
        return
    assert letters[:9] == list("abcdefghi") and len(set(letters)) == count
    entries = [f"{letter} block size {n + 1}" for n, letter in enumerate(letters)]
    assert all(entry in text for entry in entries)


def test_the_runs_of_all_cells_are_drawn_over_time(calls):
    qds, times = (1, 2, 4), (1, 2, 3)
    points = [
        ({"session": "A", "qd": f"{qd}"}, (float(t), 100.0 * qd + t))
        for qd, t in product(qds, times)
    ]
    lines_of(picture(points, "scatter", Column("x", "time", "s"), per=("qd",)))
    drawn = [list(ys) for _, ys, _ in calls]
    assert drawn == [[100.0 * qd + t for t in times] for qd in qds]


def test_a_line_is_broken_where_a_point_failed(calls):
    """And what is 0 has no place on a logarithmic axis, as in the page, where its table
    has it all the same."""
    points = [({}, (float(qd), None if qd == 3 else 100.0 * qd)) for qd in range(1, 6)]
    lines_of(picture(points))
    ends = [([1.0, 2.0], "braille"), ([4.0, 5.0], "braille"), ([3.0], "✕")]
    assert [(list(xs), marker) for xs, _, marker in calls] == ends
    calls.clear()
    points = [({}, (float(qd), 100.0 * (qd - 1))) for qd in (1, 2, 3)]
    lines_of(picture(points, y_scale="log"))
    ((xs, ys, _),) = calls
    assert list(xs) == [2.0, 3.0] and list(ys) == [2.0, pytest.approx(log10(200))]


@pytest.mark.parametrize("kind", PLOTS)
def test_each_kind_that_has_curves_is_drawn(kind):
    columns, overlay = (), None
    rows = [(float(n), 100.0 * n) for n in (1, 2, 3)]
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
    data = [({}, row) for row in rows]
    lines = lines_of(picture(data, kind, y=y, columns=columns, overlay=overlay))
    assert lines[1] == "A title"
    assert len([line for line in lines if "│" in line or "┤" in line]) >= 10
    assert ("q2" in "\n".join(lines)) == (kind == "hockey")
    assert ("a latency   b p1" in lines[-1]) == (kind == "bands")
    assert ("─ mean   ╌ limits" in lines[-1]) == (kind == "convergence")


@given(st.lists(st.tuples(load, latency), min_size=4, max_size=8), st.integers(1, 3))
def test_a_label_hides_no_curve_and_no_other_label(points, curves):
    """Where there is no room for it, it is left out."""
    points = [
        ({"size": f"{curve}"}, (iops, ns, str(qd), f"QD {qd}", qd))
        for curve in range(curves)
        for qd, (iops, ns) in enumerate(sorted(points), start=1)
    ]
    columns = Column("at", "queue depth"), Column("label", "", "hidden")
    more = {"columns": (*columns, Column("number", "", "hidden")), "per": ("size",)}
    labelled = picture(points, "hockey", LOAD, LATENCY, **more)
    bare = [(where, (*values[:3], "", values[4])) for where, values in points]
    lines = lines_of(labelled)
    unlabelled = lines_of(picture(bare, "hockey", LOAD, LATENCY, **more))
    for line, drawn in zip(lines, unlabelled, strict=True):
        without = re.sub(r"QD \d", "    ", line)
        assert without.rstrip() == drawn.rstrip()
    is_plot = any("┤" in line for line in lines)
    assert any("QD" in line for line in lines) == is_plot


def test_what_has_one_place_only_is_a_line_of_text():
    """Bars on a logarithmic axis stand on a power of ten."""
    figures = {"mean": 80.0, "p99": 320.0}
    points = [({"metric": name}, (4.0, y)) for name, y in figures.items()]
    lines = lines_of(picture(points, y=Column("y", "latency", "ns")))
    bars = [line.split() for line in lines[2:]]
    assert [(bar[0], bar[-2]) for bar in bars] == [("4", "80.0"), ("p99", "320")]
    assert bars[1][1] == "█" * 40 and bars[0][2] == "█" * 10
    names = Column("x", "workload", "text", ("a", "b", "c"))
    points = [({}, (name, 10.0**n)) for n, name in enumerate("abc", 1)]
    one = picture(points, "bars", names, x_scale="names", y_scale="log")
    assert [line.count("█") for line in lines_of(one)[2:]] == [13, 26, 40]


def test_each_panel_and_each_choice_is_a_part():
    """The page has a panel for each session, and a choice among the rest."""
    reads, sizes = ("0%", "100%"), ("4KiB", "8KiB")
    every = product("AB", ("1", "2", "4", "8", "16"), reads, sizes, (1, 2))
    points = [
        ({"session": s, "qd": qd, "read": read, "size": size}, (float(x), 1.0 + x))
        for s, qd, read, size, x in every
    ]
    one = picture(points, per=("qd",))
    names = [part.name for part in parts(one)]
    assert names == [
        f"read {read}, size {size}, {s}"
        for read, size, s in product(reads, sizes, "AB")
    ]
    assert {*names} <= {*lines_of(one)}


def test_parts_that_are_too_many_are_counted():
    one = picture(
        [
            ({"a": f"a{n}", "b": f"b{m}"}, (float(x), 1.0))
            for n, m, x in product(range(25), range(2), (1, 2))
        ]
    )
    more = len(parts(one)) - MOST_PARTS
    assert more > 0
    assert f"… and {more} parts more: ioplan report" in lines_of(one)


TICKS = [
    ("1/s", 0, 360_000, "0, 100k, 200k, 300k, 400k"),
    ("1/s", 0, 100, "0, 20, 40, 60, 80, 100"),
    ("ns", 0, 199_000, "0, 50 µs, 100 µs, 150 µs, 200 µs"),
    ("ns", 0, 1_150_000, "0, 500 µs, 1 ms, 1.5 ms"),
    ("s", 0, 12, "0, 5 s, 10 s, 15 s"),
    ("%", 0, 93.2, "0 %, 20 %, 40 %, 60 %, 80 %, 100 %"),
    ("", -3, 7, "-5, 0, 5, 10"),
]


def test_ticks_are_round_figures_around_the_values():
    """Of few values, these themselves."""
    for unit, low, high, texts in TICKS:
        one = picture([({}, (1.0, low)), ({}, (2.0, high))], y=Column("y", "y", unit))
        lines = [line.partition("┤") for line in lines_of(one)]
        ticks = [before.strip() for before, sign, _ in lines if sign]
        assert ", ".join(ticks[::-1]) == texts
    size, values = Column("x", "block size", "size"), (512.0, 1024.0, 4096.0, 65536.0)
    one = picture([({}, (v, v)) for v in values], x=size, x_scale="log")
    assert " ".join(lines_of(one)[-1].split()) == "512 B 1 KiB 4 KiB 64 KiB"


def curves_of(count):
    places = product(range(1, count + 1), (1, 2, 4))
    rows = [({"size": f"{n}KiB"}, (float(qd), n * qd)) for n, qd in places]
    return picture(rows, x_scale="log")


@pytest.mark.slow
def test_ticks_stand_at_one_place_in_every_process(tmp_path, store_path):
    """In whatever order a process takes the members of a set."""
    sizes = 'test "S" { run random 4KiB 100/0 for 1s vary size in 4KiB..1MiB doubling }'
    path = plan_file(tmp_path, sizes)
    assert ioplan("run", path, "--backend", "sim", "--create", "64MiB").code == 0
    seeds = ({**os.environ, "PYTHONHASHSEED": str(seed)} for seed in (1, 2, 5))
    words = (sys.executable, "-m", "ioplan.cli", "show", "--tables")
    texts = {program(*words, env=env).stdout for env in seeds}
    assert len(texts) == 1 and "512 KiB" in texts.pop()


@pytest.mark.parametrize(("count", "plots"), [(2, 1), (8, 1), (9, 2)])
def test_curves_have_colours_and_letters_only_without(count, plots):
    """More curves than colours take several plots."""
    text = Text.from_ansi(printed(curves_of(count), colors="256"))
    colors = {str(span.style) for span in text.spans} - {"bold", "none"}
    assert len(colors) == min(count, 8) and "aaaa" not in text.plain
    assert text.plain.count("└") == plots
    assert all(f"{n}KiB" in text.plain for n in range(1, count + 1))
    assert max(map(len, text.plain.splitlines())) <= 80
    assert any("aaaa" in line for line in lines_of(curves_of(2)))


TWO = """test "Two axes" {
  run random 4KiB 100/0, qd 4 for 1s
  vary qd in 1, 2, 16
  vary size in 4KiB, 64KiB, 8KiB
}
"""


def heatmap(cells, unit="1/s"):
    """Values by their place across and down; one without a value has failed."""
    across, down = (tuple(dict.fromkeys(place[n] for place in cells)) for n in (0, 1))
    columns = (
        Column("x", "queue depth", "text", across),
        Column("row", "name", "text", down),
        Column("y", "IOPS", unit),
        Column("status", "status"),
    )
    rows = [(*p, v, "failed" if v is None else "ok") for p, v in cells.items()]
    frame = Frame(columns, rows)
    return ChartSpec("heatmap", "IOPS", "", frame, "x", "row")


def test_two_axes_are_a_heatmap(tmp_path, store_path):
    """In numeric order, upwards as in the page; what `when` excludes is in none."""
    lines = """
  skip when qd == 2 and size == 8KiB
  chart heatmap read.p99, bandwidth by qd, size
  chart heatmap iops by size, qd
  chart bars iops by qd when size == 64KiB
}"""
    plan = plan_file(tmp_path, TWO.replace("\n}", lines))
    assert ioplan("run", plan, "--backend", "sim", "--quiet").code == 0
    found, _, _ = ioplan("show", "--tables").out.partition("Headlines")
    assert max(map(len, found.splitlines()[1:])) <= 80 and "\x1b" not in found
    cells = {
        (row["asked"]["cell"]["qd"], row["asked"]["cell"]["size"]): row["total"]["iops"]
        for row in ioplan("export", "--format", "jsonl").lines
    }
    assert "Read p99 latency by queue depth and block size" in found
    _, after = found.split("Throughput by queue depth and block size")
    grid, rest = after.split("IOPS by block size and queue depth")
    assert "MB/s" in grid
    _, _, across, heads, _, *rows = rest.splitlines()[:8]
    assert across.strip() == "block size →"
    sizes = ["4KiB", "8KiB", "64KiB"]
    assert re.split(r" {2,}", heads.strip()) == ["queue depth ↓", *sizes]
    table = [row.split() for row in rows]
    assert [row[0] for row in table] == ["16", "2", "1"]
    for qd, *texts in table:
        assert texts == [iops_text(cells[qd, s]) for s in sizes if (qd, s) in cells]
    bars_of = rest[rest.index("IOPS by queue depth (size == 64KiB)") :]
    bars = [line.split() for line in bars_of.splitlines() if "█" in line]
    assert {words[0]: words[-1] for words in bars} == {
        qd: iops_text(iops) for (qd, size), iops in cells.items() if size == "64KiB"
    }


def test_one_that_is_too_wide_goes_on_below():
    places = product(range(15), range(14))
    cells = {(f"{n}", f"row{m}"): 1000.0 * (20 * n + m) for n, m in places}
    lines = [line.split() for line in lines_of(heatmap(cells))]
    heads = [words[2:] for words in lines if words[:2] == ["name", "↓"]]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == [str(n) for n in range(15)]
    rows = [words[1:] for words in lines if words[:1] == ["row13"]]
    texts = [iops_text(1000.0 * (20 * n + 13)) for n in range(15)]
    assert [text for row in rows for text in row] == texts


def test_colours_are_in_a_terminal_only():
    values = {("1", "a"): 1.0, ("2", "a"): 50.0, ("1", "b"): 100.0, ("2", "b"): None}
    styled, bare = (
        printed(heatmap(values), colors="truecolor"),
        printed(heatmap(values)),
    )
    assert len({*re.findall(r"48;2;\d+;\d+;\d+", styled)}) == 3
    assert "\x1b" not in bare and FAILED in bare
    plain = re.sub(r"\x1b\[[0-9;]*m", "", styled)
    assert [o.rstrip() for o in plain.splitlines()] == [
        o.rstrip() for o in bare.splitlines()
    ]


@given(st.floats(0, 1))
def test_letters_can_be_read_on_every_colour(share):
    """A contrast of 4.5 is what WCAG asks of text; brighter is more, for any eye."""
    values = {("1", "a"): 0.0, ("2", "a"): share, ("3", "a"): 1.0}
    styled = printed(heatmap(values, ""), colors="truecolor")
    found = re.findall(r"\x1b\[38;2;(\d+);\d+;\d+;48;2;(\d+);(\d+);(\d+)m", styled)
    assert len(found) == 3
    grounds = [luminance(list(map(int, rgb))) for _, *rgb in found]
    for (letters, *_), ground in zip(found, grounds, strict=True):
        low, high = sorted((ground, 0.0 if letters == "0" else 1.0))
        assert (high + 0.05) / (low + 0.05) >= 4.5
    assert grounds[0] <= grounds[1] + 1e-9 and grounds[1] <= grounds[2] + 1e-9
