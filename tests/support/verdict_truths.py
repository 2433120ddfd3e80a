"""What each door says of a session's expectations: exit code, ls, page, badge, API."""

import json
import re
from collections import Counter

from command import ioplan
from msgspec import Struct

from ioplan import Session
from ioplan.cli.commands.report import report_document
from ioplan.core.text import counted
from ioplan.results.report.judgements import outcomes_text
from ioplan.results.store import Store

CODES = {"held": 0, "none": 0, "no baseline": 0}
"""The exit codes of verdicts; every other one is 1."""


class Truths(Struct, frozen=True):
    """One session as all doors have it."""

    verdict: str
    judged: frozenset[tuple[str, str, str]]
    """Test with cell, expectation, outcome."""


def _end_says(out, outcomes):
    """Whether the end of a run counts these outcomes."""
    total = counted(outcomes.total(), "expectation")
    unmet = {name: count for name, count in outcomes.items() if name != "held"}
    if not unmet:
        passed = f"all {total}" if outcomes.total() > 1 else "the expectation"
        return (f"{passed} passed" if outcomes else "no expectations in") in out
    (line,) = [line for line in out.splitlines() if f" of {total} " in line]
    return all(
        re.search(rf"\b{n}( of {total})? {name}", line) for name, n in unmet.items()
    )


def truths_of(done, store):
    """What a session that has just ended is said to be; fails where two doors differ."""
    assert done.code in (0, 1), done.err
    listed = ioplan("ls", "--limit", 1, "--format", "json").out
    (row,) = json.loads(listed)["sessions"]
    assert done.code == CODES.get(row["verdict"], 1), (done.code, row, done.out)
    with Store.open(store) as opened:
        session = opened.session("last")
        document = report_document(opened, [session])
        judged = [one for part in document.sections for one in part.judgements]
        outcomes = Counter(one.outcome for one in judged)
    line = outcomes_text(outcomes)
    if "expectation" in done.out:
        assert _end_says(done.out, outcomes), (line, done.out)
    badge = store.with_name("badge.svg")
    assert ioplan("report", "last", "--badge", "-o", badge, "--force").code == 0
    shown = re.findall(r">([^<]+)</text>", badge.read_text())[-1]
    assert set(line.split(", ")) - {""} <= set(shown.split(", ")), (line, shown)
    page = document.screen.outcome
    assert page == {"no baseline": "undecided", "not measured": "undecided"}.get(
        row["verdict"], row["verdict"]
    ), document.screen
    assert row["held"] == outcomes["held"]
    known = Session(store, row["id"])
    assert known.held == (row["verdict"] in ("held", "none"))
    assert Counter(one.outcome for one in known.verdicts) == outcomes
    kept = json.loads(ioplan("show", "last", "--format", "json").out)
    exported = [v["outcome"] for run in kept["runs"] for v in run["verdicts"]]
    assert Counter(exported) == outcomes
    return Truths(
        row["verdict"],
        frozenset(
            (f"{part.title} {sorted(one.cell.items())}", one.expectation, one.outcome)
            for part in document.sections
            for one in part.judgements
        ),
    )
