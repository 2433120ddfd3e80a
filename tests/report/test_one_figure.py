"""Terminal, page and export give one figure: of each standard suite, on the drive sim."""

from html import escape
from itertools import chain, takewhile

import pytest
from cases import marked
from one_session import HEADLINES, columns_of, rows_of, shown_of, squeezed
from sim_batches import rough
from suite_rows import CUTS, PLANS

from ioplan import metric_text

pytestmark = pytest.mark.slow
OF_CELLS = ("lines", "bars", "heatmap", "table")
TITLES = ("IOPS", "throughput", "mean latency", "largest latency")
SOUGHT = ("found", "found_no")
AXES = {"qd": "queue depth", "size": "block size", "read": "read share"}
FIGURES = ("iops", "bandwidth", "mean", "p99", "p99.9", "max")
HEADS = {"iops": "IOPS", "bandwidth": "throughput"}
SEPARATE = ("time", "written", "round")
"""Charts over these are of intervals or rounds, not of the figures of cells."""
ALIKE = {
    *("pts/pts_throughput", "pts/pts_latency", "pts/pts_enterprise_composite"),
    *("pts/pts_cross_stimulus", "quick/health", "quick/laptop", "reviews/p4800x"),
}
"""What they have, others have too."""
FIRST = {"pts/pts_iops", "quick/datasheet", "quick/capacity", "durability/flush"}
"""Rounds, steps and streams, a search, and flushes."""
EACH = sorted({*PLANS} - {CUTS} - ALIKE)
SUITES = marked(EACH, pytest.mark.long, *({*EACH} - FIRST))


@pytest.fixture(scope="module", params=SUITES)
def shown(request, tmp_path_factory):
    """A suite that has run once, for all tests of it."""
    with rough():
        return shown_of(request.param, tmp_path_factory.mktemp("suite") / "results.db")


KNOWN_DOUBTS = {"", "simulated", "not preconditioned"}


@pytest.mark.long
def test_the_table_of_runs_is_the_same(shown):
    """Each row of the page's table, as a line of the terminal's."""
    for section in shown.sections:
        frame = shown.page[section.id]["runs"]["rows"]
        columns = columns_of(frame)
        lines, at = squeezed(shown.printed[section.id]), 0
        heads = next(line.split() for line in lines if " IOPS " in f" {line} ")
        has = {key for key in FIGURES if HEADS.get(key, key) in heads}
        assert has >= {"iops", "mean", "p99", "p99.9", "max"}
        for row in rows_of(frame):
            places = [row[key] for key in (*columns, "rounds") if key[0] == "d"]
            places += [row[key] for key in ("scope", "rounds") if key in row]
            sought = [(row[k], columns[k]["unit"]) for k in SOUGHT if row.get(k)]
            places += [metric_text(*one) for one in sought]
            units = [(row[key], columns[key]["unit"]) for key in FIGURES if key in has]
            texts = [metric_text(*one) for one in units]
            doubts = {*row.get("against", "").split(", ")} - KNOWN_DOUBTS
            texts[0] += " !" * bool(doubts)
            expected = " ".join((*places, *texts))
            at = next(n for n, line in enumerate(lines) if n >= at and expected in line)
            at += 1


@pytest.mark.promise("figures.one_figure")
def test_the_table_of_runs_is_that_of_the_export(shown):
    """Rates, means and extremes, made anew of the rows that the export marks."""
    compared = 0
    for section in shown.sections:
        frame = shown.page[section.id]["runs"]["rows"]
        titles = {key: column["title"] for key, column in columns_of(frame).items()}
        for row in rows_of(frame):
            found = exported(shown, section, row, titles)
            assert len(found) == row.get("runs", 1)
            run_s = [float(one["run_s"]) for one in found]
            ios = [int(one["ios"]) for one in found]
            means = [float(one["mean_ns"]) for one in found]
            weighted = sum(n * mean for n, mean in zip(ios, means, strict=True))
            size = sum(int(one["bytes"]) for one in found)
            assert row["iops"] == pytest.approx(sum(ios) / sum(run_s))
            assert row["bandwidth"] == pytest.approx(size / sum(run_s))
            assert row["mean"] == pytest.approx(weighted / sum(ios))
            assert row["max"] == max(float(one["max_ns"]) for one in found)
            if len(found) == 1:
                for percent in ("p50", "p99", "p99.9"):
                    known = found[0][f"{percent}_supported"] == "true"
                    value = float(found[0][f"{percent}_ns"]) if known else None
                    assert row[percent] == value
            compared += 1
    assert compared


