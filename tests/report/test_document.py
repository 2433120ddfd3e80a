"""A report: its first screen and sections, its lines of judgements, its badge, its page."""

import json
import re
from itertools import product
from xml.etree import ElementTree

import paths
import pytest
from command import ioplan
from figures import changed, run
from hypothesis import given, settings
from hypothesis import strategies as st
from report_charts import ID, column, composed, luminance
from sessions import put

from ioplan.language import Metric
from ioplan.records import Verdict
from ioplan.results.report import (
    Judgement,
    Reader,
    page,
    safe,
    spec,
    verdict_lines,
    worst,
    worst_failures,
)


def verdict(outcome, number=0):
    text = f"expect p99 < {number}us"
    return Verdict(expectation=text, outcome=outcome, actual=1.0, limit=2.0, unit="ns")


@pytest.mark.parametrize(
    ("outcomes", "ended", "chip"),
    [
        ("", True, "soft: no expectations in the plan"),
        ("held", True, "good: the expectation passed"),
        ("held held", True, "good: all 2 expectations passed"),
        ("held undecided", True, "warning: 1 of 2 expectations undecided"),
        ("failed undecided", True, "bad: 1 of 2 expectations failed, 1 undecided"),
        ("held", False, "soft: the expectation passed; warning: the session did not finish"),
    ],
)  # fmt: skip
def test_the_first_screen(store, outcomes, ended, chip):
    """Where a session did not finish, nothing has a tick."""
    judged = tuple(verdict(one, number) for number, one in enumerate(outcomes.split()))
    store.add(*run(1, verdicts=judged))
    if ended:
        store.finish(ID, "ok", "2026-11-21T05:46:12Z")
    found = composed(store)
    chips = [f"{one.tone}: {one.text}" for one in found.screen.chips]
    assert "; ".join(chips).startswith(chip)
    assert ended or found.screen.outcome == "undecided"
    told = [f"{line.outcome}: {line.text}" for line in found.sections[0].judged]
    assert all(text.endswith("1.00 ns, limit 2.00 ns") for text in told)
    assert "power, temperature: not measured" in page(found)


def many(store, count, bad=-1):
    """So many sessions that held, but one."""
    made, detail = run(1)
    ids = [f"20261122-054512-b{n:03}" for n in range(count)]
    for number, id in enumerate(ids):
        verdicts = (verdict("failed" if number == bad else "held"),)
        put(store, (changed(made, verdicts=verdicts), detail), id=id, ended="ok")
    return composed(store, *ids)


def test_what_fails_in_one_of_many_sessions_is_seen(store):
    """And what all of them share stands once."""
    found = many(store, 20, bad=15)
    (section,) = found.sections
    assert found.screen.chips[0].text == "1 of 20 expectations failed"
    assert found.screen.sentence.startswith(
        "1 of 20 expectations failed: on sim0, b015"
    )
    assert worst(section) == "failed"
    failed, held = section.judged
    assert failed.outcome == "failed" and held.outcome == "held"
    assert failed.text.startswith("sim0, b015: failed: expect p99")
    assert "passed in 19 of 20 cells: expect p99" in held.text
    assert section.counted == "20 runs of 1 cell in 20 sessions"
    html = page(found)
    assert html.count("<dd>sim 1</dd>") == 1 and "What all 20 sessions share" in html


def test_several_sessions_share_their_charts(store):
    """A run that failed comes first."""
    other = put(store, id="20261122-054512-b7k2", backend="fio")
    for seq in (1, 2, 3):
        store.add(*run(seq))
        store.add(*run(seq, session=other))
    found = composed(store, ID, other)
    labels = ("sim0, sim", "sim0, fio")
    assert tuple(one.heading for one in found.sessions) == labels
    (section,) = found.sections
    load, picture, *_ = section.pictures
    assert load.title == "Latency against load"
    assert picture.frame.column(picture.channels.color).order == labels
    figure = Reader(store).figure(Metric(name="iops"), list(store.records(ID))[:1])
    assert figure.value in column(picture, "y")
    gone = {"status": "failed", "message": "the drive is gone", "cell": {"qd": "4"}}
    store.add(*run(4, verdicts=(verdict("held"),), **gone))
    found = composed(store)
    assert found.screen.chips[0].text == "1 run failed"
    assert any("the drive is gone" in line.text for line in found.sections[0].remarks)


@pytest.mark.parametrize(
    ("drives", "headings"),
    [
        ("F1", ["M"]),
        ("F1 F2", ["M, F1", "M, F2"]),
        ("F1 F2 N", ["M, F1", "M, F2", "N"]),
        ("F1 F1", ["M, aaa0", "M, aaa1"]),
    ],
)
def test_a_session_is_called_by_its_differences(store, drives, headings):
    ids = []
    for number, firmware in enumerate(drives.split()):
        model = "N" if firmware == "N" else "M"
        target = {"identity": {"model": model, "firmware": firmware}}
        id = f"20261122-054512-aaa{number}"
        ids.append(put(store, run(1, target=target), id=id))
    assert [one.heading for one in composed(store, *ids).sessions] == headings


