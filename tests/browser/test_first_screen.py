"""The first screen of a report, and what a reader does with a page, kept in its address."""

import json
import time
from importlib.resources import files
from urllib.parse import quote

import pytest
from chromium import reported
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SLOW, SWEPT

from ioplan.results.report import sessions_screen
from ioplan.results.store import Store

pytestmark = pytest.mark.slow
HEIGHT = 900
PAGES = ("single", "simulated", "drives", "failed", "unmet")
MOST_WORDS = 120
CARDS = """
return [...document.querySelectorAll(".headline")].map((card) => ({
  title: card.querySelector("h3").textContent.trim(),
  caption: card.querySelector("p").textContent,
  bars: [...card.querySelectorAll("li")].map((li) => ({
    label: li.querySelector(".name").textContent,
    text: li.querySelector("b").firstChild.textContent.trim(),
    best: li.innerText.includes("best") || li.textContent.includes(" best"),
    doubted: Boolean(li.querySelector("[aria-label='not to be relied on']")),
    share: parseFloat(li.querySelector("rect")?.getAttribute("width") ?? "nan"),
  })),
}));
"""
ABOVE = """
const chart = document.querySelector("figure.chart");
const words = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const { parentElement, textContent } = walker.currentNode;
  if (chart.compareDocumentPosition(parentElement) & Node.DOCUMENT_POSITION_FOLLOWING
    || chart.contains(parentElement)) break;
  const seen = parentElement.checkVisibility() && !parentElement.closest(
    ".headline, .skip, .side, script, style");
  if (seen) words.push(...(textContent.match(/[A-Za-z]{2,}/g) ?? []));
}
const { top, width } = chart.getBoundingClientRect();
return [top + scrollY, width, words.length];
"""
CUT_OFF = """
const edge = document.documentElement.clientWidth + 1;
const parts = ".drives button, .chips li, .sentence, .headline h3, .headline p, .headline li";
return [...document.querySelectorAll(parts)].filter((part) => part.checkVisibility())
  .filter((part) => {
    const { left, right } = part.getBoundingClientRect();
    return left < 0 || right > edge || part.scrollWidth > part.clientWidth + 1;
  }).map((part) => part.outerHTML.slice(0, 200));
"""
OVERLAPS = """
const boxes = [...document.querySelectorAll(
  ".headline .name, .headline li > b, .headline h3, .headline p, .chips li, .sentence")]
  .filter((part) => part.checkVisibility())
  .map((part) => [part.getBoundingClientRect(), part.outerHTML.slice(0, 120)]);
return boxes.flatMap(([a, one], i) => boxes.slice(i + 1)
  .filter(([b]) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 2 && b.top < a.bottom - 2)
  .map(([, other]) => [one, other]));
"""
FAILS = """
test "All of it" {
  run    random 4KiB, qd 1 for 100ms
  vary   qd in 1..64 doubling
  vary   read in 100%, 70%, 30%, 0%
  expect iops >= 50_000_000 iops
  expect p99 <= 1us
}
"""


@pytest.fixture(scope="module")
def unmet(tmp_path_factory):
    """28 cells in which nothing that was expected held."""
    return reported(tmp_path_factory.mktemp("unmet"), FAILS, "64MiB", code=1)


@pytest.mark.long
@pytest.mark.parametrize("which", PAGES)
@pytest.mark.parametrize("width", [1440, 390])
def test_the_first_screen_is_seen_at_once(chromium, which, width, request):
    """Nothing is cut off or lies over another text; a chart is near, and beside the
    cards few words are above it."""
    chromium.open(request.getfixturevalue(which).page, width, HEIGHT)
    assert chromium.run(CUT_OFF) == []
    assert chromium.run(OVERLAPS) == []
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert len(chromium.texts(".chips li")) <= 5
    assert all(len(text) <= 160 for text in chromium.texts(".sentence"))
    top, wide, words = chromium.run(ABOVE)
    assert words <= MOST_WORDS
    if width == 1440:
        assert top <= 1300 and wide >= 560


@pytest.mark.parametrize("which", ["simulated", "drives"])
def test_the_bars_are_the_figures_of_the_store(chromium, which, request):
    """Made anew of the runs in the store: the best first, lengths as the figures."""
    report = request.getfixturevalue(which)
    with Store.open(report.store) as store:
        sessions = [store.session(one) for one in report.sessions]
        made = sessions_screen(store, sessions).cards
        rates = {}
        for id in report.sessions:
            for run in store.records(id):
                rates.setdefault(run.total.ios / run.run_s, run.asked.test)
    chromium.open(report.page, 1440, HEIGHT)
    shown = {(one["title"], one["caption"]): one["bars"] for one in chromium.run(CARDS)}
    assert len(shown) == len(made) > 0
    compared = 0
    for card in made:
        bars = shown[card.title, card.caption]
        assert [bar["label"] for bar in bars] == [bar.name for bar in card.bars]
        values = [bar.value for bar in card.bars if bar.value is not None]
        assert values == sorted(values, reverse="higher" in card.caption)
        longest = max(bar.high or bar.value or 0.0 for bar in card.bars)
        for bar, drawn in zip(card.bars, bars, strict=True):
            assert (bar.text, bar.is_best) == (drawn["text"], drawn["best"])
            assert drawn["doubted"] == (not bar.is_firm and bar.value is not None)
            if bar.value is not None and card.limit is None:
                share = 100 * bar.value / longest
                assert drawn["share"] == pytest.approx(share, abs=0.01)
            if "IOPS" in card.caption and bar.value is not None:
                compared += any(bar.value == pytest.approx(one) for one in rates)
    assert compared


