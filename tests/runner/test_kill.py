"""SIGKILL at 200 random instants of a session: nothing is lost or done twice.

The same session undisturbed says what must be there at the end. The table of
`dsl/resume.md` is made of what is counted here (`pytest --renew`).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import paths
import pytest
from command import plan_file
from killing import Forked

from ioplan.backends import TargetRequest
from ioplan.guard.target import open_target
from ioplan.records.record import RunRecord
from ioplan.runner.state_ledger import proven
from ioplan.store.store import Store

KILLS = 200
LATE = 0.9
"""The share of kills that wait for the session to begin, as starting takes long."""
KILLED_BY = 0.4
"""On sim, of the time of an undisturbed session: no kill comes later. It is more than
the longest step takes on any machine, or nothing would ever end."""
SIZE_BYTES = 8 << 20

PLAN = """plan "Killed"

precondition zeroed { write sequential 16KiB, qd 8, data zeros, 1 pass }

test "Each" {
  after zeroed before each qd
  vary qd in 1, 4, 16
  run random 4KiB 0/100 for 60ms
  expect iops > 1
}

test "Rounds" {
  after zeroed
  vary size in 4KiB, 16KiB
  run random 70/30 for 40ms
  rounds until steady iops when size == 4KiB, over 3, at most 3
  expect iops > 1
}

test "Reads" {
  after zeroed
  vary qd in 1, 2
  run random 4KiB 100/0 for 50ms
  idle 10ms
  repeat 2 { run random 8KiB 100/0 for 30ms }
}
"""


DOCUMENT = paths.ROOT / "dsl/resume.md"


@dataclass
class Place:
    """Where a session runs."""

    plan: Path
    store: Path
    target: tuple[str, ...]
    file: Path | None = None
    span_s: float = 0.5
    kills: Counter[str] = field(default_factory=Counter)

    def call(self, *words: str | Path) -> tuple[str | Path, ...]:
        return (*words, "--store", self.store, "--json")

    def run(self) -> tuple[str | Path, ...]:
        return self.call("run", self.plan, *self.target)


def what(record: RunRecord) -> tuple[object, ...]:
    """What a run was, and how it was judged; figures differ from run to run."""
    asked = record.asked
    judged = tuple((one.expectation, one.outcome) for one in record.verdicts)
    cell = tuple(sorted(asked.cell.items()))
    place = (asked.test, cell, asked.step, asked.round, asked.iteration)
    return (
        *place,
        record.run_id,
        asked.job.model_dump_json(exclude={"target"}),
        judged,
    )


def finished(store: Path) -> Counter[tuple[object, ...]]:
    """The finished runs of the last session, each with how often it is there."""
    with Store.open(store) as opened:
        records = opened.records(opened.session("last").id)
        done = (r for r in records if r.status == "ok" and r.asked.kind == "run")
        return Counter(map(what, done))


def session_killed_again_and_again(place: Place, chance: random.Random) -> None:
    """Kill it, resume it and kill it again, until it has ended by itself."""
    out = place.store.with_suffix(".out")
    words = place.run()
    while True:
        forked = Forked(out, *words)
        if chance.random() < LATE:
            forked.begun()
        code = forked.kill_after(chance.uniform(0, place.span_s))
        if code is not None:
            assert code == 0, out.read_text()[-2000:]
            return
        place.kills[forked.doing()] += 1
        check_claim(place)
        words = place.call("resume") if has_session(place.store) else place.run()


def has_session(path: Path) -> bool:
    with Store.open(path) as store:
        return bool(store.sessions())


def check_claim(place: Place) -> None:
    """A state that the store vouches for is there, byte by byte."""
    if place.file is None or not place.file.exists():
        return
    target = open_target(TargetRequest(path=str(place.file)))
    try:
        with Store.open(place.store) as store:
            state, why = proven(store, target.facts)
    finally:
        target.close()
    if state.path:
        assert not any(place.file.read_bytes()), why


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return plan_file(tmp_path, PLAN)


def sim_place(plan: Path, store: Path) -> Place:
    return Place(plan, store, ("--backend", "sim", "--create", "64MiB"))


def scratch_place(plan: Path, store: Path) -> Place:
    file = store.with_suffix(".scratch")
    target = ["--target", str(file), "--create", f"{SIZE_BYTES >> 20}MiB"]
    # of so many kills one leaves data that looks like some file system's
    target += ["--overwrite", str(file)]
    return Place(plan, store, tuple(target), file)


PLACES: dict[str, Callable[[Path, Path], Place]] = {
    "sim": sim_place,
    "scratch file": scratch_place,
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", PLACES)
def test_a_session_that_is_killed_ends_as_an_undisturbed_one(
    kind: str, plan: Path, tmp_path: Path, renew: bool
) -> None:
    quiet, began_s = PLACES[kind](plan, tmp_path / "quiet.db"), time.monotonic()
    assert Forked(tmp_path / "out", *quiet.run()).ended() == 0
    span_s = KILLED_BY * (time.monotonic() - began_s)
    wanted = finished(quiet.store)
    assert set(wanted.values()) == {1}
    chance, kills = random.Random(20261121), Counter[str]()
    while kills.total() < KILLS:
        place = PLACES[kind](plan, tmp_path / f"{kills.total()}.db")
        if kind == "sim":
            place.span_s = span_s
        session_killed_again_and_again(place, chance)
        kills += place.kills
        assert finished(place.store) == wanted
    if renew:
        write_row(kind, kills)


def write_row(kind: str, kills: Counter[str]) -> None:
    """The row of the document; that nothing was lost is what has just been shown."""
    where = ", ".join(f"{count} {doing}" for doing, count in kills.most_common())
    row = f"| {kind} | {kills.total()} | {where} | 0 | 0 | 0 |"
    lines = DOCUMENT.read_text().splitlines()
    written = [row if line.startswith(f"| {kind} |") else line for line in lines]
    DOCUMENT.write_text("\n".join(written) + "\n")


def test_the_document_has_what_was_shown() -> None:
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines()]
    for kind in PLACES:
        (row,) = (one for one in rows if len(one) > 1 and one[1].strip() == kind)
        assert int(row[2]) >= KILLS
        assert [cell.strip() for cell in row[4:7]] == ["0", "0", "0"]
