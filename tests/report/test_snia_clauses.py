"""SNIA's specification clause by clause, and its form of the measurement window."""

import re

import pytest
from cases import marked
from command import ioplan, plan_file
from figures import assessed, changed, run
from generated import check_part
from ideal_drive import performed
from msgspec.structs import replace
from paths import ROOT
from plans import checked
from sessions import put
from suite_rows import PLANS

from ioplan.language import check_file
from ioplan.results.report import document, page
from ioplan.results.store import Store

ONE_TEST = 'plan "{}" test "{}" {{ run random 4KiB 0/100 for 1s }}'
CACHE = {"volatile_write_cache": "disabled"}


def conformance(store, *ids):
    """What the report of sessions says of the specification."""
    return [*document(store, [*map(store.session, ids)], {}, "now").conformance]


def judged(plan, folder, **host):
    store, session = performed(plan, folder, **(host or CACHE))
    with store:
        return conformance(store, session.id)


def suite(name, profile="full", **settings):
    return check_file(PLANS[f"pts/{name}"].path, settings=settings, profile=profile)


def deviations(found):
    return {
        row.clause.name: f"{row.finding.what}; {row.finding.why}"
        for row in found.rows
        if row.finding.outcome != "done"
    }


POINTS = dict.fromkeys(("high_threads", "high_qd"), "32")
POINTS |= {"middle_threads": "6", "middle_qd": "2"}
"""Of the ideal drive: its highest IOPS, and about half of that."""
FULL = {
    "D4": ("pts_write_saturation", {}),
    **{"D1": ("pts_iops", {}), "D2": ("pts_throughput", {}), "D3": ("pts_latency", {})},
    "D5": ("pts_host_idle_recovery", {"repeats": "10"}),
    "D6": ("pts_cross_stimulus", {}),
    "D8": ("pts_demand_intensity", POINTS),
}
STATE = "steady state"
SHORT = {
    "pts_iops": ("smoke", {"preconditioning", "matrix", "run time", STATE}),
    "pts_throughput": ("short", {"run time"}),
    "pts_latency": ("short", {"run time", "histogram"}),
    "pts_write_saturation": ("short", {"end"}),
    "pts_host_idle_recovery": ("short", {STATE, "idle times", "between"}),
    "pts_cross_stimulus": ("short", {"stimuli"}),
    "pts_enterprise_composite": (
        "smoke",
        {"preconditioning", "alignment", "table", "pre-writes", "run time"}
        | {STATE, "settling", "histograms"},
    ),
}
"""What must deviate where a profile makes tests shorter."""


@pytest.mark.long_but_first
@pytest.mark.parametrize("test", marked(FULL, pytest.mark.slow, "D1", "D8"))
def test_a_suite_does_what_the_specification_asks(test, tmp_path, monkeypatch):
    """D1 and D8 are of some 250 runs each."""
    checks = "ioplan.results.report.conformance.checks"
    monkeypatch.setattr(f"{checks}.REPEATS", 10)  # of 360, which take half a minute
    name, settings = FULL[test]
    (found,) = judged(without_seeks(suite(name, **settings)), tmp_path)
    assert found.test == test
    assert not deviations(found) and not found.deviates
    assert found.summary == f"{len(found.rows)} done"


def without_seeks(plan):
    """Those of D8 are ours, and no clause is about them."""
    kept = tuple(t for t in plan.tests if "highest demand" not in t.title)
    return replace(plan, tests=kept)


@pytest.mark.parametrize("name", SHORT)
def test_a_shortened_suite_deviates(name, tmp_path):
    profile, known = SHORT[name]
    (found,) = judged(suite(name, profile), tmp_path)
    assert set(deviations(found)) == known and found.deviates


@pytest.mark.long
def test_a_session_that_ends_on_time_deviates(tmp_path):
    """What --within shortens is told, though each round is there."""
    store = ("--store", tmp_path / "s.db")
    words = ("--backend", "sim", "--create", "256MiB", "--within", "5min", "--quiet")
    ioplan("run", "pts/pts_throughput", *words, *store)
    done = ioplan("report", "last", "--conformance", *store)
    assert done.code == 1
    assert "--within ended 20 runs early" in " ".join(done.out.split())


def test_a_shaped_fill_deviates(tmp_path):
    text = """plan "PTS throughput"
precondition fill { purge write random 4KiB shaped, spare 7% }
test "D2 throughput, 1024 KiB" { after fill
  run sequential 1MiB, qd 32 for 1s
  vary read in 100%, 0%
  rounds until steady bandwidth when read == 0%, at most 25 }
"""
    (found,) = judged(checked(text), tmp_path)
    assert deviations(found)["preconditioning"] == (
        "a shaped pass of random writes; the specification fills sequentially; what "
        "follows must become steady"
    )