def test_it_is_written_or_an_error_says_what_to_do(tmp_path, store):
    def reported(*words):
        return ioplan("report", *words, "--store", store.where)

    out, nowhere = tmp_path / "report.html", tmp_path / "missing" / "report.html"
    refused = [(reported("last", "-o", out), "has no run to report")]
    store.add(*run(1))
    refused += [(reported("2027"), "no session '2027'")]
    refused += [(reported("last", "-o", nowhere), "cannot write")]
    for done, said in refused:
        assert done.code == 2 and said in done.err
    done = reported("-o", out)
    assert done.code == 0 and str(out) in done.out.replace("\n", "")
    assert out.read_text().startswith("<!doctype html>")


QDS, READS = ("1", "2", "4", "8", "16"), ("100%", "0%")
EXPECTED = "expect p99 <= 1ms"


def failed_lines(failing):
    """Of a matrix in which p99 is the queue depth in milliseconds where it failed."""
    made = []
    for qd, read in product(QDS, READS):
        outcome = "failed" if (qd, read) in failing else "held"
        actual = 1e6 * int(qd) + 5e5 if outcome == "failed" else 5e5
        verdict = Verdict(
            expectation=EXPECTED, outcome=outcome, actual=actual, limit=1e6, unit="ns"
        )
        made.append(Judgement(EXPECTED, outcome, {"qd": qd, "read": read}, verdict))
    found = verdict_lines(made)
    return [line.text for line in found if line.outcome == "failed"]


ALL, LATE = set(product(QDS, READS)), set(product(QDS[-2:], READS))
WRITES = set(product(QDS, READS[1:]))
WORST = "1.50 ms to 16.5 ms, limit 1.00 ms, worst at qd=16 read=100%"
TOGETHER = [
    (ALL, f"10 of 10 cells: {EXPECTED}: {WORST}"),
    (LATE, f"4 of 10 cells [qd=8, 16]: {EXPECTED}: "),
    (WRITES, f"5 of 10 cells [read=0%]: {EXPECTED}: "),
    (
        WRITES - {("16", "0%")},
        f"4 of 10 cells [qd=1, 2, 4, 8 read=0%]: {EXPECTED}: ",
    ),
    (LATE | {("1", "0%")}, f"5 of 10 cells: {EXPECTED}: "),
]


@pytest.mark.parametrize(("failing", "line"), TOGETHER)
def test_many_cells_have_a_line_together(failing, line):
    """With the values that tell them from the others; a few have a line each."""
    (found,) = failed_lines(failing)
    assert found.startswith(f"failed in {line}")
    few = failed_lines({("4", "0%"), ("8", "0%"), ("16", "0%")})
    assert few == [
        f"failed: {EXPECTED} [qd={qd} read=0%]: {actual} ms, limit 1.00 ms"
        for qd, actual in (("4", "4.50"), ("8", "8.50"), ("16", "16.5"))
    ]


@pytest.mark.parametrize(("off", "shown"), [(0.25, "3,000.3"), (-0.1, "2,999.9")])
def test_a_figure_that_failed_its_limit_is_not_shown_as_the_limit(off, shown):
    how = {"expectation": EXPECTED, "outcome": "failed", "unit": "1/s"}
    verdict = Verdict(actual=3000 + off, limit=3000, **how)
    made = Judgement(EXPECTED, "failed", {"qd": "1"}, verdict)
    (line,) = verdict_lines([made])
    assert f": {shown} IOPS, limit 3,000 IOPS" in line.text


def judged_at(actual_ms, limit="p99 <= 1ms"):
    """A failure, or none within the limit."""
    outcome = "failed" if actual_ms > 1 else "held"
    verdict = Verdict(
        expectation=limit, outcome=outcome, actual=actual_ms * 1e6, limit=1e6, unit="ns"
    )
    return Judgement(limit, outcome, {"qd": f"{actual_ms}"}, verdict)


def test_the_first_failures_are_the_worst_of_each_drive():
    """And what has no room is counted, so that no drive fails unseen."""
    judged = {
        "A": [judged_at(ms) for ms in (0, 2, 3, 4)],
        "B": [judged_at(0)],
        "C": [judged_at(9, "max <= 1ms"), judged_at(8)],
    }
    lines = list(worst_failures(judged))
    assert {line.outcome for line in lines} == {"failed"}
    *shown, rest = (line.text for line in lines)
    places = [(text[0], text.split("[")[1][:4]) for text in shown]
    assert places == [("C", "qd=9"), ("A", "qd=4"), ("C", "qd=8")]
    assert rest == "and 2 more failed: A: p99 <= 1ms"
    (alone,) = worst_failures({"A": judged["A"][:2], "B": judged["B"]})
    assert alone.text == "A: failed: p99 <= 1ms [qd=2]: 2.00 ms, limit 1.00 ms"
    many = {"A": [judged_at(ms) for ms in range(2, 9)]}
    (together,) = worst_failures(many)
    assert together.text.startswith("failed in 7 of 7 cells")


