"""Gaps of a backend: refused at the clause, or recorded as substitutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

from ioplan import Cause
from ioplan.backends import Gap, TargetFacts
from ioplan.job import Job
from ioplan.language import Source, check
from ioplan.planner import Prepare, Run, summary_of
from ioplan.runner import misfits
from ioplan_sim import SimBackend

PLAN = """workload steady_rate = random 4KiB 100/0, rate 1_000 iops

test "Paced" {
  run  steady_rate for 100ms
}

test "Deep" {
  run  random 4KiB 100/0, qd 64 for 100ms
  vary read in 100%, 50%
}
"""


def rate_and_depth(self: SimBackend, job: Job, options: dict[str, Any]) -> list[Gap]:
    """A backend that paces nearly, and has no queue depth above 32."""
    gaps = []
    for stream in job.streams:
        if stream.rate:
            gaps.append(
                Gap(
                    stream=stream.name,
                    field="rate",
                    reason="its clock is coarse",
                    instead="whole milliseconds",
                )
            )
        if stream.qd > 32:
            gaps.append(Gap(stream=stream.name, field="qd", reason="32 at most"))
    return gaps


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimBackend, "gaps", rate_and_depth)


@pytest.mark.promise("backends.refused")
def test_gaps_are_refused_with_the_caret_on_the_clause(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    done = ioplan("run", plan_file(tmp_path, PLAN), "--backend", "sim")
    assert done.code == 2 and done.out == ""
    blocks = done.err.strip().split("\n\n")
    assert len(blocks) == 2  # the same clause of two cells is said once
    assert blocks[0].splitlines()[3:5] == [
        " 1 | workload steady_rate = random 4KiB 100/0, rate 1_000 iops",
        "   |                                           ^^^^^^^^^^^^^^^",
    ]
    assert "with --allow rate: whole milliseconds" in blocks[0]
    assert "sim: 32 at most" in blocks[1] and "^^^^^" in blocks[1]
    assert ioplan("ls", "--format", "jsonl").out == ""


@pytest.mark.parametrize(
    "text",
    [
        PLAN,
        "precondition p { write random 4KiB, qd 64, 1 pass }\n"
        + PLAN.replace('"Deep" {', '"Deep" { after p').replace("qd 64 for", "qd 4 for"),
    ],
)
def test_what_cannot_be_approximated_is_refused_all_the_same(
    text: str, limited: None, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, text)
    done = ioplan("run", plan, "--backend", "sim", "--allow-approximate")
    assert done.code == 2
    assert "32 at most" in done.err and "coarse" not in done.err


@pytest.mark.promise("backends.allowed")
def test_a_substitution_is_in_every_record(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, PLAN.replace("qd 64", "qd 8"))
    assert ioplan("run", plan, "--backend", "sim", "--allow", "qd").code == 2
    done = ioplan("run", plan, "--backend", "sim", "--allow", "rate", "--json")
    assert done.code == 0
    said = [line["record"]["substitutions"] for line in done.of("record")]
    assert said == [["main.rate: its clock is coarse; whole milliseconds"], [], []]


@pytest.mark.slow
@pytest.mark.long
def test_the_matrix_asks_the_same_question(limited: None) -> None:
    lines = ioplan("backends").out.splitlines()
    (heads,) = (line.split() for line in lines if "io_uring" in line and "sim" in line)
    told = {line[:29].strip(): line[29:].split() for line in lines}
    answers = {name: told[name][heads.index("sim") - len(heads)] for name in SHOWN}
    assert answers == {"rate": "approximate", "zipf": "exact"}


SHOWN = ("rate", "zipf")


MIXED = """test "A mix of which a fio job can say a part, under a title that is long" {
  run  random 4KiB 50/50, trim 10%, verify, qd 4, 1 pass
}
"""


@NEEDS_FIO
@pytest.mark.parametrize("more", [(), ("--show-native",), ("--json",)])
@pytest.mark.promise("exit_codes.plan")
def test_a_plan_is_refused_as_its_run_is(tmp_path: Path, more: tuple[str, ...]) -> None:
    plan = plan_file(tmp_path, MIXED)
    shown = ioplan("plan", plan, "--backend", "fio", *more)
    create = ("--target", tmp_path / "s.bin", "--create", "16MiB")
    ran = ioplan("run", plan, "--backend", "fio", *create)
    assert shown.code == ran.code == 2
    assert shown.err == ran.err and "cannot mix discards" in shown.err
    assert ("impossible" in shown.out) is ("--show-native" not in more)


@pytest.mark.slow
def test_native_texts_are_shown_once(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("plan", plan, "--backend", "io_uring", "--show-native")
    assert done.code == 0
    assert done.out.count('"read_only"') == 3
    assert "# Paced" in done.out


FACTS = TargetFacts(path="x", kind="file", capacity_bytes=1 << 30, block_bytes=4096)


def steps(text: str) -> tuple[Prepare | Run, ...]:
    return summary_of(check(Source("plan", text))).io_steps


def test_misfits_are_said_once_each_with_the_test() -> None:
    found = steps(
        'precondition p { write random 6KiB, 1 pass }\ntest "A" { after p\n'
        "run random 4KiB for 1s\n vary size in 512B, 4KiB\n vary qd in 1, 2\n"
        "vary read in 100%, 0% }"
    )
    assert misfits(found, FACTS) == [
        (Cause.UNALIGNED, "p: 6144 B is not a multiple of the target's 4096 B blocks"),
        (Cause.UNALIGNED, "A: 512 B is not a multiple of the target's 4096 B blocks"),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        # 0.0006 % of 1 GiB is 6442 B, of which one block is left
        ("region 0%..0.0006%", ""),
        ("region 0%..0.0003%", "region of 0B has no room for an aligned I/O of 4KiB"),
        ("region 0%..1GiB", ""),
        ("region 0%..1.5GiB", "A: its region ends at 1536MiB, and the target at 1GiB"),
        ("region 16GiB..100%", "its region begins at 16GiB, and ends at 1GiB"),
    ],
)
def test_a_region_has_room_on_the_target(words: str, told: str) -> None:
    text = f'test "A" {{ run random 4KiB 100/0, {words} for 1s }}'
    found = misfits(steps(text), FACTS)
    assert len(found) == bool(told)
    assert all(one.kind is Cause.TOO_SMALL and told in one.text for one in found)


def test_amplification_needs_a_meter(
    tmp_path: Path, store_path: Path, rough_sim: None
) -> None:
    """A file has no log of a drive; the simulated drive tells it."""
    text = (
        "precondition p { write random 4KiB, until steady waf every 1%, at most 1 pass }"
        '\ntest "A" { after p run random 4KiB 100/0 for 1s }'
    )
    plan, target = plan_file(tmp_path, text), tmp_path / "scratch"
    asked = ("run", plan, "--target", target, "--create", "1MiB")
    done = ioplan(*asked, "--backend", "io_uring")
    assert done.code == 2
    assert "p: waf has no meter: only an NVMe drive" in done.err
    assert "write: until steady iops" in done.err.replace("\n", " ")
    assert ioplan(*asked, "--backend", "sim").code == 1
