"""No run whose backend lies is stored as ok, whatever the lie; true ones all are."""

import os
import sys
from pathlib import Path

import pytest
from command import ioplan
from lies import (
    BEFORE,
    FLUSHED,
    LIES,
    MIXED,
    PASS,
    PAUSED,
    PHASED,
    RATED,
    READS,
    SIZES,
    TWO,
    VERIFIED,
    told,
)
from plans import checked
from sessions import session
from wrapped import Wrapped, WrappedDrive

from ioplan.backends import TargetRequest
from ioplan.job import events
from ioplan.planner import summary_of
from ioplan.results.store import Store
from ioplan.runner import SessionContext, SessionRunner
from ioplan_io_uring import engine_path
from ioplan_sim import SimBackend

OF_THE_CLOCK = {"all times tenfold"}
"""Virtual time may be any."""


class Lying(Wrapped):
    """A run of the simulated drive, with a lie."""

    never_waits = True

    def __init__(self, inner, lie):
        super().__init__(inner)
        self.lie = lie

    def events(self, event):
        if self.lie == "":
            yield event
            return
        for one in told(self.lie, event.model_dump(mode="json")):
            yield events().validate_python(one)


def simulated(store, workload, lie):
    plan = checked(f'{BEFORE}test "T" {{ run {workload} expect iops > 1 }}')
    drive = SimBackend().open(TargetRequest(create_bytes=1 << 30, writes=True))

    def started(inner, job):
        return Lying(inner.start(job), lie)

    lying = WrappedDrive(drive, started)
    context = SessionContext(
        plan=plan,
        backend=SimBackend(),
        drive=lying,
        store=store,
        session=session(),
        summary=summary_of(plan),
    )
    SessionRunner(context).run()
    (record,) = store.records(session().id)
    return record


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "r.db") as opened:
        yield opened


@pytest.mark.parametrize("lie", sorted({*LIES} - OF_THE_CLOCK))
@pytest.mark.promise("figures.contradictions")
def test_a_lie_on_a_true_backend_is_not_stored_as_ok(store, lie):
    record = simulated(store, LIES[lie][0], lie)
    assert (record.status, record.verdicts) == ("failed", ()), lie
    causes = ("inconsistent", "short", "backend-garbage", "device-error")
    causes += ("backend-error",)  # as this one is of this process
    assert record.cause in causes, record.message


TRUE = [MIXED, READS, RATED, PASS, SIZES, TWO, FLUSHED, PAUSED, PHASED, VERIFIED]


@pytest.mark.parametrize("workload", TRUE)
def test_without_a_lie_it_is(store, workload):
    record = simulated(store, workload, "")
    assert record.status == "ok", record.message


def over_the_protocol(folder, lie):
    """`ioplan run` with a program between it and the engine."""
    program = folder / "liar"
    path = Path(__file__).parents[1] / "support" / "lies.py"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {path} "$@"\n')
    program.chmod(0o755)
    plan = folder / "t.ioplan"
    plan.write_text(f'{BEFORE}test "T" {{ run {LIES[lie][0]} expect iops > 1 }}')
    words = ("--target", folder / "scratch", "--create", "8MiB")
    environment = {
        "IOPLAN_ENGINE": str(program),
        "IOPLAN_TRUE_ENGINE": str(engine_path()),
        "IOPLAN_LIE": lie,
        "IOPLAN_STORE": str(folder / "r.db"),
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        done = ioplan("run", plan, *words, "--backend", "io_uring")
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    with Store.open(folder / "r.db") as store:
        records = list(store.records(store.session("last").id))
    assert records, done.err
    assert done.code == 3, (lie, done.out)
    return records[-1]


SOME = ("run_ns half", "all times tenfold")


@pytest.mark.slow
@pytest.mark.parametrize("lie", SOME)
@pytest.mark.promise("figures.contradictions")
def test_a_program_that_lies_over_the_protocol(tmp_path, lie):
    record = over_the_protocol(tmp_path, lie)
    assert (record.status, record.verdicts) == ("failed", ())
