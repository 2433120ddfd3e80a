"""After a key, all is as if the text had been read anew."""

from __future__ import annotations

from random import Random

import paths
import pytest
from written import FOLDER

from golden import Golden
from ioplan.language import Source, Test, parse
from ioplan_editor.document import Document, Workspace
from ioplan_editor.reparse import reparsed

EXAMPLES = sorted((paths.ROOT / "examples").glob("*.ioplan"))
LANGUAGE = Golden("language")
GOOD = [case for case in LANGUAGE if case.startswith("good_")][::3]
PLANS = {path.stem: path.read_text("utf-8") for path in EXAMPLES}
PLANS |= {case: LANGUAGE[case].input for case in GOOD}
KEYS = ["", " ", "\n", "x", "8", ", qd 9", "# ", '"', "}", "= ", "test", "as n "]


def edits(text: str, count: int) -> list[str]:
    """Texts that differ by a key or a word."""
    chance = Random(text)
    places = [chance.randrange(len(text) + 1) for _ in range(count)]
    gone = [chance.choice((0, 0, 1, 7)) for _ in places]
    return [
        text[:at] + chance.choice(KEYS) + text[at + cut :]
        for at, cut in zip(places, gone, strict=True)
    ]


@pytest.mark.long_but_first
@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_a_tree_after_an_edit_is_that_of_the_text(text: str) -> None:
    before, _ = parse(Source("plan", text))
    known = 0
    for edited in edits(text, 25):
        source = Source("plan", edited)
        found = reparsed(before, source)
        whole, errors = parse(source)
        if found is not None:
            known += 1
            assert not errors
            assert repr(found.items) == repr(whole.items)
            assert (
                found.parsed == whole.parsed.rstrip(" ") or found.parsed in whole.parsed
            )
    assert known or len(before.items) < 3


@pytest.mark.long
def test_what_is_checked_after_edits_is_what_a_new_check_says() -> None:
    text = (paths.ROOT / "examples/review.ioplan").read_text("utf-8")
    files, path = Workspace(), paths.ROOT / "examples/review.ioplan"
    for edited in (text, *edits(text, 12), text.replace("use_time", "x")):
        files.open(path, edited)
        resident, fresh = files.document(path), Document(path, edited)
        said = [(str(d.span), d.message) for d in resident.diagnostics]
        assert said == [(str(d.span), d.message) for d in fresh.diagnostics]
        assert resident.plan and fresh.plan
        told = [_told(test) for test in resident.plan.tests]
        assert told == [_told(test) for test in fresh.plan.tests]


def _told(test: Test) -> tuple[object, ...]:
    """A test without the places of its parts."""
    values = [[[v.text for v in row] for row in axis.values] for axis in test.axes]
    return test.title, test.text, values, test.rounds, test.expectations, test.charts


def test_a_warning_moves_with_its_test() -> None:
    test = 'test "T" { run random 4KiB 100/0, rate 2_000_000 iops for 1s }\n'
    files, path = Workspace(), FOLDER / "plan.ioplan"
    for blanks in ("", "\n\n", "# c\n"):
        files.open(path, blanks + test)
        (found,) = files.document(path).diagnostics
        assert found.span.text.startswith("run random")
        assert found.span.start == len(blanks) + test.index("run")
