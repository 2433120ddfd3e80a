"""Corrections: each does what a help says, and the checker agrees."""

from __future__ import annotations

import pytest
from written import written

from ioplan_editor import applied, fixes, formatting

RUN = 'test "T" {{ run {} }}\n'


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("random 4kb 100/0 for 1s", "random 4KiB 100/0 for 1s"),
        ("random 4KiB 70/40 for 1s", "random 4KiB 70/30 for 1s"),
        ("random 4KiB 100/0", "random 4KiB 100/0 for 1min"),
        ("random 100/0 for 1s", "random 4KiB 100/0 for 1s"),
        ("random 4KiB 100/0, iodepth 8 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        ("random 4KiB 100/0, qd 8, qd 9 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        ("random 4KiB 100/0 qd 8 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        (
            "random 4KiB 100/0, threads 2, qd 8 for 1s",
            "random 4KiB 100/0, threads 2, qd 8 each for 1s",
        ),
        (
            "random 4KiB 100/0 for 1s expect p99 < 2",
            "random 4KiB 100/0 for 1s expect p99 < 2us",
        ),
        (
            "random 4KiB 100/0, qd n for 1s vary n in 8..1 doubling",
            "random 4KiB 100/0, qd n for 1s vary n in 1..8 doubling",
        ),
        ("on failure halt\n", "on failure stop\n"),
        (RUN.format("random 4KiB 100/0 for 1s")[:-3], "}"),
    ],
)
def test_a_correction(wrong: str, right: str) -> None:
    if wrong.startswith("random"):
        wrong, right = RUN.format(wrong), RUN.format(right)
    document, _ = written(wrong)
    found = list(fixes(document, 0, len(wrong)))
    results = [applied(wrong, [*fix.edits]) for fix in found]
    assert any(one == right or one.rstrip().endswith(right) for one in results), results


def test_prose_is_no_correction() -> None:
    wrong = "param a = b\nparam b = 1s\n" + RUN.format("random 4KiB 100/0 for a")
    document, _ = written(wrong)
    assert document.diagnostics and not list(fixes(document, 0, len(wrong)))


def test_a_warning_can_be_accepted() -> None:
    text = 'plan "P"\n' + RUN.format("random 4KiB 100/0, rate 2_000_000 iops for 1s")
    document, _ = written(text)
    (fix,) = list(fixes(document, 0, len(text)))
    after, _ = written(applied(text, [*fix.edits]))
    assert fix.title.startswith("accept ") and not after.diagnostics


def test_layout_touches_the_rows_of_a_range_only() -> None:
    text = "param  a = 1s\n\n" + "param  b = 2s\n"
    document, _ = written(text)
    assert applied(text, formatting(document)) == "param a = 1s\n\nparam b = 2s\n"
    assert (
        applied(text, formatting(document, 0, 5)) == "param a = 1s\n\nparam  b = 2s\n"
    )
    assert not formatting(written("param =")[0])
