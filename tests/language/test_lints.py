"""Classic lints are told of, with what to write; what is right is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command import ioplan, plan_file
from plans import checked

from ioplan.backends import TargetFacts
from ioplan.language.lints.lints import CACHE, FRESH, KINDS, RATE, UNWRITTEN, lints
from ioplan.language.lints.warnings import warnings_of
from ioplan.planner.suites.suite import suite_file, suite_names
from ioplan.results.store.store import Store
from ioplan.runner.session.recorder import is_mostly_empty, lints_on

NEW = "precondition new { purge }\n"
FULL = "precondition full { purge write sequential 128KiB, 2 passes }\n"
HALF = "precondition half { purge write sequential 128KiB, region 0%..50%, 1 pass }\n"
STEADY = (
    "precondition full { purge write random 4KiB, until steady iops every 1s, "
    "at most 4 passes }\n"
)
READ = "run random 4KiB 100/0 for 1s"
WRITE = "run random 4KiB 0/100 for 1s"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NEW + f'test "T" {{ after new {READ} }}', [UNWRITTEN]),
        (NEW + f'test "T" {{ after new {READ} vary qd in 1, 2 }}', [UNWRITTEN]),
        (HALF + f'test "T" {{ after half {READ} }}', [UNWRITTEN]),
        (HALF + f'test "T" {{ after half {READ}, region 50%..99% }}', [UNWRITTEN]),
        (NEW + f'test "T" {{ after new {WRITE} }}', [FRESH]),
        (HALF + f'test "T" {{ after half {WRITE} }}', [FRESH]),
        (f'test "T" {{ {READ}, region 0%..0.05% }}', [CACHE]),
        (f'test "T" {{ {READ}, rate 5_000_000 iops }}', [RATE]),
        (f'test "T" {{ {READ}, qd 2, rate 4GiB/s }}', [RATE]),
    ],
)
def test_a_mistake_is_told_of(text: str, found: list[str]) -> None:
    (one,) = warnings_of(checked(text))
    assert one.severity == "warning"
    assert [kind for kind in KINDS if f'accept "{kind}"' in one.help] == found
    assert one.help.partition("; or accept it")[0]
    assert warnings_of(checked(f'accept "{found[0]}"\n{text}')) == []


@pytest.mark.parametrize(
    "text",
    [
        f'test "T" {{ {READ} }}',  # whether anything is on the target is not known
        f'test "T" {{ {WRITE} }}',
        FULL + f'test "T" {{ after full {READ} }}',
        FULL + f'test "T" {{ after full {WRITE} }}',
        STEADY + f'test "T" {{ after full {WRITE} {READ} }}',
        HALF + f'test "T" {{ after half {READ}, region 10%..50% }}',
        NEW + 'test "T" { after new run random 4KiB 0/100, until steady iops every 1s, '
        "at most 4 passes }",
        NEW + 'test "T" { after new run sequential 128KiB 0/100, 1 pass\n'
        f"{READ} {WRITE} }}",
        f'test "T" {{ {READ}, region 0%..1% }}',
        f'test "T" {{ {READ}, threads 4, qd 32 each, rate 2_000_000 iops total }}',
    ],
)
def test_what_is_right_is_not(text: str) -> None:
    assert warnings_of(checked(text)) == []


@pytest.mark.long
def test_no_suite_makes_one() -> None:
    for name in (one for one in suite_names() if not one.startswith("std/")):
        path = suite_file(name)
        assert path
        found = ioplan("check", path)
        assert (found.code, found.err) == (0, ""), name


def test_check_warns_and_does_not_fail(tmp_path: Path) -> None:
    path = plan_file(tmp_path, NEW + f'test "T" {{ after new {READ} }}')
    done = ioplan("check", path)
    assert done.code == 0
    assert "warning: it reads space that was never written" in done.err
    assert "write sequential 128KiB, 1 pass" in done.err
    assert done.err.rstrip().endswith("1 warning")
    (found,) = json.loads(ioplan("check", "--format", "json", path).out)
    assert (found["severity"], found["line"]) == ("warning", 2)


# on a target


def facts(path: Path) -> TargetFacts:
    return TargetFacts(
        path=str(path),
        kind="file",
        capacity_bytes=path.stat().st_size,
        block_bytes=512,
    )


def test_a_file_of_holes_is_empty(tmp_path: Path) -> None:
    empty, whole = tmp_path / "empty", tmp_path / "whole"
    os.truncate(os.open(empty, os.O_CREAT | os.O_WRONLY), 8 << 20)
    whole.write_bytes(os.urandom(8 << 20))
    for name, written in (("much", 6 << 20), ("little", 1 << 20)):
        with (tmp_path / name).open("wb") as part:
            part.write(os.urandom(written))
            part.truncate(8 << 20)
    assert is_mostly_empty(facts(empty), ((0, 100),))
    assert not is_mostly_empty(facts(whole), ((0, 100),))
    assert not is_mostly_empty(facts(tmp_path / "much"), ((0, 100),))
    assert is_mostly_empty(facts(tmp_path / "much"), ((76, 100),))
    assert is_mostly_empty(facts(tmp_path / "little"), ((0, 100),))
    gone = facts(whole).model_copy(update={"path": str(tmp_path / "gone")})
    assert not is_mostly_empty(gone, ((0, 100),))


def test_what_is_read_is_looked_at(tmp_path: Path) -> None:
    plan = checked(f'test "T" {{ {READ} }}')
    target = tmp_path / "target"
    target.write_bytes(bytes(8 << 20))
    (found,) = lints_on(plan, facts(target), is_new=False)
    assert found.kind == UNWRITTEN
    target.write_bytes(os.urandom(8 << 20))
    assert lints_on(plan, facts(target), is_new=False) == ()
    filled = checked(FULL + f'test "T" {{ after full {READ} }}')
    target.write_bytes(bytes(8 << 20))
    assert lints_on(filled, facts(target), is_new=False) == ()


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [
        ("/dev/zram0", "block", [CACHE]),
        ("/dev/ram1", "block", [CACHE]),
        ("/dev/sda", "block", []),
        ("/nowhere/ram1", "file", []),
    ],
)
def test_a_target_in_memory_is_no_drive(path: str, kind: str, found: list[str]) -> None:
    one = TargetFacts(path=path, kind=kind, capacity_bytes=1 << 30, block_bytes=512)
    plan = checked(FULL + f'test "T" {{ after full {READ} }}')
    assert [one.kind for one in lints_on(plan, one, is_new=False)] == found


def test_a_known_capacity_says_what_is_short() -> None:
    text = NEW + 'test "T" { after new run random 4KiB 0/100 for 10GiB }'
    assert [one.kind for one in lints(checked(text), 1 << 40)] == [FRESH]
    assert list(lints(checked(text), 1 << 33)) == []


def test_a_run_warns_before_it_and_in_the_record(
    tmp_path: Path, store_path: Path
) -> None:
    text = f'test "T" {{ {READ.replace("1s", "100ms")} vary qd in 1, 2 }}'
    path = plan_file(tmp_path, text)
    done = ioplan("run", path, "--backend", "sim", "--json")
    (warned,) = done.of("warning")
    assert warned["kind"] == UNWRITTEN and "write it before" in warned["help"]
    order = [one["type"] for one in done.lines]
    assert order.index("warning") < order.index("step")
    with Store.open(store_path) as store:
        records = list(store.records(store.session("last").id))
    assert [one.warnings for one in records] == [(warned["text"],)] * 2
    assert "warning in 2 of 2 runs: it reads space" in " ".join(
        ioplan("show").out.split()
    )
    kept = plan_file(tmp_path, f'accept "unwritten reads"\n{text}', "b.ioplan")
    done = ioplan("run", kept, "--backend", "sim", "--json")
    assert done.of("warning") == []
    told = ioplan("run", path, "--backend", "sim").out
    assert told.partition("T ─")[0].count("it reads space that was never written") == 1
