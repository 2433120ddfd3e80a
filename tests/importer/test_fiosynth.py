"""Suites of FioSynth as plans: templates, values, preconditions, targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from imported import told

from golden import Golden
from ioplan.language import Source
from ioplan_importer import ImportedPlan, ImportFault, import_plan, kind_of

ACME = Golden("fiosynth")["Acme"]
SUITE: dict[str, Any] = json.loads(ACME.input)


def imported(folder: Path, suite: dict[str, Any], **variables: str) -> ImportedPlan:
    (folder / "jobfiles").mkdir(exist_ok=True)
    (folder / "wkldsuites").mkdir(exist_ok=True)
    for name, text in ACME.files.items():
        (folder / "jobfiles" / name).write_text(text)
    source = Source(str(folder / "wkldsuites" / "Acme"), json.dumps(suite, indent=1))
    assert kind_of(source) == "fiosynth"
    return import_plan(source, "fiosynth", variables)


def test_a_suite_is_a_plan(tmp_path: Path) -> None:
    made = imported(tmp_path, SUITE)
    assert made.plan, made.found[-1].render()
    assert "write sequential 1MiB, qd 8, 2 passes" in made.text
    assert (
        "reader = random 4KiB 100/0, qd 10, rate 3_500 iops, region 0%..50%"
        in made.text
    )
    assert "log = sequential 128KiB 0/100, pause 12800us every 32" in made.text
    for line in (
        "expect read.p99 <= 2ms",
        "expect read.max <= 35ms",
        "expect write.bandwidth >= 40MB/s",
    ):
        assert f"  {line}" in made.text
    assert [test.title for test in made.plan.tests] == ["warm", "L1"]


def test_a_target_that_nothing_decides_is_told(tmp_path: Path) -> None:
    made = imported(tmp_path, SUITE)
    assert "# cannot be decided: expect trim.bandwidth >= 5MB/s" in made.text
    assert told(made) == ["no run of this test has trims to measure"]


def test_values_grow_with_the_capacity(tmp_path: Path) -> None:
    text = imported(tmp_path, SUITE, CAPACITY_TB="2").text
    assert "qd 20, rate 7_000 iops" in text and "pause 6400us every 32" in text
    fixed = imported(tmp_path, SUITE | {"scale_by_capacity": "N"}, CAPACITY_TB="2").text
    assert "qd 10, rate 3_500 iops" in fixed


def test_a_suite_without_preconditions_starts_at_once(tmp_path: Path) -> None:
    text = imported(tmp_path, SUITE | {"precondition_cycles": 0}).text
    assert "precondition" not in text and "after" not in text


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    twice = imported(tmp_path, SUITE | {"def": SUITE["def"] * 2})
    assert twice.plan and [test.title for test in twice.plan.tests][1:] == [
        "L1",
        "L1 (2)",
    ]


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ('{"def": [}', "this is no JSON"),
        ('{"def": 3}', "a suite has a list 'def' of workloads"),
        ('{"def": [{"template": "none.fio"}]}', "no workload of the suite can be said"),
    ],
)
def test_what_is_no_suite(tmp_path: Path, suite: str, message: str) -> None:
    with pytest.raises(ImportFault, match=message):
        import_plan(Source(str(tmp_path / "s"), suite), "fiosynth", {})


@pytest.mark.parametrize(
    "key", ["description", "devices_in_global", "precondition_first_cycle_only"]
)
def test_a_key_of_its_own_suites_is_no_loss(key: str, tmp_path: Path) -> None:
    plain, made = (imported(tmp_path, {**SUITE, **more}) for more in ({}, {key: "N"}))
    assert told(made) == told(plain)


@pytest.mark.parametrize("kind", ["suite", "workload", "targets"])
def test_a_key_that_nobody_knows_is_told(tmp_path: Path, kind: str) -> None:
    suite = json.loads(json.dumps(SUITE))
    entry = suite["def"][0]
    place = {"suite": suite, "workload": entry, "targets": entry["targets"]}[kind]
    place["invented"] = {"read": {"MIN": 1}}
    assert f"'invented' of a {kind} is left out" in told(imported(tmp_path, suite))[0]


def test_a_throughput_by_the_capacity_is_told(tmp_path: Path) -> None:
    suite = json.loads(json.dumps(SUITE))
    scaled = suite["def"][0]["targets"]["throughput"]
    for value, number in ((1, 1), (0, 0)):
        scaled["scale_by_TB"] = {"value": value}
        found = told(imported(tmp_path, suite))
        assert sum("scale_by_TB" in one for one in found) == number
