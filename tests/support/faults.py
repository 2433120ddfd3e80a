"""What dies or is cut, at which moment, and what every survivor of it must pass.

A test is a row: a strike, and the moment of a scene at which it falls. A scene is a
session on the simulated drive (here), a run on a real device (`test_device_faults`), or
a job in a lab (`fault_rows`). A session here is a process that strikes itself, when it
comes to a line of its standard output or gives something to its store: so each row is
the same on any machine, and all its figures are those of an undisturbed session.
"""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from command import ioplan
from killing import Forked, nothing
from msgspec import Struct, field
from pydantic_core import to_json

from ioplan.backends import TargetRequest
from ioplan.cli import USAGE, plan_of
from ioplan.results.report import document
from ioplan.results.store import Store
from ioplan.runner import proven
from ioplan.runner.guard import open_target

Strike = Callable[[Any], object]
"""Of the scene that it befalls."""
Moment = Callable[[Any, Strike], object]
"""Begins a scene, and has the strike befall it when it comes to that."""
PAGE_BYTES = 4096


class Fault(Struct, frozen=True):
    """A row: what happens, when, and what ends it."""

    strike: Strike
    moment: Moment
    then: Strike | None = None
    by_hand: str = ""
    """The commands that a person has to call in the end."""

    def happen(self, scene):
        """Begin what the scene is, strike at its moment, and mend it."""
        self.moment(scene, self.strike)
        if self.then:
            self.then(scene)


# what dies or is cut


def sent(number, times=1):
    """A signal to the process that strikes; each is heard before the next one comes."""

    def strike(scene):
        for _ in range(times):
            os.kill(os.getpid(), number)

    return strike


KILLED = sent(signal.SIGKILL)
STOPPED, ENDED = sent(signal.SIGINT), sent(signal.SIGTERM)


def disk_filled(session):
    """All of the file system that the store lies on."""
    with suppress(OSError), session.ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(PAGE_BYTES))


# moments


def said(kind, times=1, **fields):
    """A session has written the n-th line of that type, with these fields."""

    def moment(session, strike):
        wanted = {"type": kind, **fields}

        def listen():
            sys.stdout = Listening(sys.stdout, wanted, times, partial(strike, session))

        session.call(listen)

    return moment


class Listening:
    """Standard output, and what happens after a line."""

    def __init__(self, out, wanted, times, then):
        self.out, self.wanted, self.left, self.then = out, wanted, times, then

    def write(self, text):
        self.out.write(text)
        self.out.flush()
        if text.startswith("{") and self.wanted.items() <= json.loads(text).items():
            self.left -= 1
            if not self.left:
                self.then()

    def __getattr__(self, name):
        return getattr(self.out, name)


def storing(act, times=1, after=False):
    """The store is given something for the n-th time, or has just taken it."""

    def moment(session, strike):
        real, number = getattr(Store, act), count(1)

        def disturbed(*given):
            is_now = next(number) == times
            if is_now and not after:
                strike(session)
            taken = real(*given)
            if is_now and after:
                strike(session)
            return taken

        session.call(lambda: setattr(Store, act, disturbed))

    return moment


def at_once(session, strike):
    """Before it has begun with anything."""
    session.call(partial(strike, session))


# a session


