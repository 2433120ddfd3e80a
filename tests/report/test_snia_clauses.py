"""SNIA's specification clause by clause, and its form of the measurement window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from figures import run
from generated import check_part
from ideal_drive import performed
from msgspec.structs import replace
from paths import ROOT
from plans import checked
from suite_rows import PLANS

from ioplan.language import CheckedPlan, check_file
from ioplan.records import Steady, current_records
from ioplan.results.report import document, page
from ioplan.results.report.conformance import single
from ioplan.results.report.conformance.conformance import (
    CLAUSES,
    TITLES,
    Conformance,
    JudgedSession,
    conformance,
)
from ioplan.results.store import Store

CACHE = {"volatile_write_cache": "disabled"}


def judged(plan: CheckedPlan, folder: Path, **host: Any) -> list[Conformance]:
    store, session = performed(plan, folder, **(host or CACHE))
    with store:
        records = current_records(list(store.records(session.id)))
        return list(conformance(store, [JudgedSession(session, "ideal", records)]))


def suite(name: str, profile: str = "full", **settings: str) -> CheckedPlan:
    return check_file(PLANS[f"pts/{name}"].path, settings=settings, profile=profile)


def deviations(found: Conformance) -> dict[str, str]:
    return {
        row.clause.name: f"{row.finding.what}; {row.finding.why}"
        for row in found.rows
        if row.finding.outcome != "done"
    }


POINTS = {
    "high_threads": "32",
    "high_qd": "32",
    "middle_threads": "6",
    "middle_qd": "2",
}
"""Of the ideal drive: its highest IOPS, and about half of that."""

FULL: dict[str, tuple[str, dict[str, str]]] = {
    "D4": ("pts_write_saturation", {}),
    "D1": ("pts_iops", {}),
    "D2": ("pts_throughput", {}),
    "D3": ("pts_latency", {}),
    "D5": ("pts_host_idle_recovery", {"repeats": "10"}),
    "D6": ("pts_cross_stimulus", {}),
    "D8": ("pts_demand_intensity", POINTS),
}

SHORT: dict[str, tuple[str, set[str]]] = {
    "pts_iops": ("smoke", {"preconditioning", "matrix", "run time", "steady state"}),
    "pts_throughput": ("short", {"run time"}),
    "pts_latency": ("short", {"run time", "histogram"}),
    "pts_write_saturation": ("short", {"end"}),
    "pts_host_idle_recovery": ("short", {"steady state", "idle times", "between"}),
    "pts_cross_stimulus": ("short", {"stimuli"}),
    "pts_enterprise_composite": (
        "smoke",
        {"preconditioning", "alignment", "table", "pre-writes", "run time"}
        | {"steady state", "settling", "histograms"},
    ),
}
"""What must deviate where a profile makes tests shorter."""

SLOW = ("D1", "D8")  # of some 250 runs each

EACH = [pytest.param(t, marks=[pytest.mark.slow] * (t in SLOW)) for t in FULL]


@pytest.mark.long_but_first
@pytest.mark.parametrize("test", EACH)
def test_a_suite_does_what_the_specification_asks(
    test: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single, "REPEATS", 10)  # of 360, which take half a minute
    name, settings = FULL[test]
    (found,) = judged(without_seeks(suite(name, **settings)), tmp_path)
    assert found.test == test and len(found.rows) == len(CLAUSES[test])
    assert not deviations(found) and not found.deviates
    assert found.summary == f"{len(found.rows)} done"


def without_seeks(plan: CheckedPlan) -> CheckedPlan:
    """Those of D8 are ours, and no clause is about them."""
    kept = tuple(t for t in plan.tests if "highest demand" not in t.title)
    return replace(plan, tests=kept)


@pytest.mark.parametrize("name", SHORT)
def test_a_shortened_suite_deviates(name: str, tmp_path: Path) -> None:
    profile, known = SHORT[name]
    (found,) = judged(suite(name, profile), tmp_path)
    assert set(deviations(found)) == known and found.deviates


@pytest.mark.long
def test_a_session_that_ends_on_time_deviates(tmp_path: Path) -> None:
    """What --within shortens is told, though each round is there."""
    size = ("--backend", "sim", "--create", "256MiB", "--store", tmp_path / "s.db")
    ioplan("run", "pts/pts_throughput", *size, "--within", "5min", "--quiet")
    done = ioplan("report", "last", "--conformance", *size[-2:])
    text = " ".join(done.out.split())
    assert done.code == 1
    assert "--within ended 20 runs early" in text


def test_a_shaped_fill_deviates(tmp_path: Path) -> None:
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


def test_histograms_elsewhere_name_the_points_of_the_table(tmp_path: Path) -> None:
    """The command that measures them is in the reason."""
    (found,) = judged(without_seeks(suite("pts_demand_intensity", "smoke")), tmp_path)
    reason = deviations(found)["histograms"]
    assert "none of 10 min" in reason, "what was done"
    assert "points are threads 2 by queue depth 2, threads 2 by queue depth 1" in reason
    assert "--set high_threads=2 --set high_qd=2 --set middle_threads=2" in reason


def test_a_session_of_histograms_continues_that_of_the_table(tmp_path: Path) -> None:
    """Together they are one test; another drive's histograms would not count."""
    table = without_seeks(suite("pts_enterprise_composite", "smoke"))
    points = {"middle_threads": "2", "middle_qd": "1"}
    highest = {"high_threads": "2", "high_qd": "2", "most": "2"}
    later = suite("pts_enterprise_composite", **points, **highest)
    kept = tuple(t for t in later.tests if "histograms" in t.title)
    later = replace(later, tests=kept)
    store, first = performed(table, tmp_path, "s1", **CACHE)
    with store:
        _, second = performed(later, tmp_path, "s2", store=store, **CACHE)
        both = [
            JudgedSession(s, s.id, list(store.records(s.id))) for s in (first, second)
        ]
        (alone,) = conformance(store, both[:1])
        (together,) = conformance(store, both)
        changed = {"path": "another", "identity": {}}
        other = [r.model_copy(update={"target": changed}) for r in both[1].records]
        apart = list(conformance(store, [both[0], JudgedSession(second, "s2", other)]))
    assert {"settling", "histograms"} <= set(deviations(alone))
    assert set(deviations(alone)) - set(deviations(together)) == {
        "settling",
        "histograms",
    }
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

