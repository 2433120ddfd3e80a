"""After a key, all is as if the text had been read anew."""

from __future__ import annotations

from random import Random

import paths
import pytest
from written import FOLDER

from golden import Golden
from ioplan.language import Test
from ioplan_editor import Document, Workspace

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


@pytest.mark.parametrize("name", [*PLANS][::4])
def test_what_is_checked_after_edits_is_what_a_new_check_says(name: str) -> None:
    text, path = PLANS[name], FOLDER / "plan.ioplan"
    files = Workspace()
    for edited in (text, *edits(text, 6), text):
        files.open(path, edited)
        resident, fresh = files.document(path), Document(path, edited)
        said = [(str(d.span), d.message) for d in resident.diagnostics]
        assert said == [(str(d.span), d.message) for d in fresh.diagnostics]
        told = [
            [_told(test) for test in one.plan.tests] if one.plan else None
            for one in (resident, fresh)
        ]
        assert told[0] == told[1]


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
