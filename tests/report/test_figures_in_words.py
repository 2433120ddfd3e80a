"""Figures as texts: on the page as in the terminal, three digits and a unit."""

import json
import random
import shutil
import subprocess
from importlib import resources

import pytest

from ioplan import metric_text
from ioplan.core import tick_text, told_apart

UNITS = ("ns", "B/s", "B/s per W", "B", "size", "s", "percentile", "", "%", "W", "°C")
UNITS += ("1/s", "1/s per %", "1/s per W", "% of one CPU")
SCRIPT = """
const charts = { expressionFunction() {} };
SOURCE;
const pairs = JSON.parse(require("fs").readFileSync(0));
const texts = pairs.map(([value, unit]) => [short(value, unit), tick(value, unit)]);
console.log(JSON.stringify(texts));
"""


def values():
    """Of all sizes, round ones, and such that lie at the edge of a digit or a unit."""
    rng = random.Random(5)
    edges = (0.9994, 0.9995, 0.99951, 1, 1.005, 1.125, 9.995, 9.9949, 2.5, 1.0051)
    found = [edge * 10.0**power for power in range(-6, 14) for edge in edges]
    found += [rng.lognormvariate(0, 9) for _ in range(2000)]
    found += [float(n * step) for n in range(1, 70) for step in (1, 60, 512, 4096)]
    found += [59.94, 59.95, 62.5, 3599.5, 86399.4, 0.0, 2.0**20, 3 * 2.0**30]
    return found


@pytest.mark.skipif(
    shutil.which("node") is None, reason="LEFT OUT: the page is written by node here"
)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.slow
def test_the_page_writes_figures_as_all_else_does(unit):
    folder = resources.files("ioplan.results.report.html")
    source = (folder / "script" / "units.js").read_text(encoding="utf-8")
    pairs = [(value, unit) for value in values()]
    done = subprocess.run(
        ["node", "-e", SCRIPT.replace("SOURCE;", source)],
        input=json.dumps(pairs), capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [[metric_text(*pair), tick_text(*pair)] for pair in pairs]
    shown = zip(pairs, expected, json.loads(done.stdout), strict=True)
    assert [(pair, own, page) for pair, own, page in shown if own != page] == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        *((950, "1/s", "950"), (3456.7, "1/s", "3,460"), (9994, "1/s", "9,990")),
        *((9996, "1/s", "10.0k"), (12_345, "1/s", "12.3k"), (1.2e6, "1/s", "1.20M")),
        *((1501, "1/s per %", "1,500"), (0.5, "1/s per %", "0.500")),
        *((673e6, "B/s", "673 MB/s"), (2413e6, "B/s", "2.41 GB/s")),
        *((999.6e6, "B/s", "1.00 GB/s"), (20_480, "B/s", "0.0205 MB/s")),
        *((50e6, "B/s per W", "50.0 MB/s per W"), (98_234, "ns", "98.2 µs")),
        *((4.1e6, "ns", "4.10 ms"), (0, "ns", "0 ns"), (1112, "", "1,112")),
        *((1.5, "", "1.50"), (12.34, "%", "12.3 %"), (99.99, "percentile", "99.99 %")),
        *((4096, "B", "4 KiB"), (131_072, "B", "128 KiB"), (1 << 20, "B", "1 MiB")),
        *((3 << 20, "B", "3 MiB"), (51_200_000, "B", "51.2 MB"), (2e12, "B", "2.00 TB")),
        *((12.5, "s", "12.5 s"), (45, "s", "45 s"), (200, "s", "3 min 20 s")),
        (None, "1/s", "–"),
    ],
)  # fmt: skip
def test_a_figure_in_words(value, unit, text):
    assert metric_text(value, unit) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "text"),
    [
        *((2999.9, 3000, "1/s", "2,999.9"), (3000.1, 3000, "1/s", "3,000.1")),
        *((29_999.6, 30_000, "1/s", "29.9996k"), (3000, 3000, "1/s", "3,000")),
        *((249_999, 250_000, "ns", "249.999 µs"), (86_300, 250_000_000, "ns", "86.3 µs")),
    ],
)  # fmt: skip
def test_what_failed_its_limit_is_not_shown_as_the_limit(value, limit, unit, text):
    assert told_apart(value, limit, unit) == text
