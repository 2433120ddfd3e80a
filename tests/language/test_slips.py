"""What people write from habit leads to the right text, and hides no other error."""

from __future__ import annotations

import re

import pytest
from plans import checked

from ioplan import PlanError
from ioplan.language import Diagnostic

RUN = "run random 4KiB 70/30"
SLIPS = {
    "run random 4KiB 0/100, until steady iops every 1s over 5, at most 4 passes": (
        "run random 4KiB 0/100, until steady iops every 1s, over 5, at most 4 passes"
    ),
    f"{RUN} for 1 minute": f"{RUN} for 1min",
    f"{RUN} for 30 seconds": f"{RUN} for 30s",
    f"{RUN} for 2 hrs": f"{RUN} for 2h",
    "run random 4KiB 70:30 for 1min": f"{RUN} for 1min",
    "run random 4KiB 70 : 30 for 1min": f"{RUN} for 1min",
    "run random 4KiB 70% reads for 1min": f"{RUN} for 1min",
    "run random 4KiB 70% read for 1min": f"{RUN} for 1min",
    "run random 4KiB 30 % writes for 1min": f"{RUN} for 1min",
    f"{RUN}, zipf:1.1 for 1min": f"{RUN}, zipf 1.1 for 1min",
    f"{RUN}, qd:8 for 1min": f"{RUN}, qd 8 for 1min",
    f"{RUN}, compress 50% for 1min": f"{RUN}, data compressible 50% for 1min",
    f"{RUN}, compression 30% for 1min": f"{RUN}, data compressible 30% for 1min",
    f"{RUN} for 1min expect p99 < 1000": f"{RUN} for 1min expect p99 < 1000us",
    f"{RUN} for 1min expect mean <= 20": f"{RUN} for 1min expect mean <= 20us",
    f"{RUN} for 1min seek highest qd from 1 to 128 where p99 <= 1ms": (
        f"{RUN} for 1min seek highest qd in 1..128 where p99 <= 1ms"
    ),
    f"{RUN} for 1min vary qd from 1 to 128": f"{RUN} for 1min vary qd in 1..128 doubling",
    "run random 70/30 for 1min vary size from 4KiB to 1MiB": (
        "run random 70/30 for 1min vary size in 4KiB..1MiB doubling"
    ),
}
"""Each with what is meant."""
ROUNDS = f"{RUN} for 1min rounds 5"
HELP = re.compile(r"write: (.+)|write for example (.+)|is written as: (.+)")


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(PlanError) as error:
        checked(text)
    return error.value.diagnostics


def written(help: str) -> str:
    """What a help says to write."""
    found = HELP.search(help)
    assert found, help
    return next(filter(None, found.groups()))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_leads_to_the_right_text(slip: str) -> None:
    (one,) = errors(f'test "T" {{ {slip} }}')
    assert written(one.help) in SLIPS[slip] and written(one.help) not in slip
    assert "expected" not in one.message
    assert checked(f'test "T" {{ {SLIPS[slip]} }}').tests


def test_a_number_of_rounds_leads_to_repeat_or_to_a_limit() -> None:
    (one,) = errors(f'test "T" {{ {ROUNDS} }}')
    first, second = written(one.help).split(", or: ")
    assert (first, second) == (
        "repeat 5 { run … }",
        "rounds until steady iops, at most 5",
    )
    assert checked(f'test "T" {{ {first.replace("run …", f"{RUN} for 1min")} }}').tests
    assert checked(f'test "T" {{ {RUN} for 1min vary qd in 1 {second} }}').tests


def test_a_size_for_a_length_leads_to_the_length() -> None:
    found = errors('test "T" { run random 4KiB 70/30, size 10GiB }')
    assert all("for 10GiB" in one.help for one in found)
    assert checked('test "T" { run random 4KiB 70/30 for 10GiB }').tests


@pytest.mark.parametrize("slip", [*SLIPS, ROUNDS])
def test_other_errors_are_told_beside_it(slip: str) -> None:
    """In the same statement, in the same test, and in others."""
    text = (
        f'test "T" {{ {slip.replace("random 4KiB ", "random 5KB ")} expect nothing < 3 }}\n'
        'test "U" { run random 4KiB 170/30 for 1min }\n'
        'test "V" { run nowhere for 1min }\n'
    )
    messages = " ".join(one.message for one in errors(text))
    for said in ("170/30 adds up", "no workload 'nowhere'", "unknown metric 'nothing'"):
        assert said in messages
    assert ("5000 B is not a multiple" in messages) == ("4KiB " in slip[:16])


@pytest.mark.parametrize(
    "text",
    [
        "run random 4KiB 70/30 for 1 min",
        "run random 4 KiB 70/30 for 30 s",
        "run random 4KiB 70/30 for 1min chart lines iops by qd vary qd in 1, 2",
    ],
)
def test_what_is_right_is_no_slip(text: str) -> None:
    assert checked(f'test "T" {{ {text} }}').tests
