"""The report in a real browser: every chart, switch, size and theme; no script of others."""

from __future__ import annotations

import re
import struct
import time
from itertools import pairwise
from pathlib import Path

import pytest
from chromium import Browser, Report, click, drawn, drawn_one, figure, looked_at
from command import ioplan
from figures import run
from sessions import put, put_nights

from ioplan.results.report import PICTURE_KINDS
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

COLORED = """
const done = arguments[0];
const figure = document.getElementById(done);
return chartOf(figure).view.toCanvas().then((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    const rgb = [data[i], data[i + 1], data[i + 2]];
    if (data[i + 3] > 60 && Math.max(...rgb) - Math.min(...rgb) > 40) found += 1;
  }
  return found;
});
"""

SHOWN = "chart.view.toSVG()"

CUT = """
return [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const name = svg.closest("figure").querySelector("h3").textContent;
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return text.textContent && box.width && (box.left < frame.left - 1.5
      || box.right > frame.right + 1.5 || box.bottom > frame.bottom + 1.5);
  }).map((text) => `${name}: ${text.textContent}`);
});
"""


@pytest.mark.long
def test_every_chart_is_drawn_in_silence(chromium: Browser, simulated: Report) -> None:
    chromium.said(), chromium.asked_for()
    ids = looked_at(chromium, simulated.page)
    kinds = chromium.run("return figures.map((f) => f.dataset.kind)")
    assert set(kinds) == set(PICTURE_KINDS) - {"history"}
    for id in ids:
        assert chromium.run(COLORED, id) > 40, id
    assert chromium.said() == []
    assert chromium.asked_for() == []
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0


def test_a_history_is_drawn_with_its_bands(chromium: Browser, tmp_path: Path) -> None:
    store, page = tmp_path / "results.db", tmp_path / "history.html"
    with Store.open(store) as opened:
        put_nights(opened, 20, 1, lambda number, _: 0.9 if number >= 12 else 1.0)
    ioplan("history", "--store", store, "--format", "html", "-o", page)
    chromium.said(), chromium.asked_for()
    (id,) = drawn(chromium, page)
    assert chromium.run(f"return document.getElementById('{id}').dataset.kind") == (
        "history"
    )
    assert chromium.run(COLORED, id) > 40
    assert chromium.said() == chromium.asked_for() == []


def test_only_what_is_near_is_drawn(chromium: Browser, single: Report) -> None:
    chromium.open(single.page)
    time.sleep(0.3)
    count = "return figures.filter((f) => f.dataset.drawn !== undefined).length"
    few = chromium.run(count)
    chromium.run("scrollTo(0, document.body.scrollHeight / 2)")
    time.sleep(0.5)
    assert few < chromium.run(count) < chromium.run("return figures.length")


@pytest.mark.long
def test_each_switch_changes_its_chart(chromium: Browser, single: Report) -> None:
    switched = set()
    for id in drawn(chromium, single.page):
        script = """return [...document.getElementById(arguments[0])
          .querySelectorAll(".tools button")].map((b) => b.textContent)"""
        for text in chromium.run(script, id):
            if ": " not in text:
                continue
            before = chromium.chart(id, SHOWN)
            click(chromium, id, text)
            assert chromium.chart(id, SHOWN) != before, (id, text)
            assert chromium.run(COLORED, id) > 40, (id, text)
            switched.add(text.partition(":")[0])
    assert switched == {"x", "y", "color"}
    assert chromium.said() == []


def test_queue_depths_stand_in_their_order(chromium: Browser, single: Report) -> None:
    id = drawn_one(chromium, single.page, "Throughput by queue depth")
    script = """return [...document.getElementById(arguments[0])
      .querySelectorAll(".role-axis-label text")]
      .map((t) => [t.textContent, t.getBoundingClientRect()])
      .filter(([text, box]) => /^[0-9]+$/.test(text))
      .map(([text, box]) => [Number(text), box.left, box.top])"""
    labels = chromium.run(script, id)
    lowest = max(top for _, _, top in labels)
    along = sorted((left, qd) for qd, left, top in labels if abs(top - lowest) < 3)
    assert [qd for _, qd in along] == [1, 2, 4, 8, 16, 32, 64, 128]


