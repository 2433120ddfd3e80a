"""A profile that leaves out the preconditioning says so wherever its figures stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.cli.commands.report import report_document
from ioplan.results.report import Document
from ioplan.results.report.html.one_chart import chart_named, chart_page, charts_of
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

PLAN = """plan "review"
param fill = 1 pass
profile smoke {{ fill = 0.1 passes }}
profile short {{ fill = 1 pass }}
precondition filled {{ write sequential 128KiB, qd 8, {fill} }}
test "reads" {{
  after filled
  run random 4KiB 100/0, qd 4 for 100ms
  rounds until steady iops, at most 8, over 3, range 90%, slope 90%
  expect errors == 0
}}
"""
MENDED = PLAN.format(fill="fill")


def run(folder: Path, *more: str, text: str = MENDED) -> None:
    words = ("--backend", "sim", "--create", "64MiB")
    done = ioplan("run", plan_file(folder, text), *words, *more)
    assert done.code in (0, 1), done.err  # not steady, maybe


def document(store: Path, *ids: str) -> Document:
    with Store.open(store) as opened:
        found = [opened.session(id) for id in ids or ("last",)]
        return report_document(opened, found)


@pytest.mark.parametrize("profile", ["smoke", "short"])
def test_its_name_stands_everywhere(
    profile: str, tmp_path: Path, store_path: Path
) -> None:
    run(tmp_path, "--profile", profile)
    named, page = f"profile {profile}", tmp_path / "page.html"
    assert named in ioplan("show").out.splitlines()[0]
    assert named in ioplan("ls").out
    assert ioplan("report", "-o", page).code == 0
    text = page.read_text()
    title = re.findall(r"<title>([^<]*)", text)[0]
    assert f"PROFILE {profile}" in title and named in title
    badge = tmp_path / "badge.svg"
    assert ioplan("report", "--badge", "-o", badge).code == 0
    assert named in badge.read_text()
    found = document(store_path)
    alone = chart_page(found, chart_named(found, next(iter(charts_of(found)))))
    for html in (text, alone):
        about = json.loads(re.findall(r'id="about">(.*?)</script>', html)[0])
        assert [one["profile"] for one in about["sources"]] == [profile]


def test_without_preconditioning_there_is_no_tick(
    tmp_path: Path, store_path: Path
) -> None:
    run(tmp_path, "--profile", "smoke")
    found = document(store_path)
    assert found.verdict.outcome == "undecided"
    assert "leaves out the preconditioning" in found.verdict.sentence
    steady = [one for one in found.verdict.points if "Steady state" in one.text]
    assert steady and all(one.outcome != "held" for one in steady)
    headlines = [h for one in found.sections for h in one.headlines[one_label(found)]]
    assert headlines and not any(one.is_firm for one in headlines)
    assert all("not preconditioned" in one.against for one in headlines)


def one_label(found: Document) -> str:
    (session,) = found.sessions
    return session.heading


@pytest.mark.parametrize("more", [("--profile", "short"), ()])
def test_what_preconditions_has_its_tick(
    more: tuple[str, ...], tmp_path: Path, store_path: Path
) -> None:
    run(tmp_path, *more)
    found = document(store_path)
    assert found.verdict.outcome == "held"
    assert "preconditioning" not in found.verdict.sentence
    steady = [one for one in found.verdict.points if "Steady state" in one.text]
    assert [one.outcome for one in steady] == ["held"]


def test_without_preconditioning_there_is_no_rank(
    tmp_path: Path, store_path: Path
) -> None:
    for profile in ("smoke", "smoke", "full"):
        run(tmp_path, "--profile", profile)
    with Store.open(store_path) as store:
        ids = [one.id for one in store.sessions()]
    league = document(store_path, *ids).league
    assert league and [one.rank for one in league.standings] == [1, None, None]
    only_smoke = document(store_path, *ids[1:]).league
    assert only_smoke and not any(one.rank for one in only_smoke.standings)
