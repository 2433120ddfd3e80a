"""Charts over time on the page: phases, rows of cells, and the figures of a stretch."""

import pytest
from chromium import reported
from command import ioplan

from ioplan.language import Metric
from ioplan.results.measure import IntervalCounts, Stretch, stretch
from ioplan.results.store import Store

pytestmark = pytest.mark.slow
SECONDS = 20

PLAN = """
workload mixed {
  reader = random 8KiB 100/0, qd 4, rate 4_000 iops
  writer = random 8KiB 0/100, qd 16,
      burst 1s of 20_000 iops as checkpoint, then 4s of 100 iops as calm
}
test "Burst" {
  run mixed for 20s, interval 200ms
  chart lines reader.p99 over time
  chart bands reader.p99 over time
  chart heatmap reader.latency over time
}
test "Depths" {
  run mixed for 20s
  vary reader.qd in 1, 2, 4
  chart heatmap reader.p99 over time
}
"""

TITLES = (
    *("p99 latency of reader over time", "Latency percentiles of reader over time"),
    "reader.latency over time",
)
MARKS = """const chart = chartOf(document.getElementById(arguments[0]));
  const found = [];
  const walk = (item) => {
    for (const group of item.items ?? []) {
      if (group.items) group.items.forEach(walk);
      const { role, phase, label } = group.datum ?? {};
      if (role !== "phase") continue;
      const text = item.marktype === "text" ? group.text : null;
      found.push([item.marktype, phase, text, group.x, group.width ?? 0, group.height ?? 0]);
    }
  };
  walk(chart.view.scenegraph().root);
  const x = (value) => chart.view.scale("x")(value);
  return [found, [0, 1, 5, 6].map((s) => { try { return x(s); } catch { return null; } })];"""


@pytest.fixture(scope="module")
def burst(tmp_path_factory):
    return reported(tmp_path_factory.mktemp("burst"), PLAN, "256MiB")


def stored(report, begin_s, end_s):
    """As the terminal makes it."""
    with Store.open(report.store) as store:
        packed = store.intervals(store.session("last").id, 1)
    return stretch(IntervalCounts(packed), begin_s * 1e9, end_s * 1e9)


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.long
@pytest.mark.promise("figures.stretch")
def test_a_stretch_names_what_prints_its_figures(title, chromium, burst):
    chromium.looked_at(burst.page)
    id = chromium.figure(title)
    note = f"#{id} .made"
    assert chromium.texts(note) == [""]
    chromium.dragged(id, 0.25)
    begin_s, end_s = chromium.chart(id, "chart.zoom")
    assert 2 < end_s - begin_s < 12
    (text,) = chromium.texts(note)
    _, command, words = text.partition("figures of this stretch: ioplan ")
    assert command
    printed = ioplan(*words.split(), "--store", burst.store).out
    assert f"{stored(burst, begin_s, end_s).intervals} whole intervals" in printed
    chromium.click(id, "whole range")
    assert chromium.texts(note) == [""]
    assert chromium.said() == []


def test_phases_stand_where_they_are(chromium, burst):
    chromium.looked_at(burst.page)
    for title in (TITLES[0], TITLES[2]):
        found, (zero, one, five, six) = chromium.run(MARKS, chromium.figure(title))
        assert {"checkpoint", "calm"} <= names_of(found)
        bands = [
            (x, width)
            for kind, phase, _, x, width, height in found
            if (kind, phase) == ("rect", "checkpoint") and height < 10
        ]
        assert len(bands) == SECONDS // 5
        assert bands[0] == pytest.approx((zero, one - zero), abs=0.5)
        assert bands[1] == pytest.approx((five, six - five), abs=0.5)
    assert chromium.said() == []


def names_of(marks):
    return {text for kind, _, text, *_ in marks if kind == "text" and text}


@pytest.mark.long
def test_a_heat_map_has_a_row_for_each_cell(chromium, burst):
    chromium.looked_at(burst.page)
    (id,) = chromium.run("""return figures.filter((f) => f.dataset.kind === "heatmap")
      .map((f) => f.id)""")
    cells = chromium.chart(id, "texts(chart, 'row')")
    assert len(cells) == 3 and all("qd" in text for text in cells)
    rows = chromium.chart(id, "shownRows(chart).map((r) => [r.row, r.x, r.y])")
    assert len(rows) == 3 * SECONDS
    p99 = Metric(name="p99", stream="reader")
    with Store.open(burst.store) as store:
        session = store.session("last").id
        for number, text in enumerate(cells):
            counted = IntervalCounts(store.intervals(session, 2 + number))
            wanted = [Stretch([one]).value(p99) for one in counted]
            assert [y for row, _, y in rows if row == text] == wanted
    found, *_ = chromium.run(MARKS, id)
    marked = [row[:2] for row in found if row[:2] == ["rect", "checkpoint"]]
    assert len(marked) == SECONDS // 5 and {"checkpoint", "calm"} <= names_of(found)
    assert chromium.said() == []


PARTED = """
workload parted {
  all = random 8KiB 100/0, rate 400 iops
  part = random 8KiB 100/0, rate 200 iops, starts after 4s, ends after 10s
}
test "Parted" {
  run parted for 14s
  chart lines all.p99 over time
}
"""


@pytest.mark.long
def test_a_stream_s_rate_is_over_its_part(tmp_path):
    """Of a stretch."""
    report = reported(tmp_path, PARTED, "64MiB")

    def rate(begin_s, end_s):
        during = ("--during", f"{begin_s}s..{end_s}s")
        out = ioplan("show", "last", "--store", report.store, *during).out
        row = next(line for line in out.splitlines() if line.split()[:1] == ["part"])
        return row.partition(")")[2].split()[0]

    for span in ((0, 14), (2, 12), (6, 8)):
        assert float(rate(*span)) == pytest.approx(200, rel=0.02)
    with pytest.raises(StopIteration):  # it has no row there
        rate(11, 13)