def test_bars_stand_side_by_side(chromium: Browser, simulated: Report) -> None:
    script = """
    return [...document.querySelectorAll('figure[data-kind="bars"]')].map((figure) => {
      const bars = [...figure.querySelectorAll("path[aria-roledescription='bar']")];
      const lefts = bars.map((bar) => Math.round(bar.getBoundingClientRect().left));
      return [bars.length, new Set(lefts).size];
    });"""
    looked_at(chromium, simulated.page)
    found = chromium.run(script)
    assert [2, 2] in found  # the largest latency of either session, averaged
    assert all(bars == places for bars, places in found)


def test_panels_are_in_the_sessions_order(chromium: Browser, simulated: Report) -> None:
    looked_at(chromium, simulated.page)
    names = chromium.run(
        "return [...document.querySelectorAll('#sessions input')].map((i) => i.value)"
    )
    id = figure(chromium, "IOPS by queue depth and read share")
    script = """return [...document.getElementById(arguments[0])
      .querySelectorAll(".column_header text, .row_header text, .cell .role-title text")]
      .map((text) => text.textContent)"""
    shown = [text for text in chromium.run(script, id) if text in names]
    assert shown == names


def test_names_of_panels_are_in_line(chromium: Browser, simulated: Report) -> None:
    """However far the marks below reach up."""
    looked_at(chromium, simulated.page)
    script = """
    return figures.map((figure) => [...figure.querySelectorAll(".cell .role-title text")]
        .map((text) => Math.round(text.getBoundingClientRect().top)))
      .filter((tops) => tops.length > 1);"""
    rows = chromium.run(script)
    assert rows and all(len(set(tops)) == 1 for tops in rows), rows


def test_everything_has_a_name(chromium: Browser, simulated: Report) -> None:
    """What a screen reader says: of figures, buttons, choices, plots."""
    looked_at(chromium, simulated.page)
    script = """
    const named = (e) => e.getAttribute("aria-label")
      || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
      || e.closest("label")?.textContent || e.textContent.trim();
    const all = "button, select, input, figure[data-kind], .plot, nav, aside, summary";
    return [...document.querySelectorAll(all)].filter((e) => !named(e))
      .map((e) => e.outerHTML.slice(0, 80));"""
    assert chromium.run(script) == []
    levels = chromium.run(
        "return [...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])"
    )
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.long_but_first
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_with_all_labels(
    chromium: Browser, simulated: Report, width: int
) -> None:
    drawn(chromium, simulated.page, width)
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.run(CUT) == []


@pytest.mark.long
def test_a_session_can_be_left_out(chromium: Browser, simulated: Report) -> None:
    id = drawn_one(chromium, simulated.page, "Throughput by queue depth")
    both = chromium.chart(id, "shownRows(chart).length")
    chromium.run("document.querySelector('#sessions input').click()")
    assert chromium.chart(id, "shownRows(chart).length") == both / 2
    assert chromium.run(COLORED, id) > 40


@pytest.mark.long
def test_dark_and_light(chromium: Browser, single: Report) -> None:
    id = drawn_one(chromium, single.page, "Throughput by queue depth")
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = []
    for theme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": theme}
        chromium.tell("Emulation.setEmulatedMedia", features=[feature])
        seen.append((chromium.run(ground), chromium.chart(id, SHOWN)))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]
    chromium.run("document.getElementById('theme').click()")  # auto, then light
    assert chromium.run(ground) == seen[0][0]
    chromium.tell("Emulation.setEmulatedMedia", features=[])