class Session(Struct):
    """Each call is a process, which begins it or goes on with it."""

    plan: Path
    store: Path
    target: tuple[str | Path, ...]
    codes: list[int] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    given_up: tuple[str | Path, ...] = ()
    """What the next call says once it was killed as nobody could tell who writes."""

    @property
    def ballast(self):
        return self.store.with_name("ballast")

    @property
    def out(self):
        return self.store.with_suffix(".out")

    @property
    def file(self):
        """The scratch file, if it has one."""
        return self.store.with_suffix(".scratch")

    def begin(self, arm=nothing):
        words = ("resume",) if self.id else ("run", self.plan, *self.target)
        more = (*self.given_up, "--store", self.store, "--json")
        self.given_up = ()
        return Forked(self.out, *words, *more, arm=arm)

    def call(self, arm=nothing):
        self.ended(self.begin(arm).ended())

    def ended(self, code):
        """One of its processes has."""
        assert code is not None
        text = self.out.read_text()
        *lines, _torn = text.split("\n")
        self.told += [json.loads(line) for line in lines if line.startswith("{")]
        self.codes.append(code)
        if code == USAGE and "add --overwrite-data" in text:
            self.given_up = ("--overwrite-data", self.file)

    @property
    def id(self):
        """Of the session; none while it has not begun."""
        if not self.store.exists():
            return ""
        with Store.open(self.store) as store:
            return store.sessions()[0].id if store.sessions() else ""

    @property
    def records(self):
        if not self.id:
            return []
        with Store.open(self.store) as store:
            return list(store.records(self.id))

    @property
    def runs(self):
        """Those that are finished, each with how often it is there."""
        done = (r for r in self.records if r.status == "ok")
        return Counter(identity(r) for r in done if r.asked.kind != "prepare")

    def until_ended(self):
        """Go on with it, once more where the target's data has to be given up."""
        self.call()
        if self.given_up:
            self.call()


def identity(record):
    """What a run was, and how it was judged. Figures differ from run to run but on a
    simulated drive, and so do CPUs while several sessions share them."""
    simulated, asked = record.target["kind"] == "simulated", record.asked
    judged = tuple((one.expectation, one.outcome) for one in record.verdicts)
    cell = tuple(sorted(asked.cell.items()))
    probe = (asked.seek.number, asked.seek.decision) if asked.seek else ()
    return (
        *(asked.test, cell, asked.step, asked.round, asked.iteration, probe, judged),
        record.run_id,
        asked.job.model_dump_json(exclude={"target", "cpus"}),
        to_json(record.directions) if simulated else b"",
    )


# what every survivor must pass


def check_struck(session):
    """The store opens, what was told is in it, all say the same of the session, and
    a state that it vouches for is there."""
    finished_is_stored(session)
    one_status(session)
    content_is_as_claimed(session)


def finished_is_stored(session):
    told = [line["record"] for line in session.told if line["type"] == "record"]
    stored = {one.seq: one.model_dump(mode="json") for one in session.records}
    for one in told:
        assert stored[one["seq"]] | {"verdicts": one["verdicts"]} == one


def one_status(session):
    """In lists, on its page, and in what it has said itself."""
    if not session.id:
        return
    (listed,) = ioplan("ls", "--format", "jsonl", "--store", session.store).lines
    ends = [line for line in session.told if line["type"] == "end"]
    shown = listed["status"], listed["verdict"]
    assert shown == ((ends[-1]["status"], ends[-1]["verdict"]) if ends else shown)
    assert listed["status"] != "running"
    held, expected = listed["held"], listed["expected"]
    unmet = f"of {expected} expectations "
    said = f"all {expected} expectations passed" if held == expected else unmet
    assert said in verdict(session)[1], listed


def verdict(session):
    """On the session's page, and what became of the expectations: a real target may
    be warned of in one session and not in another."""
    with Store.open(session.store) as store:
        kept = store.session(session.id)
        found = document(store, [kept], {kept.id: plan_of(kept)}, "").screen
    return found.outcome, "; ".join(
        chip.text for chip in found.chips if "expectation" in chip.text
    )


def content_is_as_claimed(session):
    """Byte by byte, where the precondition was of zeros: a state that runs have left
    is known as well, but without a reason, and may hold anything."""
    if not session.file.exists():
        return
    target = open_target(TargetRequest(path=str(session.file)))
    try:
        with Store.open(session.store) as store:
            state, why = proven(store, target.facts)
    finally:
        target.close()
    if state.path and why:
        data = session.file.read_bytes()
        assert data.count(0) == len(data), why


def check_end(session, quiet):
    """It has ended as the undisturbed one: each cell once, with its figures on a
    simulated drive, its verdicts and its exit code."""
    assert session.codes[-1] == quiet.codes[-1], session.out.read_text()[-2000:]
    assert session.runs == quiet.runs and set(quiet.runs.values()) == {1}
    assert verdict(session) == verdict(quiet)
    finished_is_stored(session)
    one_status(session)