def test_histograms_elsewhere_name_the_points_of_the_table(tmp_path):
    """The command that measures them is in the reason."""
    (found,) = judged(without_seeks(suite("pts_demand_intensity", "smoke")), tmp_path)
    reason = deviations(found)["histograms"]
    assert "none of 10 min" in reason, "what was done"
    assert "points are threads 2 by queue depth 2, threads 2 by queue depth 1" in reason
    assert "--set high_threads=2 --set high_qd=2 --set middle_threads=2" in reason


def test_a_session_of_histograms_continues_that_of_the_table(tmp_path):
    """Together they are one test; another drive's histograms would not count."""
    name, settled = "pts_enterprise_composite", {"settling", "histograms"}
    points = {"middle_threads": "2", "middle_qd": "1"}
    later = suite(name, **points, high_threads="2", high_qd="2", most="2")
    kept = tuple(t for t in later.tests if "histograms" in t.title)
    table, later = without_seeks(suite(name, "smoke")), replace(later, tests=kept)
    store, first = performed(table, tmp_path, "s1", **CACHE)
    with store:
        _, second = performed(later, tmp_path, "s2", store=store, **CACHE)
        target = {"path": "another", "identity": {}}
        other = [changed(r, target=target) for r in store.records(second.id)]
        put(store, *other, id="s3", plan=later.title, ended="ok")
        (alone,) = conformance(store, first.id)
        (together,) = conformance(store, first.id, second.id)
        apart = conformance(store, first.id, "s3")
    assert settled <= set(deviations(alone))
    assert set(deviations(alone)) - set(deviations(together)) == settled
    assert len(apart) == 2 and "histograms" in deviations(apart[0])


OWN = """plan "Our PTS latency"
precondition filled { %s write sequential 128KiB, %s }
test "Ours" {
  after filled
  run random, threads 1, qd %s %s for 1min
  vary read in 100%%, 65%%, 0%%
  vary size in 8KiB, 4KiB, 512B
  rounds until steady mean when size == 4KiB and read == 0%%, at most 25,
      over %s
}
test "Histogram" { run random 4KiB 0/100 %s for 20min }
"""


def own(**changed):
    usual = {"purge": "purge", "fill": "2 passes", "qd": 1, "region": "", "window": 5}
    return OWN % tuple((usual | {"histogram": ""} | changed).values())


PART, ALL_OF_IT = ", region 0%..75%", "20 min of random 4 KiB writes"
OWN_PLANS = [
    ({}, "", ""),
    ({"purge": ""}, "purge", "no purge before the test"),
    ({"fill": "1 pass"}, "preconditioning", "1.00 passes"),
    ({"qd": 2}, "load", "threads 1, queue depth 2"),
    ({"window": 3}, "steady state", "a window of 5 rounds is asked for"),
    ({"region": PART, "histogram": PART}, "active range", "2,048 segments"),
    ({"region": ", data zeros"}, "data pattern", "zeros"),
    ({"histogram": ", qd 4"}, "histogram", ALL_OF_IT),
]


@pytest.mark.long
@pytest.mark.parametrize(("changed", "clause", "said"), OWN_PLANS)
def test_a_plan_of_ones_own_is_judged_by_what_it_did(changed, clause, said, tmp_path):
    (found,) = judged(checked(own(**changed)), tmp_path)
    assert found.test == "D3"
    assert list(deviations(found)) == [clause] * bool(clause), deviations(found)
    assert said in deviations(found).get(clause, "")


@pytest.mark.parametrize(
    ("host", "outcome"),
    [("absent", "done"), ("enabled", "deviates"), ("", "not recorded")],
)
def test_the_write_cache_is_told(host, outcome, tmp_path):
    plan = checked(ONE_TEST.format("PTS write saturation", "T"))
    (found,) = judged(plan, tmp_path, volatile_write_cache=host)
    (row,) = [row for row in found.rows if row.clause.name == "write cache"]
    assert row.finding.outcome == outcome


@pytest.mark.parametrize(
    ("plan", "test", "titles"),
    [("IOPS", "Latency", []), ("P", "SNIA IOPS", ["SNIA PTS, IOPS (D1)"])],
)
def test_a_plan_that_claims_nothing_is_not_judged(plan, test, titles, tmp_path):
    found = judged(checked(ONE_TEST.format(plan, test)), tmp_path)
    assert [one.title for one in found] == titles


