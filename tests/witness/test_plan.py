"""`ioplan witness`: a plan's clauses, as they arrive at the device; and what `ioplan plan`
says of those that were seen so, by this version alone."""

import json
from typing import Any

import pytest
from command import ioplan, plan_file, refuse, succeed
from fio_jobs import NEEDS_FIO
from paths import ROOT

from ioplan_io_uring import engine_path

PLAN = """
test "Mix" { run random 4KiB 70/30 for 5s vary qd in 1, 4, 8 }
test "Log" { run sequential 16KiB 0/100, sync every 8 for 5s }
"""


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
@pytest.mark.usefixtures("can_mount")
def test_each_clause_is_compared(tmp_path, backend):
    """The ends of a matrix, in a second each; what was seen is believed."""
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("witness", plan, "--backend", backend, "--json")
    cells = {(one["test"], one["cell"].get("qd")) for one in done.lines}
    assert cells == {("Mix", "1"), ("Mix", "8"), ("Log", None)}
    names = {one["name"] for one in done.lines}
    assert {"read share", "depth", "sync", "order", "data", "region"} <= names
    assert done.code == 0, [one for one in done.lines if one["verdict"] == "differs"]
    if backend == "io_uring":
        (line,) = exact_lines(plan, backend)
        assert line.startswith("exact, witnessed on io_uring ")
        assert line.endswith(": Mix, Log")


OTHER_DEPTH = """#!/bin/bash
[ "$1" = run ] || exec {engine} "$@"
exec {engine} "$@" < <(sed -u '1s/"qd": *1,/"qd":8,/')
"""


@pytest.mark.slow
@pytest.mark.usefixtures("can_mount")
def test_what_differs_is_an_exit_code_and_not_believed_any_more(tmp_path, monkeypatch):
    """An engine is asked for one depth, and takes another."""
    plan = plan_file(tmp_path, 'test "One" { run random 4KiB 100/0, qd 1 for 1s }')
    keep(tmp_path, plan, "random", "mix", "size", "qd")
    assert "witnessed" in exact_lines(plan)[0]
    program = tmp_path / "engine"
    program.write_text(OTHER_DEPTH.format(engine=engine_path()))
    program.chmod(0o755)
    monkeypatch.setenv("IOPLAN_ENGINE", str(program))
    done = ioplan("witness", plan, "--backend", "io_uring")
    assert done.code == 1 and "DIFFERS" in done.out and "depth" in done.out, done
    assert exact_lines(plan) == ["exact by declaration: One"]


def test_what_is_simulated_cannot_be_seen(tmp_path):
    plan = plan_file(tmp_path, PLAN)
    refuse("simulates its I/O", "witness", plan, "--backend", "sim")
    assert exact_lines(plan, "sim") == []


def exact_lines(plan, backend="io_uring"):
    done = succeed("plan", plan, "--backend", backend)
    return [line for line in done.out.splitlines() if line.startswith("exact")]


def keep(folder, plan, *words, **others):
    """As after a witness of these words, by the programs of here or by others."""
    done = ioplan("plan", plan, "--backend", "io_uring", "--json")
    programs = {
        "backend": "io_uring",
        "version": json.loads(done.out)["fit"]["version"],
        "ioplan": ioplan("--version").out.split()[-1],
    }
    file = folder / "state/ioplan/witnessed.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([{**programs, "words": words, **others}]))


WORDS = ("random", "mix", "size", "qd")
BELIEVED: dict[str, tuple[tuple[str, ...], dict[str, Any], bool]] = {
    "all words": (WORDS, {}, True),
    "a word is missing": (WORDS[:-1], {}, False),
    "another version": (WORDS, {"version": "0.1"}, False),
    "another ioplan": (WORDS, {"ioplan": "0.1"}, False),
    "other options": (WORDS, {"options": {"engine": "libaio"}}, False),
    "a file that is damaged": (WORDS, {"words": "["}, False),
}


@pytest.mark.parametrize("name", BELIEVED)
def test_all_words_must_have_been_seen_of_these_programs(name, tmp_path):
    """Of pauses a witness sees nothing."""
    mix = PLAN.splitlines()[1]
    think = 'test "Think" { run random 4KiB 70/30, qd 4, pause 10ms for 5s }'
    plan = plan_file(tmp_path, f"{mix}\n{think}")
    words, others, believed = BELIEVED[name]
    keep(tmp_path, plan, *words, **others)
    first, *rest = exact_lines(plan)
    assert first.startswith("exact, witnessed on io_uring") is believed
    assert (rest or [first])[-1].startswith("exact by declaration:")


@pytest.mark.slow
@pytest.mark.long
def test_each_clause_is_as_asked():
    """Of the suite of clauses; and the page in the documents has a row for each."""
    done = ioplan("witness", "witness/clauses", "--backend", "io_uring", "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    judged = [one for one in found if "verdict" in one]
    differ = [one for one in judged if one["verdict"] == "differs"]
    assert not differ and done.code == 0, differ
    titles = {one["test"].partition(" ")[2] for one in judged}
    assert len(titles) == 24
    page = (ROOT / "docs" / "witnessed.md").read_text()
    assert all(f"| {title} | as asked" in page for title in titles)
