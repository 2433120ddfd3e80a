"""SIGKILL at random instants of a session: nothing is lost or done twice.

The same session undisturbed says what must be there at the end. The table of
`docs/resume.md` is made of what is counted here (`pytest --renew`).
"""

from __future__ import annotations

import gc
import multiprocessing
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import paths
import pytest
from command import ioplan, plan_file
from killing import Clock, Forked, cpu_time_s, real_time_s
from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_core import to_json

from ioplan.backends import TargetRequest
from ioplan.cli import USAGE
from ioplan.records import RunRecord
from ioplan.results.store import Store
from ioplan.runner import proven
from ioplan.runner.guard import open_target

KILLS, FOR_THE_TABLE = 12, 200
"""Of each kind: what a change is tested with, and what the document's row is made of."""
LATE = 0.9
"""The share of kills that wait for the session to begin, as starting takes long."""
KILLED_BY = 0.4
"""Of an undisturbed session: the first kill comes no later. It is more than the
longest step takes."""
LATER = 1.1
"""The next kill of a session may come so much later, so that it ends on any machine."""
AT_ONCE = 2
"""So many processes share the kills: one waits while the other computes."""
SIZE_BYTES = 8 << 20
ENDS = (0, 1)
"""Exit codes of a session that has ended: so few rounds need not become steady."""

PLAN = """plan "Killed"

precondition zeroed { write sequential 16KiB, qd 8, data zeros, 1 pass }

test "Each" {
  after zeroed before each qd
  vary qd in 1, 4, 16
  run random 4KiB 0/100 for 30ms
  expect errors == 0
}

test "Rounds" {
  after zeroed
  vary size in 4KiB, 16KiB
  run random 70/30 for 20ms
  rounds until steady iops when size == 4KiB, over 3, at most 3
  expect errors == 0
}

test "Reads" {
  after zeroed
  vary qd in 1, 2
  run random 4KiB 100/0 for 25ms
  idle 5ms
  repeat 2 { run random 8KiB 100/0 for 15ms }
}
"""


DOCUMENT = paths.ROOT / "docs/resume.md"


class Place(Struct):
    """Where a session runs, and when it is killed."""

    plan: Path
    store: Path
    target: Callable[[Path], tuple[str, ...]]
    clock: Clock
    span_s: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)

    def another(self, name: str) -> Place:
        """The same, with a store and a file of its own."""
        return replace(self, store=self.store.with_name(name), kills=Counter())

    @property
    def file(self) -> Path:
        """The scratch file, if it has one."""
        return self.store.with_suffix(".scratch")

    def call(self, *words: str | Path) -> tuple[str | Path, ...]:
        return (*words, "--store", self.store, "--json")

    def run(self) -> tuple[str | Path, ...]:
        return self.call("run", self.plan, *self.target(self.file))


def what(record: RunRecord) -> tuple[object, ...]:
    """What a run was, and how it was judged. Figures differ from run to run but on a
    simulated drive, and so do CPUs while several sessions share them."""
    simulated = record.target["kind"] == "simulated"
    asked = record.asked
    judged = tuple((one.expectation, one.outcome) for one in record.verdicts)
    cell = tuple(sorted(asked.cell.items()))
    probe = (asked.seek.number, asked.seek.decision) if asked.seek else ()
    place = (asked.test, cell, asked.step, asked.round, asked.iteration, probe)
    return (
        *place,
        record.run_id,
        asked.job.model_dump_json(exclude={"target", "cpus"}),
        judged,
        to_json(record.directions) if simulated else b"",
    )


def finished(store: Path) -> Counter[tuple[object, ...]]:
    """The finished runs of the last session, each with how often it is there."""
    with Store.open(store) as opened:
        records = opened.records(opened.session("last").id)
        done = (r for r in records if r.status == "ok" and r.asked.kind != "prepare")
        return Counter(map(what, done))


