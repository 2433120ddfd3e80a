"""The report in a real browser: every chart, switch, size and theme; no script of others."""

import re
import struct
import time
from itertools import pairwise

import pytest
from chromium import WIDER
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
def test_every_chart_is_drawn_in_silence(chromium, simulated):
    """And nothing is fetched."""
    chromium.said(), chromium.asked_for()
    ids = chromium.looked_at(simulated.page)
    kinds = chromium.run("return figures.map((f) => f.dataset.kind)")
    assert set(kinds) == set(PICTURE_KINDS) - {"history"}
    for id in ids:
        assert chromium.run(COLORED, id) > 40, id
    assert chromium.said() == chromium.asked_for() == []
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0


def test_a_history_is_drawn_with_its_bands(chromium, tmp_path):
    """Of its levels."""
    store, page = tmp_path / "results.db", tmp_path / "history.html"
    with Store.open(store) as opened:
        put_nights(opened, 20, 1, lambda number, _: 0.9 if number >= 12 else 1.0)
    ioplan("history", "--store", store, "--format", "html", "-o", page)
    chromium.said(), chromium.asked_for()
    (id,) = chromium.drawn(page)
    kind = "return document.getElementById(arguments[0]).dataset.kind"
    assert chromium.run(kind, id) == "history" and chromium.run(COLORED, id) > 40
    assert chromium.said() == chromium.asked_for() == []


def test_only_what_is_near_is_drawn(chromium, single):
    chromium.open(single.page)
    time.sleep(0.3)
    count = "return figures.filter((f) => f.dataset.drawn !== undefined).length"
    few = chromium.run(count)
    chromium.run("scrollTo(0, document.body.scrollHeight / 2)")
    time.sleep(0.5)
    assert few < chromium.run(count) < chromium.run("return figures.length")


@pytest.mark.long
def test_each_switch_changes_its_chart(chromium, single):
    switched = set()
    for id in chromium.drawn(single.page):
        for text in chromium.texts(f"#{id} .tools button"):
            if ": " not in text:
                continue
            before = chromium.chart(id, SHOWN)
            chromium.click(id, text)
            assert chromium.chart(id, SHOWN) != before, (id, text)
            assert chromium.run(COLORED, id) > 40, (id, text)
            switched.add(text.partition(":")[0])
    assert switched == {"x", "y", "color"} and chromium.said() == []


PLACES = """return [...document.getElementById(arguments[0])
  .querySelectorAll(".role-axis-label text")]
  .map((t) => [t.textContent, t.getBoundingClientRect()])
  .filter(([text, box]) => /^[0-9]+$/.test(text))
  .map(([text, box]) => [Number(text), box.left, box.top])"""


def test_queue_depths_stand_in_their_order(chromium, single):
    id = chromium.drawn_one(single.page, "Throughput by queue depth")
    labels = chromium.run(PLACES, id)
    lowest = max(top for _, _, top in labels)
    along = sorted((left, qd) for qd, left, top in labels if abs(top - lowest) < 3)
    assert [qd for _, qd in along] == [1, 2, 4, 8, 16, 32, 64, 128]


BARS = """
return [...document.querySelectorAll('figure[data-kind="bars"]')].map((figure) => {
  const bars = [...figure.querySelectorAll("path[aria-roledescription='bar']")];
  const lefts = bars.map((bar) => Math.round(bar.getBoundingClientRect().left));
  return [bars.length, new Set(lefts).size];
});"""
TOPS = """
return figures.map((figure) => [...figure.querySelectorAll(".cell .role-title text")]
    .map((text) => Math.round(text.getBoundingClientRect().top)))
  .filter((tops) => tops.length > 1);"""
NAMELESS = """
const named = (e) => e.getAttribute("aria-label")
  || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
  || e.closest("label")?.textContent || e.textContent.trim();
const all = "button, select, input, figure[data-kind], .plot, nav, aside, summary";
return [...document.querySelectorAll(all)].filter((e) => !named(e))
  .map((e) => e.outerHTML.slice(0, 80));"""
