"""Each query of the Grafana dashboard, on a PostgreSQL that has sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import paths
import pytest
from figures import run
from postgres import needs_postgres, postgres
from sessions import put

from ioplan.records import Drive, Verdict
from ioplan.results.store import Store

BOARD = json.loads((paths.ROOT / "examples/lab/grafana/ioplan.json").read_text())
PANELS = [one for one in BOARD["panels"] if one["type"] != "row"]
JOB = "20261121-054512-k3f9"
DRIVE = Drive(serial="S4EV", model="ACME", firmware="1.0", lab_name="gen5-1")


def targets(kind: str) -> dict[str, dict[str, Any]]:
    """The queries of the panels by their titles, for one kind of source."""
    found = {one["title"]: one["targets"][0] for one in PANELS}
    return {t: q for t, q in found.items() if kind in q["datasource"]["type"]}


def as_grafana_asks(query: str) -> str:
    """With Grafana's macros and variables filled in."""
    span = r"\1 BETWEEN '2026-11-01T00:00:00Z' AND '2026-12-01T00:00:00Z'"
    query = re.sub(r"\$__timeFilter\(([^()]*)\)", span, query)
    for name, values in {"drive": "'S4EV','/dev/sim0'", "plan": "'demo'"}.items():
        query = query.replace(f"${{{name}:sqlstring}}", values)
    assert "$" not in query, query
    return query


@pytest.fixture(scope="module")
def filled() -> Iterator[Any]:
    """Two lanes of a job and a session by hand, with runs and verdicts."""
    import psycopg

    more = {"job": JOB, "person": "ada", "host_name": "h1", "drive": DRIVE}
    missed = {"limit": 1.0, "unit": "ms", "expectation": "expect p99 < 1ms"}
    with postgres() as address:
        with Store.at(address) as store:
            for number in (1, 2):
                id = f"{JOB}-{number:03}"
                told = {"tags": ("nightly",), "note": "why", **more}
                put(store, run(1), run(2), id=id, **told)
                store.add_verdicts(
                    id, 1, [Verdict(outcome="failed", actual=2.0, **missed)]
                )
                store.finish(id, "ok", "2026-11-21T06:45:12Z")
            put(store, id="20261121-070000-abcd", ended="failed")
        with psycopg.connect(address) as connection:
            yield connection


@needs_postgres
@pytest.mark.parametrize("title", targets("postgresql"))
def test_a_panel_shows_what_there_is(title: str, filled: Any) -> None:
    target = targets("postgresql")[title]
    found = filled.execute(as_grafana_asks(target["rawSql"]))
    names = [one.name for one in found.description]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    assert rows and all(v is not None for row in rows for v in list(row.values())[:1])
    if target["format"] == "time_series":
        assert names == ["time", "metric", "value"] and len(rows) == 4
        assert all(row["value"] > 0 for row in rows)
        assert {row["metric"][:9] for row in rows} == {"S4EV demo"}
    wanted = {
        "Sessions with a missed expectation": {"missed": 2},
        "Sessions that failed": {"failed": 1},
        "Drives": {"lab_name": "gen5-1", "sessions": 2},
        "Jobs": {"person": "ada", "lanes": 2, "lanes_ok": 2},
        "Sessions by tag": {"tag": "nightly", "sessions": 2},
        "Missed expectations": {"actual": 2.0, "limit": 1.0},
    }
    assert wanted.get(title, {}).items() <= rows[0].items()


@needs_postgres
def test_the_choices_are_those_that_there_are(filled: Any) -> None:
    asked = [one for one in BOARD["templating"]["list"] if one["type"] == "query"]
    found = {one["name"]: [r for (r,) in filled.execute(one["query"])] for one in asked}
    assert found == {"drive": ["/dev/sim0", "S4EV"], "plan": ["demo"]}


def test_live_panels_ask_for_metrics_that_the_desk_has() -> None:
    from ioplan_lab.desk.metrics.families import DeskNow, families

    known = {one.name for one in families(DeskNow("2026-11-22T12:00:00Z", "1"))}
    for title, target in targets("prometheus").items():
        asked = set(re.findall(r"ioplan_\w+", target["expr"]))
        assert asked and asked <= known, title


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for one in PANELS:
        at = one["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken and at["x"] + at["w"] <= 24, one["title"]
        taken |= cells