RIGHT = ("purge", "2 passes", 1, "", 5, "")


def own(**changed: Any) -> str:
    names = ("purge", "fill", "qd", "region", "window", "histogram")
    return OWN % tuple(({**dict(zip(names, RIGHT, strict=True)), **changed}).values())


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "clause", "said"),
    [
        ({}, "", ""),
        ({"purge": ""}, "purge", "no purge before the test"),
        ({"fill": "1 pass"}, "preconditioning", "1.00 passes"),
        ({"qd": 2}, "load", "threads 1, queue depth 2"),
        ({"window": 3}, "steady state", "a window of 5 rounds is asked for"),
        ({"region": ", region 0%..75%", "histogram": ", region 0%..75%"}, "active range",
         "2,048 segments"),
        ({"region": ", data zeros"}, "data pattern", "zeros"),
        ({"histogram": ", qd 4"}, "histogram", "20 min of random 4 KiB writes"),
    ],
)  # fmt: skip
def test_a_plan_of_ones_own_is_judged_by_what_it_did(
    changed: dict[str, Any], clause: str, said: str, tmp_path: Path
) -> None:
    (found,) = judged(checked(own(**changed)), tmp_path)
    assert found.test == "D3"
    assert list(deviations(found)) == [clause] * bool(clause), deviations(found)
    assert said in deviations(found).get(clause, "")


@pytest.mark.parametrize(
    ("host", "outcome"),
    [("absent", "done"), ("enabled", "deviates"), ("", "not recorded")],
)
def test_the_write_cache_is_told(host: str, outcome: str, tmp_path: Path) -> None:
    plan = checked(
        'plan "PTS write saturation" test "T" { run random 4KiB 0/100 for 1s }'
    )
    (found,) = judged(plan, tmp_path, volatile_write_cache=host)
    row = next(row for row in found.rows if row.clause.name == "write cache")
    assert row.finding.outcome == outcome


