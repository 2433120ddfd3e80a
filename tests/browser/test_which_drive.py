"""The page answers which drive a load needs, as the command does."""

from __future__ import annotations

import json
from itertools import product
from math import inf
from typing import Any

import pytest
from chromium import Browser, Report

from ioplan.language.metric import parse_metric
from ioplan.records.outline import current_records
from ioplan.results.report.answers.answer import Held, answer
from ioplan.results.report.answers.load import Load
from ioplan.results.report.answers.measured import loads, sizes_of
from ioplan.results.report.answers.question import parse_question
from ioplan.results.report.headlines.doubts import doubts
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

pytestmark = pytest.mark.slow

KINDS = "return JSON.stringify(kinds)"
ASK = """
const [kind, reads, metric, limit] = arguments;
const own = whichLoads.filter((one) => one.kind === kind);
return JSON.stringify(chosenSessions().map((label) => {
  const held = answerOf(own.filter((one) => one.label === label), { reads, metric, limit });
  return held && [held.value, held.low, held.high === Infinity ? null : held.high];
}));
"""
METRICS = ("mean", "p99")
LIMITS_US = (20, 100, 300, 1_000, 5_000, 50_000)


def told(held: Held | None) -> list[Any] | None:
    return held and [held.value, held.low, None if held.high == inf else held.high]


def measured(report: Report, kind: str) -> list[list[Load]]:
    """The loads of each session, in the page's order, whatever their share of reads."""
    stream = parse_question(f"{kind} 100/0").stream
    with Store.open(report.store) as store:
        each = [current_records(list(store.records(one))) for one in report.sessions]
        reader, metrics = Reader(store), [parse_metric(name) for name in METRICS]
        return [loads(stream, metrics, one, reader, doubts(one)) for one in each]


@pytest.mark.long
def test_the_page_says_what_the_command_says(
    chromium: Browser, simulated: Report
) -> None:
    chromium.open(simulated.page)
    answered = 0
    for kind in json.loads(chromium.run(KINDS)):
        found = measured(simulated, kind)
        for reads, name, us in product((0, 35, 70, 100), METRICS, LIMITS_US):
            said = json.loads(chromium.run(ASK, kind, reads, name, 1000 * us))
            text = f"{kind} {reads}/{100 - reads}, {name} < {us}us"
            asked = parse_question(text)
            for here, some in zip(said, found, strict=True):
                sized = [one for one in some if one.sizes == sizes_of(asked.stream)]
                assert here == pytest.approx(told(answer(asked, sized))), text
                answered += here is not None
    assert answered > 20


@pytest.mark.long
def test_what_is_chosen_stays_in_the_address(
    chromium: Browser, simulated: Report
) -> None:
    chromium.open(simulated.page)
    chromium.run("""
      const field = whichCard.querySelector("[name=limit]");
      field.value = 3;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    """)
    shown = "return [whichCard.querySelector('ol').textContent, location.hash]"
    text, hash = chromium.run(shown)
    assert "which=limit." in hash
    chromium.driver.refresh()
    again, kept = chromium.run(shown)
    assert (again, kept) == (text, hash)
    assert chromium.said() == []