ALL = (
    *("IOPS", "throughput", "latency", "write saturation", "host idle"),
    *("cross stimulus", "composite", "demand intensity"),
)
"""Words of titles that claim a test, in the order of the tests."""


def manual(folder):
    for number, words in enumerate(ALL):
        plan = checked(ONE_TEST.format(f"PTS {words}", "T"))
        (place := folder / str(number)).mkdir()
        (found,) = judged(plan, place)
        title = found.title.removeprefix("SNIA PTS, ").removesuffix(f" ({found.test})")
        yield f"\n{found.test}, {title}\n\n| clause | is asked |\n| --- | --- |\n"
        yield from (f"| {r.clause.name} | {r.clause.asks} |\n" for r in found.rows)
    yield "\n"


def test_the_manual_lists_all_clauses(renew, tmp_path):
    text = "".join(manual(tmp_path))
    check_part(ROOT / "docs/conformance.md", "clauses", text, renew)


@pytest.mark.long
def test_the_page_and_the_command_have_it(tmp_path, store_path):
    claimed, words = (
        ("report", "last", "--conformance"),
        ("--backend", "sim", "--quiet"),
    )
    text = ONE_TEST.format("PTS <b>latency", "T")

    def ran(plan, size):
        assert ioplan("run", plan, *words, "--create", size).code == 0
        return ioplan(*claimed)

    done = ran(plan_file(tmp_path, text), "64MiB")
    assert done.code == 1 and max(map(len, done.out.splitlines())) <= 80
    assert "SNIA PTS, latency (D3)" in done.out and "no purge before the" in done.out
    with Store.open(store_path) as store:
        html = page(document(store, [store.session("last")], {}, "now"))
    assert 'id="conformance-1"' in html and "no purge before the test" in html
    assert "PTS <b>" not in html
    done = ran("pts/pts_write_saturation", "1GiB")
    assert done.code == 0 and "\n1 not recorded, 9 done" in done.out
    done = ran(plan_file(tmp_path, text.replace("PTS", "Our")), "64MiB")
    assert done.code == 2 and "no test claims conformance" in done.err


VALUES = (100.0, 110.0, 105.0, 115.0, 120.0)
"""On a line of slope 4.5 through 110 in the middle, but for what is left."""


def steady(store):
    """Rounds 3 to 7 are the window."""
    for number in range(1, 8):
        last = VALUES if number == 7 else VALUES[: max(1, number - 2)]
        found = assessed(*last, slope_percent=20.0)
        store.add(*run(number, round=number, cell={}, steady=found))


def reported(folder, *words):
    out = folder / "report.html"
    store = ("--store", folder / "results.db")
    assert ioplan("report", *store, "-o", out, *words).code == 0
    return out.read_text()


def test_the_window_is_a_table_with_its_line(store, tmp_path):
    steady(store)
    text = reported(tmp_path)
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in rows]
    at = cells.index(["round", "IOPS", "fit", "from mean"])
    assert [row[0] for row in cells[at + 1 : at + 6]] == ["3", "4", "5", "6", "7"]
    assert cells[at + 1][2] == "101"
    assert cells[at + 5][1:] == ["120", "119", "+9.09 %"]
    assert text.count("IOPS = 4.5 x round + 87.5 IOPS") == 1
    assert "mean 110 IOPS; permitted range 99 to 121 IOPS" in text


def test_a_sheet_names_plan_and_sponsor_safely(store, tmp_path):
    """No text leaves its string of CSS, or the style."""
    steady(store)
    text = reported(tmp_path, "--sponsor", 'A"; } </style><script>', "--vendor", "V")
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(style) == 1
    (right,) = re.findall(r'@top-right \{ content: "([^"]*)"', style[0])
    assert re.sub(r"\\([0-9a-f]+) ", lambda m: chr(int(m[1], 16)), right) == (
        'Test sponsor: A"; } </style><script>, Vendor: V'
    )
    assert " · Vendor: V</p>" in text


def test_without_a_browser_it_says_what_to_install(store, tmp_path, monkeypatch):
    steady(store)
    monkeypatch.setenv("PATH", str(tmp_path))
    out, place = tmp_path / "x.svg", ("--store", tmp_path / "results.db")
    done = ioplan("report", "--chart", "IOPS over time", "-o", out, *place)
    assert done.code == 2 and not out.exists()
    assert "apt install chromium" in " ".join(done.err.split())
