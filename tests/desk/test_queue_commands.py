"""The queue at a shell, from `add` to the results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Done, ioplan, plan_file

from ioplan.results.store import Store

pytestmark = pytest.mark.slow


def call_as(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root the caller of sudo, else the user who has logged in."""
    for variable in ("SUDO_USER", "LOGNAME"):
        monkeypatch.setenv(variable, name)


@pytest.fixture
def lab(tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two simulated drives, a group of them, and a desk of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    call_as("ada", monkeypatch)
    text = 'name = "attic"\nbackend = "sim"\n[groups]\nall = ["d*"]\n'
    for name in ("d1", "d2"):
        text += f'[targets.{name}]\npath = "/sim/{name}"\n'
    path = plan_file(tmp_path, text, "lab.toml")
    monkeypatch.setenv("IOPLAN_LAB", str(path))
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 1s }')


def lab_call(*words: str | Path) -> Done:
    done = ioplan("lab", *words)
    assert done.code == 0, done.err
    return done


def states() -> dict[int, tuple[str, str]]:
    found = lab_call("queue", "list", "--json").lines
    return {one["number"]: (one["state"], one["text"]) for one in found}


@pytest.mark.long
def test_a_person_queues_reserves_and_sees_results(
    lab: Path, plan: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ("queue", "add", plan, "--create", "64MiB", "--target")
    assert lab_call(*add, "d1").out == "#1 plan waits\n"
    lab_call("drive", "d2", "--out-of-service", "smoke")
    assert "d2 is out of service: smoke (ada" in lab_call(*add, "all").out
    lab_call(*add, "d1", "--after", "2d")
    call_as("bob", monkeypatch)
    lab_call("reserve", "d1", "--until", "1h", "--why", "firmware")
    text = states()[1][1]
    assert text.startswith("d1 is reserved by bob until ") and "firmware" in text
    rows = {one["drive"]: one for one in lab_call("drives", "--json").lines}
    assert rows["d1"]["state"] == "reserved" and rows["d2"]["state"] == "out of service"
    lab_call("queue", "work", "--once")
    assert [state for state, _ in states().values()] == ["waiting"] * 3, "all closed"
    assert lab_call("reserve", "d1", "--release").out == "1 reservation ended\n"
    out = lab_call("queue", "work", "--once").out
    assert "#1 plan runs on d1" in out and "#1 plan: ok" in out
    assert states().keys() == {2, 3}
    with Store.open(store_path) as store:
        (session,) = store.sessions()
        assert session.person == "ada", "who added it, not who works"
        assert session.status == "ok" and len(list(store.records(session.id))) == 1
        job = str(session.job)
    again = ioplan("run", plan, "--target", "d1", "--detach", "--job", job)
    assert (again.code, f"a job {job} already" in again.err) == (2, True)
    lab_call("queue", "move", "3", "--priority", "urgent", "--first")
    lab_call("queue", "cancel", "#2")
    assert states().keys() == {3}
    lab_call("drive", "d2", "--in-service")
    assert lab_call("drives").out.split().count("free") == 2


ADD = ("queue", "add", "PLAN", "--target")
REFUSED = {
    (*ADD, "d3"): "the lab has no target 'd3'",
    (*ADD, "d1", "--priority", "x"): "priority 'x'",
    (*ADD, "d1", "--after", "x"): "is no moment",
    (*ADD, "d1", "--overwrite-from", "LIST"): "is not signed",
    ("queue", "cancel", "7"): "the queue has no #7",
    ("queue", "cancel", "x"): "'x' is not a number",
    ("queue", "move", "7"): "add --priority",
    ("reserve", "d1"): "add --until",
    ("drive", "d1", "--out-of-service", ""): "give the reason",
    ("drive", "d1", "--in-service"): "d1 is not out of service",
    ("drive", "d1"): "add --out-of-service REASON",
    ("drive", "d1", "--tag", "x", "--in-service"): "add --out-of-service REASON",
    ("drive", "d1", "--tag", "a b"): "'a b' is no tag",
    ("people", "quota", "ada", "--drives", "0"): "more than 0",
}


def test_what_is_refused(lab: Path, plan: Path, tmp_path: Path) -> None:
    row = {"verdict": "writable", "id": "S", "identity": {"kernel": "", "serial": "S"}}
    listed = plan_file(tmp_path, json.dumps([row]), "list.json")
    known = {"PLAN": plan, "LIST": listed}
    for words, text in REFUSED.items():
        done = ioplan("lab", *(known.get(word, word) for word in words))
        assert done.code == 2 and text in done.err, (words, done.err)


def test_drives_are_chosen_by_tags_and_people_have_quotas(
    lab: Path, plan: Path
) -> None:
    assert lab_call("drive", "d1", "d2", "--tag", "qual").out == "d1: qual\nd2: qual\n"
    lab_call("drive", "d1", "--tag", "fast", "--untag", "qual")
    add = ("queue", "add", plan, "--create", "64MiB", "--on")
    assert lab_call(*add, "tag:fast").out == "#1 plan waits\n"
    refused = ioplan("lab", *add, "tag:slow")
    assert refused.code == 2 and "fast, qual" in refused.err
    said = lab_call("people", "quota", "*", "--drives", "1", "--hours", "2.5").out
    assert said.endswith("own: 1 drive at once, 2.5 drive-hours in 7 days\n")
    lab_call(*add, "drive d*")
    assert "may use 1 drive at once" in states()[2][1]
    lab_call("people", "add", "olga")
    assert "1 drive at once" in " ".join(lab_call("people", "list").out.split())
    assert lab_call("people", "quota", "*").out.endswith("no quota\n")
    assert "may use" not in states()[2][1]
    assert lab_call("people", "project", "n", "--add", "olga").out == "@n: olga\n"
    lab_call("people", "quota", "@n", "--hours", "9")
    said = lab_call("people", "list").out.splitlines()
    assert said[-1] == "@n: olga; 9 drive-hours in 7 days"
    permitted = lab_call("people", "permit", "qual", "--to", "@n").out
    assert permitted == "drives with the tag qual: @n\n"
    assert "d2 is for @n only (tag qual)" in states()[2][1]
    refused = ioplan("lab", *add, "tag:qual")
    assert refused.code == 2 and "d2 is for @n only" in refused.err
    lab_call("people", "permit", "qual", "--no-longer", "@n")
    assert "for @n only" not in states()[2][1]