LEVELS = "return [...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])"
LANDMARKS = """
const named = [...document.querySelectorAll("aside, nav, section[aria-label]")];
return named.map((one) => `${one.localName} ${one.getAttribute("aria-label")
  ?? document.getElementById(one.getAttribute("aria-labelledby"))?.textContent}`);"""


def test_bars_and_panels_stand_where_they_belong(chromium, simulated):
    """Bars side by side, panels as sessions are, their names in one line: however far
    the marks below reach up."""
    chromium.looked_at(simulated.page)
    found = chromium.run(BARS)
    assert [2, 2] in found  # the largest latency of either session, averaged
    assert all(bars == places for bars, places in found)
    id, names = (
        chromium.figure("IOPS by queue depth and read share"),
        chromium.sessions_of(),
    )
    heads = (".column_header text", ".row_header text", ".cell .role-title text")
    panels = chromium.texts(",".join(f"#{id} {one}" for one in heads))
    assert [text for text in panels if text in names] == names
    rows = chromium.run(TOPS)
    assert rows and all(len(set(tops)) == 1 for tops in rows), rows


def test_everything_has_a_name(chromium, simulated):
    """What a screen reader says: of figures, buttons, choices, plots; landmarks have
    names of their own."""
    chromium.looked_at(simulated.page)
    assert chromium.run(NAMELESS) == []
    levels = chromium.run(LEVELS)
    assert levels.count(1) == 1 and all(b - a <= 1 for a, b in pairwise(levels))
    landmarks = chromium.run(LANDMARKS)
    assert len(landmarks) >= 2 and len(set(landmarks)) == len(landmarks)


@pytest.mark.long_but_first
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_with_all_labels(chromium, simulated, width):
    chromium.drawn(simulated.page, width)
    assert chromium.run(WIDER) <= 0
    assert chromium.run(CUT) == []


FIRST = """
const [figure] = figures;
const tools = figure.querySelector(".tools");
const seen = () => getComputedStyle(tools).opacity;
const { width, left, top } = figure.getBoundingClientRect();
const row = [...figure.parentElement.children].filter((one) =>
  one.getBoundingClientRect().top === top);
const before = seen();
tools.querySelector("button").focus();
return { width, row: row.length, before, after: seen(),
  title: figure.querySelector("h3").textContent,
  open: figure.querySelectorAll("details[open]").length };
"""
LABELS = """return [...document.querySelectorAll(`#${arguments[0]} .plot text`)]
  .filter((text) => text.textContent)
  .map((text) => [text.textContent, text.getBoundingClientRect()])
  .map(([text, { left, right, top, bottom }]) => [text, left, right, top, bottom])"""


def test_the_first_chart_is_latency_against_load(chromium, drives):
    """Large, with its controls only where somebody is near, and no text upon another."""
    chromium.drawn(drives.page, 1440)
    first = chromium.run(FIRST)
    assert first["title"] == "Latency against load" and first["width"] >= 560
    assert (first["row"], first["open"]) == (1, 0)  # thirty drives take all of it
    assert (first["before"], first["after"]) == ("0", "1")
    chromium.run(
        "document.querySelectorAll('#sessions input').forEach((one, i) => {"
        "one.checked = i < 4; one.dispatchEvent(new Event('change', {bubbles: true}))})"
    )
    labels = chromium.run(LABELS, chromium.figure("Latency against load"))
    texts = [text for text, *_ in labels]
    assert {"Drive 00", "Drive 03", "QD 1"} <= set(texts), texts
    boxes = [box for text, *box in labels if text.startswith(("Drive", "QD"))]
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            is_beside = other[0] >= right - 1 or other[1] <= left + 1
            assert is_beside or other[2] >= bottom - 4 or other[3] <= top + 4, labels