@pytest.mark.long
def test_it_prints_with_all_its_charts(chromium: Browser, single: Report) -> None:
    chromium.open(single.page)
    before = chromium.run("return near.size")
    chromium.tell("Page.printToPDF", printBackground=True)
    count = "return figures.filter((f) => f.dataset.drawn !== undefined || !f.querySelector('.plot')).length"
    assert before < chromium.run(count) == chromium.run("return figures.length")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_alone_is_what_the_page_saves(
    kind: str, chromium: Browser, single: Report, tmp_path: Path
) -> None:
    out = tmp_path / f"chart.{kind}"
    call = ("report", single.sessions[0], "--store", single.store, "-o", out)
    done = ioplan(*call, "--chart", "throughput by queue depth")
    assert done.code == 0, done.err
    data = out.read_bytes()
    if kind == "png":
        assert data.startswith(b"\x89PNG") and data[16:24] == struct.pack(
            ">II", 2400, 1350
        )
        return
    id = drawn_one(chromium, single.page, "Throughput by queue depth")
    saved = "return picture(known.get(arguments[0] + '-data')).then(svgText)"
    plain = re.compile(rb'id="gradient_\d+"|clip\d+')
    assert plain.sub(b"", data) == plain.sub(b"", chromium.run(saved, id).encode())
    done = ioplan(*call, "--force", "--chart", "no such chart")
    assert done.code == 2 and "'Throughput by queue depth'" in done.err.replace(
        ": T", "'T"
    )
    done = ioplan(*call[:-1], tmp_path / "x.gif", "--chart", "throughput")
    assert done.code == 2 and "-o x.svg" in done.err
    done = ioplan(*call, "--chart", "throughput by", "--badge")
    assert done.code == 2 and "choose one" in done.err


EVIL = (
    "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    "<!--<script>{{ 7 * 7 }}&amp;\u2028\"'`${window.hacked=3}"
)

IDENTITY = {"model": EVIL, "firmware": EVIL, "serial": EVIL}

HOSTILE = {
    "target": {"path": EVIL, "capacity_bytes": 1 << 30, "identity": IDENTITY},
    "warnings": (EVIL,),
    "substitutions": (EVIL,),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a session whose every text is hostile."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    store = tmp_path / "results.db"
    runs = [
        run(seq, test=EVIL, cell={"qd": qd, EVIL: EVIL + qd}, **HOSTILE)
        for seq, qd in enumerate(("1", "2", EVIL), start=1)
    ]
    lost = run(4, test=EVIL, status="failed", message=EVIL)
    about = {"plan": EVIL, "plan_file": EVIL, "backend": EVIL, "target": EVIL}
    put(store, *runs, lost, **about)
    done = ioplan("report", "last", "--store", store, "-o", tmp_path / "report.html")
    assert done.code == 0, done.err
    return tmp_path / "report.html"


def test_no_script_of_theirs_runs(chromium: Browser, page: Path) -> None:
    chromium.said()
    chromium.open(page)
    chromium.run("figures.forEach(come)")
    chromium.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true })"
    )
    assert chromium.run("return window.hacked") is None
    assert chromium.run("return document.images.length") == 0
    kinds = chromium.run("return [...document.scripts].map((s) => s.type)")
    assert kinds.count("") == 2
    assert chromium.said() == []


def test_their_words_are_seen(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    heading = chromium.run("return document.querySelector('h1').textContent")
    assert heading == f"SIMULATED {EVIL}"
    shown = chromium.run("return document.body.innerText")
    assert shown.count("window.hacked=1") > 8


@pytest.mark.long
def test_a_script_that_is_put_in_cannot_run(chromium: Browser, page: Path) -> None:
    """The policy holds even where the escaping would not."""
    broken = page.with_name("broken.html")
    text = page.read_text()
    assert "<main id=" in text
    broken.write_text(
        text.replace("<main id=", "<script>window.hacked=4</script><main id=", 1)
    )
    chromium.open(broken)
    assert chromium.run("return window.hacked") is None
    assert any("Content Security Policy" in line for line in chromium.said())