@pytest.mark.promise("figures.one_figure")
def test_the_headlines_are_those_of_the_export_everywhere(shown):
    """Each is shown by terminal and page, and made anew of the rows of its cell."""
    printed, compared = " ".join(shown.printed[HEADLINES].split()), 0
    for section in shown.sections:
        for one in chain.from_iterable(section.headlines.values()):
            assert one.value_text in printed
            assert f"<b>{escape(one.value_text)}" in shown.html
            if one.value is None:
                assert escape(one.note) in shown.html
                continue
            anew = made_anew(one, exported_cell(shown, section, one))
            assert anew is None or one.value == pytest.approx(anew)
            compared += anew is not None
    assert compared


def made_anew(one, rows):
    """A headline's figure of the exported rows; none where these do not tell."""
    step = one.cell.get("step", "").partition(" ")[0]
    metric = one.metric.removeprefix(f"{step}.")
    amount = {"iops": "ios", "bandwidth": "bytes"}.get(metric)
    rated = one.name.startswith(("highest", "lowest", *TITLES))
    if amount and rated and not one.burst:
        run_s = sum(float(row["run_s"]) for row in rows)
        return sum(int(row[amount]) for row in rows) / run_s
    if metric == "mean":
        ios = sum(int(row["ios"]) for row in rows)
        return sum(int(r["ios"]) * float(r["mean_ns"]) for r in rows) / ios
    if metric == rows[0]["found_axis"]:
        return float(rows[0]["found_value"])
    alone = len(rows) == 1 and rows[0].get(f"{metric}_ns")
    return float(alone) if alone else None


def exported_cell(shown, section, one):
    """The totals of the runs that a headline is of."""
    step = one.cell.get("step", "").split(maxsplit=1)[:1]
    cell = {f"cell.{name}": text for name, text in one.cell.items() if name != "step"}
    return [
        row
        for row in shown.export
        if (row["test"], row["kind"], row["scope"]) == (section.title, "run", "total")
        and row["current"] == "true"
        and row["in_window"] != "false"
        and cell.items() <= row.items()
        and (not step or step[0] in (row["step_name"], str(int(row["step"]) + 1)))
    ]


def scope_of(row):
    """What the export calls that which a row is of: stream and scope."""
    label = row.get("scope", "")
    if label in ("", "all", "reads, writes"):
        return "", "total"
    stream, _, direction = label.rpartition(" ")
    return stream, direction


def exported(shown, section, row, titles):
    """The exported runs that a row of the page is of."""
    found = [
        one
        for one in shown.export
        if (one["test"], one["kind"]) == (section.title, "run")
        and (one["stream"], one["scope"]) == scope_of(row)
        and one["current"] == "true"
        and one["in_window"] != "false"
    ]
    axes = dict.fromkeys(name for one in found for name in one if name[:5] == "cell.")
    for number, axis in enumerate(name for name in axes if any(o[name] for o in found)):
        found = [one for one in found if one[axis] == row[f"d{number}"]]
    steps = [key for key, title in titles.items() if title == "step"]
    return [o for o in found if all(_is_step(o, row[key]) for key in steps)]


def _is_step(row, label):
    """Of `2 random reads`, or of the name of a step."""
    return label.split(maxsplit=1)[0] in (row["step_name"], str(int(row["step"]) + 1))


def test_each_row_says_which_rounds_it_is_of(shown):
    for section in shown.sections:
        frame = shown.page[section.id]["runs"]["rows"]
        if "rounds" not in columns_of(frame):
            assert section.title not in shown.windows and not section.figures_of
            continue
        window = shown.windows[section.title]
        first, last = window["first"], window["last"]
        own = [one for one in shown.export if one["test"] == section.title]
        assert last == max(int(one["round"]) for one in own)
        inside = {int(one["round"]) for one in own if one["in_window"] == "true"}
        assert inside == set(range(first, last + 1))
        label = f"{first}–{last} {'steady' if window['steady'] else 'last'}"
        assert {row["rounds"] for row in rows_of(frame)} == {label}
        words = (
            f"the steady window (rounds {first} to {last})"
            if window["steady"]
            else f"the last rounds ({first} to {last}), which are not steady"
        )
        sentence = f"Figures are of {words}: rates are means, latencies of all I/Os"
        assert section.figures_of == sentence
        assert sentence in " ".join(shown.printed[section.id].split())


