"""`ioplan plan --backend` says what `ioplan run` will refuse, whatever is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file

PLAN = """precondition written { write sequential 128KiB, verify, 1 pass }
test "Exact" {
  run random 4KiB 100/0, qd 4 for 1s
}
test "Own sizes" {
  run random read sizes { 4KiB 100% } write sizes { 64KiB 100% } 50/50 for 1s
}
test "Mixed" {
  run random sizes { 4KiB 50%, 64KiB 50% } 100/0 for 1s
}
test "Skewed" {
  run random 4KiB 100/0, normal 10% for 1s
}
test "Scattered" {
  run random 4KiB 100/0, zipf 1.2 for 1s
}
test "Alternating" {
  run sequential 4KiB 50/50 for 1s
}
test "Verified" {
  run random 4KiB 50/50, verify for 1s
}
test "After it" { after written
  run random 4KiB 100/0 for 1s
}
test "After it again" { after written
  run random 4KiB 100/0 for 1s
}
"""
ABSENT = ("--backend", "fio", "--option", "path=/nowhere/fio")
"""A fio that is not installed: what can be said is said all the same."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return plan_file(tmp_path, PLAN)


def fit(*words: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ioplan("plan", *words, "--json").out)["fit"]
    return found


def grades(found: dict[str, Any]) -> dict[str, str]:
    return {one["test"]: one["fit"] for one in found["tests"]}


def test_each_test_is_exact_approximate_or_impossible_with_nothing_installed(
    plan: Path,
) -> None:
    found = fit(plan, *ABSENT)
    assert not found["usable"] and found["refused"]
    assert grades(found) == {
        "Exact": "exact",
        "Own sizes": "exact",
        "Mixed": "approximate",
        "Skewed": "approximate",
        "Scattered": "near",
        "Alternating": "near",
        "Verified": "impossible",
        "After it": "impossible",
        "After it again": "impossible",
    }
    (gap,) = found["tests"][2]["gaps"]
    assert gap["field"] == "align" and gap["edit"] == "align 4KiB"


def test_the_edit_makes_it_exact(tmp_path: Path) -> None:
    text = PLAN.replace("64KiB 50% } 100/0", "64KiB 50% } 100/0, align 4KiB")
    assert grades(fit(plan_file(tmp_path, text), *ABSENT))["Mixed"] == "exact"


def test_the_table_tells_what_instead_and_what_to_type(plan: Path) -> None:
    done = ioplan("plan", plan, *ABSENT)
    assert done.code == 2
    text = " ".join(done.out.split())
    assert "9 tests, 2 exact, 2 near, 2 approximate, 3 impossible" in text
    assert "it cannot run here: /nowhere/fio cannot be run" in text
    assert "instead: blockalign=4k for all sizes exact with: align 4KiB" in text
    assert "--allow align,distribution accepts what is approximate" in text
    assert "--only-exact runs 4 of 9 tests" in text
    assert "with --allow distribution" in done.err


@pytest.mark.promise("exit_codes.plan")
def test_a_plan_is_refused_unless_all_of_it_is_accepted(tmp_path: Path) -> None:
    text = PLAN[: PLAN.index('test "Verified"')].partition("\n")[2]
    plan = plan_file(tmp_path, text)
    assert ioplan("plan", plan, *ABSENT).code == 2
    one = ioplan("plan", plan, *ABSENT, "--allow", "align")
    assert one.code == 2
    assert "12 draws" in one.err and "aligns all" not in one.err
    assert "scatters" not in one.err  # which is told, and stops nothing
    for words in (
        ("--allow", "align,distribution"),
        ("--allow", "align", "--allow", "normal"),
        ("--allow-approximate",),
        ("--only-exact",),
    ):
        assert ioplan("plan", plan, *ABSENT, *words).code == 0, words


def test_only_exact_shows_the_steps_that_would_be_run(plan: Path) -> None:
    done = ioplan("plan", plan, *ABSENT, "--only-exact", "--json")
    shown = json.loads(done.out)
    assert done.code == 0
    kept = {"Exact", "Own sizes", "Scattered", "Alternating"}
    assert {one["test"] for one in shown["steps"]} == kept
    assert {one["test"] for one in shown["fit"]["tests"] if one["runs"]} == kept


def test_an_unknown_approximation_is_no_word(plan: Path) -> None:
    done = ioplan("plan", plan, *ABSENT, "--allow", "aling")
    assert done.code == 2 and "did you mean 'align'?" in done.err
    done = ioplan("plan", plan, "--allow", "align")
    assert done.code == 2 and "add --backend" in done.err