AXE = files("axe_core_python") / "axe.min.js"
AUDIT = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`))"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("which", "theme", "width"),
    [
        *((which, "light", 1440) for which in PAGES),
        *(("simulated", "dark", 1440), ("simulated", "light", 390)),
    ],
)
def test_axe_finds_no_barrier(chromium, which, theme, width, request):
    """Names, roles, order of headings, contrast of all that is shown."""
    chromium.open(request.getfixturevalue(which).page, width, HEIGHT)
    chromium.run(
        "chosen = arguments[0]; document.documentElement.dataset.theme = chosen;"
        "again(); figures.forEach(come);",
        theme,
    )
    chromium.tell("Runtime.evaluate", expression=AXE.read_text("utf-8"))
    how = {"awaitPromise": True, "returnByValue": True}
    found = chromium.tell("Runtime.evaluate", expression=AUDIT, **how)
    assert found["result"]["value"] == []


QUESTIONS = """
const text = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
const named = [...document.querySelectorAll(".headline[aria-labelledby]")].map((card) => [
  document.getElementById(card.getAttribute("aria-labelledby")).textContent.trim(),
  [...card.querySelectorAll("li")].filter((li) => li.textContent.includes(" best"))
    .map((li) => li.querySelector(".name").textContent)]);
return {
  fastest: Object.fromEntries(named),
  failed: text("[aria-label='What to know'] .bad"),
  simulated: text("h1 .badge"),
  doubted: text("[aria-label='What to know'] .warning"),
  next: [...document.querySelectorAll("[aria-label='What to know'] a")].map((a) => a.hash),
};
"""


def test_five_questions_are_answered_by_names(chromium, simulated, unmet):
    """Which drive is fastest, what failed, is it simulated, can I rely on it, what next."""
    chromium.open(simulated.page, 1440, HEIGHT)
    found = chromium.run(QUESTIONS)
    assert any(found["fastest"].values()) and "SIMULATED" in found["simulated"]
    assert found["failed"] and "failed" in found["failed"][0]
    assert found["doubted"] and found["next"]
    for hash in found["next"]:
        assert chromium.run(
            "return document.querySelector(arguments[0]) !== null", hash
        )
    chromium.open(unmet.page, 1440, HEIGHT)
    found = chromium.run(QUESTIONS)
    assert found["failed"] == ["56 of 56 expectations failed"]


def test_a_chosen_drive_stands_out_everywhere(chromium, drives):
    """Also where its bar was folded; the address keeps it."""
    chromium.open(drives.page, 1440, HEIGHT)
    label = "Drive 13"
    chip = f".drives [data-label='{label}']"
    chromium.run("document.querySelector(arguments[0]).click()", chip)
    lit = """return [...document.querySelectorAll(".headline li")]
      .filter((li) => li.checkVisibility() && getComputedStyle(li).opacity === "1")
      .map((li) => li.dataset.label)"""
    assert set(chromium.run(lit)) == {label}
    assert quote('"drive":"Drive 13"') in chromium.run("return location.hash")
    chromium.run("document.querySelector(arguments[0]).click()", chip)
    assert label not in chromium.run(lit) or len(set(chromium.run(lit))) > 1


TITLES = """return [...document.querySelectorAll('section.test h2')]
  .map((h) => h.innerText.trim())"""


def test_the_tests_of_a_long_page_are_listed(chromium, tmp_path):
    """Beside it, and the one that is read is marked."""
    plan = "".join(
        f'test "T{n}" {{ run random 4KiB 100/0 for 20ms\n vary qd in 1, 2 }}\n'
        for n in range(4)
    )
    chromium.open(reported(tmp_path, plan, "16MiB").page, width=1600)
    assert chromium.texts(".side a") == ["Results", "T0", "T1", "T2", "T3"]
    apart = """
      const [side, main] = [".side", "main"].map(
        (name) => document.querySelector(name).getBoundingClientRect());
      return side.width > 0 && side.right <= main.left + 1;
    """
    assert chromium.run(apart)
    chromium.run("document.getElementById('test-3').scrollIntoView()")
    deadline_s = time.monotonic() + 20
    while chromium.texts(".side [aria-current]") != ["T2"]:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    chromium.size(390)
    assert chromium.run("return document.querySelector('.side').offsetWidth") == 0


TITLE = "IOPS by queue depth"


def shown_x(chromium, id):
    """Where the rows that are drawn stand."""
    return set(
        chromium.chart(id, "zoomed(chart, shownRows(chart)).map((row) => row.x)")
    )


def typed(chromium, label, text):
    field = chromium.driver.find_element(By.CSS_SELECTOR, f"[aria-label='{label}']")
    field.send_keys(text)


def at_address(chromium, page, address):
    """As somebody opens it who was sent it."""
    chromium.driver.get("about:blank")
    chromium.driver.get(f"{page.as_uri()}{address}")
    chromium.run("figures.forEach(come)")


def rate_of(text):
    """`361k`, `8,670`."""
    return float(text.replace(",", "").replace("k", "e3").replace("M", "e6"))


@pytest.mark.long
def test_tables_sort_and_filter(chromium, drives):
    """By what a column means: axes in their order, figures by size."""
    chromium.open(drives.page)
    rows = chromium.table_of_runs()
    assert len(rows) == 30 * len(SWEPT)
    for key, name in ((1, "queue depth"), (2, "IOPS")):
        sort = f".runs [aria-label='Sort by {name}']"
        head = chromium.driver.find_element(By.CSS_SELECTOR, sort)
        for down in (False, True):
            head.send_keys(Keys.ENTER)
            shown = chromium.table_of_runs()
            found = [rate_of(row[key]) for row in shown]
            assert found == sorted(found, reverse=down)
    assert head.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    chromium.run("document.querySelector('.runs [type=search]').focus()")
    typed(chromium, "Filter rows", f"drive {SLOW:02}")
    shown = chromium.table_of_runs()
    assert len(shown) < len(rows) / 2
    assert all(f"{SLOW:02}" in " ".join(row) for row in shown)
    assert [row[0] for row in shown].count(f"Drive {SLOW:02}") == len(SWEPT)


CHANGE = """const chart = chartOf(document.getElementById(arguments[0]));
  keep(chart, "Drive 13"); chart.chosen = "together"; zoomTo(chart, [2, 4]);
  document.querySelector(".runs .sort").click();"""
STATE = """const chart = chartOf(document.getElementById(arguments[0]));
  const { sort } = tableViews.get(document.querySelector(".runs details").dataset.rows);
  return [chart.lit, chart.mode, chart.state.y, chart.zoom, sort, location.hash,
    about.sources.length - hidden.size,
    [...document.querySelectorAll("#sessions input:checked")].length]"""


@pytest.mark.long
def test_the_address_keeps_what_was_chosen(chromium, drives):
    """Sessions, scale, way of drawing, highlight, zoom, and the table's order."""
    id = chromium.drawn_one(drives.page, TITLE)
    assert chromium.run("return location.hash") == ""
    chromium.run("document.querySelector('.choose').open = true")
    typed(chromium, "Filter sessions", "f1 k01")
    assert chromium.run("return about.sources.length - hidden.size") == 5
    chromium.click(id, "y: linear")
    chromium.table_of_runs()
    chromium.run(CHANGE, id)
    hash = chromium.run("return location.hash")
    at_address(chromium, drives.page, hash)
    chromium.table_of_runs()
    sort = {"at": 0, "up": True}
    chosen = ["Drive 13", "together", "log", [2, 4], sort, hash, 5, 5]
    assert chromium.run(STATE, id) == chosen
    assert shown_x(chromium, id) == {2, 4} and chromium.said() == []


NO_CHART = {"state": {"y": "no"}, "mode": "constructor", "lit": 9, "picked": {"no": 1}}
WRONG = [
    *(None, 5, "x", [], {"hide": [["<script>"], 9], "drive": {}, "nothing": None}),
    {"hide": "nobody", "test-1-chart-1": NO_CHART | {"zoom": [9, 1]}},
    {"test-1-chart-1": {"state": 1, "picked": [], "zoom": ["a", None]}},
    {"test-1-chart-1": None, "t-test-1-runs": {"sort": {"at": 99}, "words": None}},
]


@pytest.mark.parametrize("hash", ["%", "&", "<&>", *map(json.dumps, WRONG)])
def test_a_wrong_address_does_nothing(chromium, drives, hash):
    text = hash if "%" in hash else quote(hash)
    at_address(chromium, drives.page, f"#test-1&{text}")
    assert len(chromium.table_of_runs()) == 30 * len(SWEPT)
    assert chromium.run("return [hidden.size, focused]") == [0, ""]
    assert shown_x(chromium, chromium.figure(TITLE)) == {int(qd) for qd in SWEPT}
    assert chromium.said() == []


@pytest.mark.long
def test_a_drag_zooms_and_a_button_goes_back(chromium, drives):
    """From the middle of the plot to its right end, on a logarithmic axis."""
    id = chromium.drawn_one(drives.page, TITLE)
    chromium.dragged(id, 0.5)
    assert shown_x(chromium, id) == {4, 8}
    chromium.click(id, "whole range")
    assert shown_x(chromium, id) == {1, 2, 4, 8}
    assert "zoom" not in chromium.run("return location.hash")