def test_the_window_of_the_header_is_that_of_the_table(shown):
    """SNIA's block gives the mean of the tracked cell over the window."""
    for section in shown.sections:
        frame = shown.page[section.id]["runs"]["rows"]
        columns = columns_of(frame)
        keys = {column["title"]: key for key, column in columns.items()}
        for header in section.headers:
            facts, window = dict(header.pairs), shown.windows[section.title]
            values = facts["Window values"].split(", ")
            assert len(values) == window["last"] - window["first"] + 1
            metric, _, cell = facts["Tracked"].partition(", ")
            pairs = [part.split("=") for part in cell.split() if "=" in part]
            place = {keys[AXES.get(axis, axis)]: text for axis, text in pairs}
            row = next(row for row in rows_of(frame) if place.items() <= row.items())
            if metric in ("iops", "bandwidth"):
                mean = metric_text(row[metric], columns[metric]["unit"])
                assert facts["Window mean"] == mean


def test_the_page_holds_each_picture(shown):
    """All metrics of all charts: what the terminal draws is what the page draws."""
    drawn = 0
    for section in shown.sections:
        for number, picture in enumerate(section.pictures, start=1):
            if not picture.frame.rows:
                continue
            held = shown.page[section.id][f"chart-{number}"]
            assert (held["title"], held["kind"]) == (picture.title, picture.kind)
            assert rows_of(held["rows"]) == list(picture.frame.records())
            drawn += 1
    assert drawn


def test_each_picture_is_printed(shown):
    """Its title, then its figures where they are written out, then its notes."""
    for section in shown.sections:
        lines, at = squeezed(shown.printed[section.id]), 0
        for number, picture in enumerate(section.pictures, start=1):
            titled = [line.startswith(picture.title) for line in lines]
            at = titled.index(True, at)
            held = shown.page[section.id].get(f"chart-{number}")
            text = " ".join(lines[at:])
            assert all(" ".join(note.split()) in text for note in picture.notes)
            if held and picture.marks.is_grid:
                _check_grid(held, lines[at:])
            elif held and picture.kind == "bars":
                unit = columns_of(held["rows"])["y"]["unit"]
                own = takewhile(str.strip, lines[at:])
                bars = [line for line in own if "█" in line or "▏" in line]
                values = [metric_text(row["y"], unit) for row in rows_of(held["rows"])]
                assert len(bars) == len(values)
                assert all(any(b.endswith(f" {v}") for b in bars) for v in values)


def _check_grid(held, lines):
    """Each figure of the page's table stands in its line."""
    columns, rows = columns_of(held["rows"]), rows_of(held["rows"])
    if "row" not in columns:
        return
    y = columns["y"]
    for name in columns["row"]["order"]:
        cells = {row["x"]: row["y"] for row in rows if row["row"] == name}
        texts = [
            metric_text(cells[x], y["unit"]).removesuffix(" MB/s")
            for x in columns["x"]["order"]
            if x in cells
        ]
        assert f"{name} {' '.join(texts)}" in lines


def test_charts_of_cells_have_the_figures_of_the_table(shown):
    """Rates and means over an axis: those of the table of runs, to the last digit."""
    for section in shown.sections:
        rows = rows_of(shown.page[section.id]["runs"]["rows"])
        known = {
            row[key] for row in rows for key in ("iops", "bandwidth", "mean", "max")
        }
        for picture in section.pictures:
            over = picture.frame.column(picture.x).title if picture.x else ""
            if picture.kind not in OF_CELLS or over in SEPARATE:
                continue
            keys = [c.key for c in picture.frame.columns if c.title in TITLES]
            found = [row[key] for row in picture.frame.records() for key in keys]
            assert set(found) <= known, picture.title