HELD = "\n  expect errors == 0"
FAILS = "\n  expect p99 < 1ns"
OPEN = "\n  expect p99.9 < 1s"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.promise("verdicts.everywhere")
def test_a_badge_tells_the_first_screen(tmp_path, store_path):
    plan, out, colors = tmp_path / "a.ioplan", tmp_path / "badge.svg", set()
    for lines, text in (
        (HELD, "1 passed, simulated"),
        (HELD + FAILS, "1 failed, 1 passed, simulated"),
        (HELD + OPEN, "1 undecided, 1 passed, simulated"),
        ("", "measured, simulated"),
    ):
        plan.write_text(f'test "A" {{\n  run random 4KiB 100/0 for 20ms{lines}\n}}\n')
        ioplan("run", plan, "--backend", "sim", "--create", "16MiB")
        done = ioplan("report", "last", "--badge", "-o", out)
        assert done.code == 0, done.err
        badge = ElementTree.parse(out).getroot()
        assert badge.get("aria-label") == f"ioplan: {text}"
        assert [one.text for one in badge.iter(f"{SVG}text")] == ["ioplan", text]
        colors.add([one.get("fill") for one in badge.iter(f"{SVG}rect")][1])
    assert len(colors) == 4, "each outcome has a colour of its own"
    for words, said in (
        (("-o", "x.png"), "a badge is an SVG"),
        (("--chart", "x"), "choose"),
    ):
        done = ioplan("report", "last", "--badge", *words)
        assert done.code == 2 and said in done.err


HTML = paths.ROOT / "dsl/ioplan/results/report/html"
TEXTS = st.text(max_size=12) | st.sampled_from(["</script>", "<!--", "\u2028"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
)


@settings(max_examples=25)
@given(VALUES)
def test_json_cannot_leave_its_script(value):
    text = safe(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029]", text)


def expressions(node):
    """All that Vega would read as a program."""
    names = {"labelExpr", "filter", "calculate", "test", "expr", "signal"}
    if isinstance(node, list):
        return [found for one in node for found in expressions(one)]
    if not isinstance(node, dict):
        return []
    assert not isinstance(node.get("sort"), list), "Vega-Lite makes a program of it"
    own = [node[name] for name in names & node.keys() if isinstance(node[name], str)]
    return own + expressions(list(node.values()))


def test_no_text_of_a_plan_becomes_a_program(store):
    evil = "'); alert(1) //"
    for seq in range(1, 6):
        cell = {evil: f"{evil}{seq % 2}", "x": f"{evil}{seq}", "y": f"{evil}{seq % 3}"}
        store.add(*run(seq, test=evil, cell=cell))
    found = composed(store)
    made = [spec(p) for section in found.sections for p in section.pictures]
    assert made
    assert not any(evil in text for one in made for text in expressions(one))


def contrast(*colors):
    """Of two of #rrggbb."""
    found = (
        luminance([int(color[i : i + 2], 16) for i in (1, 3, 5)]) for color in colors
    )
    low, high = sorted(found)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_read(store, dark):
    """WCAG's 4.5 for text, 3 for marks."""
    html = page(many(store, 1, bad=1))
    pairs = re.findall(r"--([a-z]+): light-dark\((#\w{6}), (#\w{6})\)", html)
    colors = {name: pair[dark] for name, *pair in pairs}
    for name in ("ink", "soft", "accent", "held", "failed", "warning"):
        assert contrast(colors[name], colors["card"]) >= 4.5, name
        assert contrast(colors[name], colors["page"]) >= 4.5, name
    (about,) = re.findall(r'id="about">(.*?)</script>', html)
    palette = json.loads(about)["palette"]
    marks = [pair[dark] for name, *pair in pairs if name == "drive"]
    assert len(marks) == len(palette["colors"]) + 1 == 9
    for mark in marks:
        assert contrast(mark, colors["card"]) >= 3, mark
    for style in (*palette["colors"], palette["grey"]):
        text = style["dark" if dark else "text"]
        assert contrast(text, colors["card"]) >= 4.5, text


def test_the_licences_are_of_the_versions_that_are_bundled():
    versions = json.loads((HTML / "vendor/package.json").read_text())["dependencies"]
    licences = (HTML / "vendor/LICENSES.txt").read_text()
    for name, version in versions.items():
        assert f"{name} {version}" in licences
