"""What dies x when x what is checked: sessions that are struck go on as if nothing was.

Each strike is befallen at each kind of moment; an undisturbed session says what must be
there at the end. At random instants `test_at_random_instants` does it again and again,
and counts for the table of `docs/resume.md` (`pytest --renew`).
"""

import gc
import multiprocessing
import random
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import paths
import pytest
from command import ioplan, plan_file
from faults import (
    ENDED,
    KILLED,
    STOPPED,
    Fault,
    Session,
    at_once,
    check_end,
    check_struck,
    disk_filled,
    said,
    sent,
    storing,
)
from killing import Forked, cpu_time_s, real_time_s
from msgspec import Struct

from ioplan.cli import RUN_FAILED
from targets import needs_root, tmpfs

pytestmark = pytest.mark.slow

PLAN = """plan "Killed"

precondition zeroed { purge write sequential 16KiB, qd 8, data zeros, 1 pass }

test "Each" {
  after zeroed before each qd
  vary qd in 1, 4
  run random 4KiB 0/100 for 10ms
  expect errors == 0
}

test "Rounds" {
  after zeroed
  vary size in 4KiB, 16KiB
  run random 70/30 for 8ms
  rounds until steady iops when size == 4KiB, over 3, at most 3
  expect errors == 0
}

test "Reads" {
  after zeroed
  run random 4KiB 100/0 for 8ms
  idle 5ms
  repeat 2 { run random 8KiB 100/0 for 8ms }
}
"""
SOUGHT = """
test "Seek" {
  after zeroed
  run  random 4KiB 100/0 for 10ms
  seek highest qd in 1..4 where max < 100s, confirm 15ms
}

test "Share" {
  run random 4KiB 100/0, qd 50% of "Seek" for 8ms
}
"""
SIM = ("--backend", "sim", "--create", "16MiB")
INTERRUPTED = 130

MOMENTS = {
    "in the precondition": said("progress"),
    "in a run": said("progress", 8),
    "as a run is stored": storing("add", 2),
    "once a run is stored": storing("add", 2, after=True),
    "after a round": said("steady", 2),
    "as verdicts are stored": storing("add_verdicts"),
    "in a probe": said("step", 2, test="Seek"),
    "as it is finished": storing("finish"),
    "after its last word": said("end"),
}
OTHERS = {
    "at once": at_once,
    "as it begins": said("session"),
    "as a state is stored": storing("add", 1),
    "between runs": said("record", 3),
    "as a verdict is told": said("verdict"),
    "once verdicts are stored": storing("add_verdicts", after=True),
    "in a rest": said("step", what="idle"),
    "after a probe": said("record", 18),
    "in what uses a finding": said("step", test="Share"),
    "once it is finished": storing("finish", after=True),
}
EVERY = MOMENTS | OTHERS
LONG = [pytest.param(name, marks=pytest.mark.long) for name in OTHERS]
AT_THE_END = ("as it is finished", "once it is finished", "after its last word")
IMPATIENT = sent(signal.SIGINT, 2)
IN_SHORT = (
    "in the precondition",
    "as a run is stored",
    "in a probe",
    "after its last word",
)
"""Signals at every kind of moment are rows of `test_signals`, too."""
SIGNALLED = [
    *(
        pytest.param(STOPPED, name, marks=[pytest.mark.long][: name not in IN_SHORT])
        for name in MOMENTS
    ),
    *((number, "in a run") for number in (ENDED, IMPATIENT)),
    *(
        pytest.param(number, "as a run is stored", marks=pytest.mark.long)
        for number in (ENDED, IMPATIENT)
    ),
]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """The same session undisturbed."""
    folder = tmp_path_factory.mktemp("quiet")
    made = Session(plan_file(folder, PLAN + SOUGHT), folder / "results.db", SIM)
    done = ioplan("run", made.plan, *SIM, "--store", made.store, "--json")
    assert done.code == 1, "its rounds are too few to become steady"
    made.codes.append(done.code)
    assert made.runs.total() > 12
    return made  # whatever is forked now has all modules, and knows the drive


@pytest.fixture
def session(quiet, tmp_path):
    return Session(quiet.plan, tmp_path / "results.db", SIM)


@pytest.mark.parametrize("moment", [*MOMENTS, *LONG])
@pytest.mark.promise("resume.once", "resume.kept", "resume.rounds", "resume.seek")
def test_what_is_killed_ends_as_an_undisturbed_session(moment, session, quiet):
    Fault(KILLED, EVERY[moment]).happen(session)
    assert session.codes == [-signal.SIGKILL]
    check_struck(session)
    session.until_ended()
    check_end(session, quiet)