def session_killed_again_and_again(place: Place, chance: random.Random) -> None:
    """Kill it, resume it and kill it again, until it has ended by itself."""
    out = place.store.with_suffix(".out")
    words = place.run()
    while True:
        forked = Forked(out, *words)
        if chance.random() < LATE:
            forked.begun()
        code = forked.kill_after(chance.uniform(0, place.span_s), place.clock)
        if code == USAGE and "add --overwrite-data" in out.read_text():
            again = place.call("resume") if has_session(place.store) else place.run()
            words = [*again, "--overwrite-data", place.file]
            continue  # it was killed as nobody could tell who writes
        if code is not None:
            assert code in ENDS, out.read_text()[-2000:]
            return
        place.kills[forked.doing()] += 1
        place.span_s *= LATER
        check_claim(place)
        words = place.call("resume") if has_session(place.store) else place.run()


def has_session(path: Path) -> bool:
    with Store.open(path) as store:
        return bool(store.sessions())


def check_claim(place: Place) -> None:
    """A state that the store vouches for is there, byte by byte."""
    if not place.file.exists():
        return
    target = open_target(TargetRequest(path=str(place.file)))
    try:
        with Store.open(place.store) as store:
            state, why = proven(store, target.facts)
    finally:
        target.close()
    if state.path:
        data = place.file.read_bytes()
        assert data.count(0) == len(data), why


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return plan_file(tmp_path, PLAN)


def sim(file: Path) -> tuple[str, ...]:
    return ("--backend", "sim", "--create", "64MiB")


def scratch(file: Path) -> tuple[str, ...]:
    """Of so many kills one leaves data that looks like some file system's."""
    size = f"{SIZE_BYTES >> 20}MiB"
    return ("--target", str(file), "--create", size, "--overwrite", str(file))


KINDS: dict[str, tuple[Callable[[Path], tuple[str, ...]], Clock]] = {
    "sim": (sim, cpu_time_s),
    "scratch file": (scratch, real_time_s),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.promise("resume.once", "resume.kept", "resume.state_written")
def test_a_session_that_is_killed_ends_as_an_undisturbed_one(
    kind: str, plan: Path, tmp_path: Path, renew: bool
) -> None:
    quiet = Place(plan, tmp_path / "quiet.db", *KINDS[kind])
    assert ioplan(*quiet.run()).code in ENDS  # whatever is forked now has all modules
    wanted = finished(quiet.store)
    assert set(wanted.values()) == {1}
    gc.freeze()  # or each process would copy what the collector touches
    place = replace(quiet, span_s=KILLED_BY * length_s(quiet.another("length.db")))
    each = (FOR_THE_TABLE if renew else KILLS) // AT_ONCE
    with multiprocessing.get_context("fork").Pool(AT_ONCE) as pool:
        shares = pool.imap_unordered(
            partial(share, place, wanted, each), range(AT_ONCE)
        )
        kills = sum(shares, Counter[str]())
    assert kills.total() >= each * AT_ONCE
    if renew:
        write_row(kind, kills)


def length_s(place: Place) -> float:
    """Of an undisturbed session, by the clock of the place."""
    forked = Forked(place.store.with_suffix(".out"), *place.run())
    code, took_s = forked.undisturbed(place.clock)
    assert code in ENDS
    return took_s


def share(
    place: Place, wanted: Counter[tuple[object, ...]], most: int, number: int
) -> Counter[str]:
    """One process's share of the kills, in one session after the other."""
    chance, kills = random.Random(20261121 + number), Counter[str]()
    while kills.total() < most:
        one = place.another(f"{number}-{kills.total()}.db")
        session_killed_again_and_again(one, chance)
        kills += one.kills
        assert finished(one.store) == wanted
    return kills


def write_row(kind: str, kills: Counter[str]) -> None:
    """The row of the document; that nothing was lost is what has just been shown."""
    where = ", ".join(f"{count} {doing}" for doing, count in kills.most_common())
    row = f"| {kind} | {kills.total()} | {where} | 0 | 0 | 0 |"
    lines = DOCUMENT.read_text().splitlines()
    written = [row if line.startswith(f"| {kind} |") else line for line in lines]
    DOCUMENT.write_text("\n".join(written) + "\n")


def test_the_document_has_what_was_shown() -> None:
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines()]
    for kind in KINDS:
        (row,) = (one for one in rows if len(one) > 1 and one[1].strip() == kind)
        assert int(row[2]) >= KILLS
        assert [cell.strip() for cell in row[4:7]] == ["0", "0", "0"]