def test_the_version_decides(tmp_path: Path) -> None:
    plan = plan_file(
        tmp_path, 'test "T" { run random 4KiB 50/50, sync every 1 for 1s }'
    )
    older = grades(fit(plan, *ABSENT, "--option", "version=3.36"))
    newer = grades(fit(plan, *ABSENT, "--option", "version=3.42"))
    assert (older, newer) == ({"T": "approximate"}, {"T": "exact"})
    done = ioplan("plan", plan, *ABSENT, "--option", "version=new")
    assert done.code == 2 and "such as 3.38" in done.err


READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'
TCP = "nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1"


@pytest.mark.parametrize(
    ("target", "words", "size_bytes", "assumed"),
    [
        ("malloc:64MiB", (), 64 << 20, False),
        ("null:128MiB", ("--option", "block_bytes=4096"), 128 << 20, False),
        ("delay:128MiB:1000:5000:3000:9000", (), 128 << 20, False),
        ("nvme:pcie:0000:01:00.0", (), 10**12, True),
        (TCP, ("--capacity", "2TiB"), 2 << 40, True),
    ],
)
def test_an_address_that_only_the_backend_knows(
    target: str, words: tuple[str, ...], size_bytes: int, assumed: bool, tmp_path: Path
) -> None:
    plan = plan_file(tmp_path, READS)
    spdk = ("--backend", "spdk", "--target", target, *words)
    done = ioplan("plan", plan, *spdk)
    assert done.code == 0, done.err
    found = fit(plan, *spdk)["target"]
    assert (found["path"], found["capacity_bytes"]) == (target, size_bytes)
    told = "assumed of" in " ".join(done.out.split())
    assert told is assumed


def test_what_the_target_is_decides_too(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, READS.replace("4KiB", "512B"))
    words = ("--backend", "spdk", "--target", "malloc:64MiB")
    assert ioplan("plan", plan, *words).code == 0
    done = ioplan("plan", plan, *words, "--option", "block_bytes=4096")
    assert done.code == 2 and "block of 4096 B" in done.err
    done = ioplan("plan", plan, *words, "--capacity", "1TB")
    assert done.code == 2 and "specifies its size" in done.err


def test_a_device_that_is_elsewhere(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 0/100, trim 100% for 1s }')
    away = (*ABSENT, "--target", "/dev/nvme9n1")
    assert ioplan("plan", plan, *away).code == 2  # how large is it?
    assert ioplan("plan", plan, *away, "--capacity", "1TB").code == 0
    file = (*ABSENT, "--target", tmp_path / "away.bin", "--capacity", "1TB")
    assert "on block devices only" in ioplan("plan", plan, *file).err


def test_run_does_what_fits_and_tells_the_rest(
    tmp_path: Path, store_path: Path
) -> None:
    text = """test "Fits" { run random 4KiB 100/0 for 100ms }
test "Too small" { run random 4KiB 100/0, region 0%..0.001% for 100ms }
"""
    plan = plan_file(tmp_path, text)
    sim = ("--backend", "sim", "--create", "64MiB")
    assert ioplan("run", plan, *sim).code == 2
    done = ioplan("run", plan, *sim, "--only-exact")
    assert done.code == 0
    assert "skipped: Too small: impossible: its region of 512B" in done.out
    done = ioplan("run", plan, *sim, "--only-exact", "--json")
    assert {one["record"]["asked"]["test"] for one in done.of("record")} == {"Fits"}
    none = plan_file(tmp_path, text.partition("\n")[2])
    assert ioplan("run", none, *sim, "--only-exact").code == 2


@pytest.mark.slow
def test_a_resumed_session_leaves_out_the_same_tests(
    tmp_path: Path, store_path: Path
) -> None:
    text = """test "Fits" { run random 4KiB 100/0 for 1MiB vary qd in 1 }
test "Too small" { run random 4KiB 100/0, region 0%..0.001% for 1MiB }
"""
    plan, file = plan_file(tmp_path, text), tmp_path / "scratch.bin"
    words = ("--target", file, "--create", "8MiB", "--only-exact")
    assert ioplan("run", plan, *words).code == 0
    plan.write_text(text.replace("qd in 1", "qd in 1, 2"))
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "skipped: Too small" in done.out
    shown = ioplan("export", "last", "--format", "jsonl").lines
    assert [one["asked"]["test"] for one in shown] == ["Fits", "Fits"]