@pytest.mark.parametrize(("strike", "moment"), SIGNALLED)
@pytest.mark.promise("resume.ctrl_c", "resume.once")
def test_what_is_stopped_ends_as_an_undisturbed_session(strike, moment, session, quiet):
    Fault(strike, EVERY[moment]).happen(session)
    has_ended = moment in AT_THE_END
    assert session.codes == [quiet.codes[0] if has_ended else INTERRUPTED]
    check_struck(session)
    session.until_ended()
    check_end(session, quiet)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("in a run", "in the precondition"),
        ("after a round", "once a run is stored"),
        pytest.param("in a probe", "as a run is stored", marks=pytest.mark.long),
        pytest.param("in a rest", "as it is finished", marks=pytest.mark.long),
    ],
)
@pytest.mark.promise("resume.once")
def test_a_resume_is_struck_too(first, second, session, quiet):
    for moment in (EVERY[first], EVERY[second]):
        Fault(KILLED, moment).happen(session)
        check_struck(session)
    assert session.codes == [-signal.SIGKILL] * 2
    session.until_ended()
    check_end(session, quiet)


@needs_root
@pytest.mark.parametrize("moment", ["in a run", "as a run is stored"])
@pytest.mark.promise("errors.full_disk")
def test_a_session_whose_store_is_full_goes_on(moment, quiet, tmp_path):
    with tmpfs(tmp_path / "small", "10M") as folder:
        session = Session(quiet.plan, folder / "results.db", SIM)
        Fault(disk_filled, EVERY[moment]).happen(session)
        assert session.codes == [RUN_FAILED]
        assert "is full" in session.out.read_text() or not session.out.stat().st_size
        check_struck(session)
        session.ballast.unlink()
        session.until_ended()
        check_end(session, quiet)


@pytest.mark.parametrize("strike", [KILLED, STOPPED], ids=["KILL", "INT"])
def test_a_report_that_is_struck_is_no_part_of_one(strike, quiet, tmp_path):
    page = tmp_path / "report.html"
    report = Report(quiet.store, page)
    Fault(strike, storing("records")).happen(report)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert ioplan(*report.words).code == 0 and page.stat().st_size


class Report(Struct):
    """A call that makes one."""

    store: Path
    page: Path

    @property
    def words(self):
        return ("report", "last", "-o", self.page, "--store", self.store)

    def call(self, arm):
        Forked(self.page.with_name("out"), *self.words, arm=arm).ended()


# at random instants

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
DOCUMENT = paths.ROOT / "docs/resume.md"


def scratch(store):
    """Of so many kills one leaves data that looks like some file system's."""
    file = store.with_suffix(".scratch")
    return ("--target", file, "--create", "8MiB", "--overwrite", file)


KINDS = {"sim": cpu_time_s, "scratch file": real_time_s}


def another(kind, plan, name):
    """A session of that kind with a store and a file of its own."""
    store = plan.with_name(name)
    return Session(plan, store, SIM if kind == "sim" else scratch(store))


def killed_again_and_again(session, chance, span_s, clock):
    """Kill it, resume it and kill it again, until it has ended by itself; what it was
    doing when it was killed."""
    kills = Counter[str]()
    while True:
        forked = session.begin()
        if chance.random() < LATE:
            forked.begun()
        code = forked.kill_after(chance.uniform(0, span_s), clock)
        session.ended(-signal.SIGKILL if code is None else code)
        if code is None:
            kills[forked.doing()] += 1
            span_s *= LATER
            check_struck(session)
        elif not session.given_up:
            return kills


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.promise("resume.once", "resume.kept", "resume.state_written")
def test_at_random_instants(kind, tmp_path, renew):
    plan = plan_file(tmp_path, PLAN)
    calm = another(kind, plan, "calm.db")
    code, took_s = calm.begin().undisturbed(KINDS[kind])
    calm.ended(code)
    assert set(calm.runs.values()) == {1}
    gc.freeze()  # or each process would copy what the collector touches
    each = (FOR_THE_TABLE if renew else KILLS) // AT_ONCE
    with multiprocessing.get_context("fork").Pool(AT_ONCE) as pool:
        struck = partial(share, kind, calm, KILLED_BY * took_s, each)
        kills = sum(pool.imap_unordered(struck, range(AT_ONCE)), Counter[str]())
    assert kills.total() >= each * AT_ONCE
    if renew:
        write_row(kind, kills)


def share(kind, calm, span_s, most, number):
    """One process's share of the kills, in one session after the other."""
    chance, kills = random.Random(20261121 + number), Counter[str]()
    while kills.total() < most:
        one = another(kind, calm.plan, f"{number}-{kills.total()}.db")
        kills += killed_again_and_again(one, chance, span_s, KINDS[kind])
        check_end(one, calm)
    return kills


def write_row(kind, kills):
    """The row of the document; that nothing was lost is what has just been shown."""
    where = ", ".join(f"{count} {doing}" for doing, count in kills.most_common())
    row = f"| {kind} | {kills.total()} | {where} | 0 | 0 | 0 |"
    lines = DOCUMENT.read_text().splitlines()
    written = [row if line.startswith(f"| {kind} |") else line for line in lines]
    DOCUMENT.write_text("\n".join(written) + "\n")


def test_the_document_has_what_was_shown():
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines()]
    for kind in KINDS:
        (row,) = (one for one in rows if len(one) > 1 and one[1].strip() == kind)
        assert int(row[2]) >= KILLS
        assert [cell.strip() for cell in row[4:7]] == ["0", "0", "0"]