@pytest.mark.long
def test_dark_and_light(chromium, single):
    id = chromium.drawn_one(single.page, "Throughput by queue depth")
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = []
    for theme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": theme}
        chromium.tell("Emulation.setEmulatedMedia", features=[feature])
        seen.append((chromium.run(ground), chromium.chart(id, SHOWN)))
    light, dark = seen
    assert light[0] != dark[0] and light[1] != dark[1]
    chromium.run("document.getElementById('theme').click()")  # auto, then light
    assert chromium.run(ground) == light[0]
    chromium.tell("Emulation.setEmulatedMedia", features=[])


NEAR = """return figures.filter((f) =>
  f.dataset.drawn !== undefined || !f.querySelector('.plot')).length"""


@pytest.mark.long
def test_it_prints_with_all_its_charts(chromium, single):
    chromium.open(single.page)
    before = chromium.run("return near.size")
    chromium.tell("Page.printToPDF", printBackground=True)
    assert before < chromium.run(NEAR) == chromium.run("return figures.length")


@pytest.mark.long
def test_a_chart_alone_is_what_the_page_saves(chromium, single, tmp_path):
    def saved(name, *words):
        call = ("report", single.sessions[0], "--store", single.store, "--force")
        return ioplan(*call, "-o", tmp_path / name, "--chart", *words)

    title = "throughput by queue depth"
    for name in ("chart.png", "chart.svg"):
        done = saved(name, title)
        assert done.code == 0, done.err
    png, svg = ((tmp_path / f"chart.{kind}").read_bytes() for kind in ("png", "svg"))
    assert png.startswith(b"\x89PNG") and png[16:24] == struct.pack(">II", 2400, 1350)
    id = chromium.drawn_one(single.page, "Throughput by queue depth")
    shown = "return picture(known.get(arguments[0] + '-data')).then(svgText)"
    plain = re.compile(rb'id="gradient_\d+"|clip\d+')
    assert plain.sub(b"", svg) == plain.sub(b"", chromium.run(shown, id).encode())
    for name, words, said in (
        ("chart.svg", ["no such chart"], "Throughput by queue depth'"),
        ("x.gif", ["throughput"], "-o x.svg"),
        ("chart.svg", ["throughput by", "--badge"], "choose one"),
    ):
        done = saved(name, *words)
        assert done.code == 2 and said in done.err


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
def page(tmp_path_factory):
    """A report of a session whose every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    store, page = folder / "results.db", folder / "report.html"
    runs = [
        run(seq, test=EVIL, cell={"qd": qd, EVIL: EVIL + qd}, **HOSTILE)
        for seq, qd in enumerate(("1", "2", EVIL), start=1)
    ]
    lost = run(4, test=EVIL, status="failed", message=EVIL)
    about = {"plan": EVIL, "plan_file": EVIL, "backend": EVIL, "target": EVIL}
    put(store, *runs, lost, **about)
    done = ioplan("report", "last", "--store", store, "-o", page)
    assert done.code == 0, done.err
    return page


def test_no_script_of_theirs_runs(chromium, page):
    """Their words are seen."""
    chromium.said()
    chromium.drawn(page)
    chromium.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true })"
    )
    assert chromium.run("return window.hacked") is None
    assert chromium.run("return document.images.length") == 0
    kinds = chromium.run("return [...document.scripts].map((s) => s.type)")
    assert kinds.count("") == 2 and chromium.said() == []
    assert chromium.texts("h1") == [f"SIMULATED {EVIL}".strip()]
    shown = chromium.run("return document.body.innerText")
    assert shown.count("window.hacked=1") > 8


@pytest.mark.long
def test_a_script_that_is_put_in_cannot_run(chromium, page):
    """The policy holds even where the escaping would not."""
    broken, main = page.with_name("broken.html"), "<main id="
    script = f"<script>window.hacked=4</script>{main}"
    assert main in page.read_text()
    broken.write_text(page.read_text().replace(main, script, 1))
    chromium.open(broken)
    assert chromium.run("return window.hacked") is None
    assert any("Content Security Policy" in line for line in chromium.said())
