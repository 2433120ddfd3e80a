"""What state of the drive each test meets, as `plan` and the pictures say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed

PURGED = "precondition p { purge }\n"
FILLED = "precondition p { purge write sequential 128KiB, qd 32, 2 passes }\n"
IN_ORDER = 'test "T" { after p run sequential 128KiB 0/100, qd 32 for 1s }\n'
READS = 'test "T" { after p run random 4KiB 100/0, qd 32 for 1s }\n'
ERASED = "nothing written since the purge"
TWICE = "2 × capacity written since the purge, 100 % of it"
UNREAD = "100 % of what it reads was never written"
UNKNOWN = "nothing written in known history"
CASES = [
    (PURGED + READS, ERASED, UNREAD),
    (FILLED + READS, TWICE, ""),
    (FILLED + IN_ORDER, TWICE, ""),
    (READS.replace("after p ", ""), UNKNOWN, ""),
]


@pytest.mark.parametrize(("text", "state", "doubt"), CASES)
def test_a_plan_says_what_state_each_test_meets(
    text: str, state: str, doubt: str, tmp_path: Path
) -> None:
    plan = plan_file(tmp_path, text)
    done = succeed("plan", plan, "--capacity", "1GiB", "--json")
    assert json.loads(done.out)["met"] == {"T": {"state": state, "doubt": doubt}}
    told = " ".join(ioplan("plan", plan, "--capacity", "1GiB").out.split())
    assert state in told
    assert ("in its runs" in told) == bool(doubt) and doubt in told


def test_a_test_meets_what_the_tests_before_it_leave(tmp_path: Path) -> None:
    first = IN_ORDER.replace("for 1s", ", 1 pass")
    text = PURGED + first + READS.replace("after p ", "").replace('"T"', '"U"')
    plan = plan_file(tmp_path, text)
    met = json.loads(ioplan("plan", plan, "--capacity", "1GiB", "--json").out)["met"]
    assert met["T"]["state"] == ERASED
    assert met["U"] == {
        "state": "1 × capacity written since the purge, 100 % of it",
        "doubt": "",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("prepared", "is_said"), [(PURGED, True), (FILLED, False)])
def test_a_picture_says_what_state_its_figures_are_of(
    prepared: str, is_said: bool, tmp_path: Path, store_path: Path
) -> None:
    reads = READS.replace("qd 32", "qd 1").replace("1s", "100ms vary qd in 1, 2")
    text = prepared + reads.replace(" }\n", "\nchart lines iops by qd }\n")
    plan = plan_file(tmp_path, text)
    call = ("--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan("run", plan, *call).code == 0
    shown = succeed("show", "last", "--store", store_path)
    note = f"state of the drive: {UNREAD}"
    assert (note in " ".join(shown.out.split())) == is_said


@pytest.mark.slow
def test_what_others_have_written_since_is_unknown(
    tmp_path: Path, store_path: Path
) -> None:
    target = tmp_path / "t"
    reads = 'test "T" { run random 4KiB 100/0, qd 1 for 200ms }\n'
    first = plan_file(tmp_path, FILLED + reads.replace("run", "after p run", 1))
    call = ("--target", target, "--create", "16MiB", "--quiet")
    assert ioplan("run", first, *call, "--store", store_path).code == 0

    def met() -> str:
        plan = plan_file(tmp_path, reads)
        where = ("--target", target, "--store", store_path, "--json")
        state: str = json.loads(ioplan("plan", plan, *where).out)["met"]["T"]["state"]
        return state

    assert met() == TWICE
    with target.open("r+b") as file:
        file.write(bytes(64 << 10))
    assert met() == UNKNOWN