def test_a_plan_that_claims_nothing_is_not_judged(tmp_path: Path) -> None:
    plan = checked('plan "IOPS" test "Latency" { run random 4KiB 0/100 for 1s }')
    assert judged(plan, tmp_path) == []
    (tmp_path / "other").mkdir()
    plan = checked('plan "P" test "SNIA IOPS" { run random 4KiB 0/100 for 1s }')
    (found,) = judged(plan, tmp_path / "other")
    assert found.title == "SNIA PTS, IOPS (D1)"


def manual() -> Iterator[str]:
    for test, clauses in CLAUSES.items():
        yield f"\n{test}, {TITLES[test]}\n\n| clause | is asked |\n| --- | --- |\n"
        yield from (f"| {one.name} | {one.asks} |\n" for one in clauses)
    yield "\n"


def test_the_manual_lists_all_clauses(renew: bool) -> None:
    check_part(ROOT / "docs/conformance.md", "clauses", "".join(manual()), renew)


@pytest.mark.long
def test_the_page_and_the_command_have_it(tmp_path: Path, store_path: Path) -> None:
    text = 'plan "PTS <b>latency" test "T" { run random 4KiB 0/100 for 1s }'
    plan = plan_file(tmp_path, text)
    run = ("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan(*run).code == 0
    done = ioplan("report", "last", "--conformance")
    assert done.code == 1 and max(map(len, done.out.splitlines())) <= 80
    assert "SNIA PTS, latency (D3)" in done.out and "no purge before the" in done.out
    with Store.open(store_path) as store:
        html = page(document(store, [store.session("last")], {}, "now"))
    assert 'id="conformance-1"' in html and "no purge before the test" in html
    assert "PTS <b>" not in html
    whole = ("run", "pts/pts_write_saturation", "--backend", "sim", "--create", "1GiB")
    assert ioplan(*whole, "--quiet").code == 0
    done = ioplan("report", "last", "--conformance")
    assert done.code == 0 and ": 1 not recorded, 9 done" in done.out
    other = plan_file(tmp_path, text.replace("PTS", "Our"))
    assert ioplan("run", other, *run[2:]).code == 0
    done = ioplan("report", "last", "--conformance")
    assert done.code == 2 and "no test claims conformance" in done.err


VALUES = (100.0, 110.0, 105.0, 115.0, 120.0)
"""On a line of slope 4.5 through 110 in the middle, but for what is left."""


def steady(store: Store) -> None:
    """Rounds 3 to 7 are the window."""
    for number in range(1, 8):
        last = VALUES[: max(1, number - 2)]
        found = Steady(
            metric="iops",
            unit="1/s",
            values=VALUES if number == 7 else last,
            mean=110.0,
            slope=4.5,
            range_percent=18.2,
            slope_percent=16.4,
            range_limit_percent=20.0,
            slope_limit_percent=10.0,
            window=5,
            reached=number == 7,
            why="" if number == 7 else "too few",
        )
        store.add(*run(number, round=number, cell={}, steady=found))


def reported(folder: Path, *words: str) -> str:
    out = folder / "report.html"
    store = ("--store", folder / "results.db")
    assert ioplan("report", *store, "-o", out, *words).code == 0
    return out.read_text()


def test_the_window_is_a_table_with_its_line(store: Store, tmp_path: Path) -> None:
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


def test_a_sheet_names_plan_and_sponsor_safely(store: Store, tmp_path: Path) -> None:
    """No text leaves its string of CSS, or the style."""
    steady(store)
    text = reported(tmp_path, "--sponsor", 'A"; } </style><script>', "--vendor", "V")
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(style) == 1
    (right,) = re.findall(r'@top-right \{ content: "([^"]*)"', style[0])
    assert re.sub(r"\\([0-9a-f]+) ", lambda m: chr(int(m[1], 16)), right) == (
        'Test sponsor: A"; } </style><script>, Vendor: V'
    )
    assert "<dt>Vendor</dt><dd>V</dd>" in text


def test_no_browser(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steady(store)
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "x.svg"
    done = ioplan(
        "report",
        "--chart",
        "IOPS over time",
        "-o",
        out,
        "--store",
        tmp_path / "results.db",
    )
    assert done.code == 2
    assert "apt install chromium" in " ".join(done.err.split())
    assert not out.exists()
