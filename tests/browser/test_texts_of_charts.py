"""Texts of a chart lie over no other text, and those of points over no mark or line."""

from pathlib import Path

import pytest
from chromium import Report
from command import ioplan, plan_file
from sim_batches import rough

from ioplan.results.store import Store

pytestmark = pytest.mark.slow
SIM = Path(__file__).parents[2] / "examples/sim/datacentre.toml"
MODELS = {
    "data-centre TLC": "31us",
    "MAXIMAL WWW-3840M": "36us",
    "enterprise TLC": "26us",
}
"""They differ by how long a page takes to read, and are as fast where they saturate."""
PLAN = """
test "Reads" {
  run    random 4KiB 100/0 for 300ms
  vary   qd in 1..128 doubling
  expect p99 < 250us
}
test "Two shares" {
  run    random 4KiB for 300ms
  vary   read in 100%, 70%
  vary   qd in 1..64 doubling
}
test "Panels" {
  run    random 4KiB for 300ms
  vary   size in 4KiB, 64KiB
  vary   read in 100%, 70%, 0%
  vary   qd in 1, 8, 64
}
test "Many depths" {
  run    random 4KiB 100/0 for 300ms
  vary   qd in 1..16 step 1
}
"""


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """A page of two drives, and one of three."""
    folder = tmp_path_factory.mktemp("alike")
    store, ids = folder / "results.db", []
    for model, read in MODELS.items():
        text = SIM.read_text().replace("data-centre TLC", model).replace("31us", read)
        (folder / "drive.toml").write_text(text)
        call = ("--backend", "sim", "--sim", folder / "drive.toml", "--create", "64MiB")
        plan = plan_file(folder, PLAN)
        with rough():
            assert ioplan("run", plan, *call, "--store", store, "-q").code == 1
    with Store.open(store) as opened:
        ids = [session.id for session in opened.sessions()][::-1]
    pages = {count: folder / f"{count}.html" for count in (2, 3)}
    for count, page in pages.items():
        ioplan("report", *ids[:count], "--store", store, "-o", page)
    return {count: Report(page, store, ids[:count]) for count, page in pages.items()}


BOXES = """
const svg = document.querySelector(`#${arguments[0]} .plot svg`);
const boxOf = (element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return { left, right, top, bottom };
};
const isShown = (element) => Number(element.getAttribute("opacity") ?? 1) > 0.1;
const texts = [...svg.querySelectorAll("text")]
  .filter((text) => text.textContent.trim() && isShown(text))
  .map((text) => ({ name: text.textContent, ...boxOf(text),
    isOfMark: Boolean(text.closest(".mark-text.role-mark")) }));
const marks = [...svg.querySelectorAll(".mark-symbol.role-mark path")]
  .filter(isShown)
  .map((mark) => ({ name: "mark", ...boxOf(mark) }));
const lines = [...svg.querySelectorAll(".mark-line.role-mark path")].flatMap((line) => {
  const matrix = line.getScreenCTM();
  return Array.from({ length: Math.floor(line.getTotalLength() / 2) }, (_, i) => {
    const { x, y } = line.getPointAtLength(2 * i).matrixTransform(matrix);
    return { name: "line", left: x, right: x, top: y, bottom: y };
  });
});
return { kind: svg.closest("figure").dataset.kind, texts, marks, lines };
"""


def over_one_another(boxes, others, slack_px):
    """The pairs that have more in common than so many pixels from each side."""
    return [
        (box["name"], other["name"])
        for box in boxes
        for other in others
        if box is not other
        and box["left"] + slack_px < other["right"]
        and other["left"] < box["right"] - slack_px
        and box["top"] + slack_px < other["bottom"]
        and other["top"] < box["bottom"] - slack_px
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("count", [2, 3])
def test_no_text_lies_over_another_or_over_a_mark(chromium, alike, count, width):
    """Where drives saturate alike their points, ends and labels share a place."""
    drawn = chromium.drawn(alike[count].page, width)
    charts = {id: chromium.run(BOXES, id) for id in drawn}
    for id, shown in charts.items():
        assert over_one_another(shown["texts"], shown["texts"], 0.5) == [], id
    against_load = {
        id: shown for id, shown in charts.items() if shown["kind"] == "hockey"
    }
    assert len(against_load) == 4
    for id, shown in against_load.items():
        of_marks = [text for text in shown["texts"] if text["isOfMark"]]
        of_points = [text for text in of_marks if text["name"].startswith("QD ")]
        assert len(of_points) >= 4, id
        assert over_one_another(of_marks, shown["marks"], 1) == [], id
        assert over_one_another(of_points, shown["lines"], 1) == [], id
    assert chromium.said() == []
