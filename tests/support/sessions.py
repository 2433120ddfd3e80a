"""Sessions in a store, whose runs have given figures."""

from datetime import UTC, datetime, timedelta
from functools import cache
from math import exp
from pathlib import Path

import numpy as np
from figures import (
    HOST,
    SESSION_ID,
    at_rate,
    counts,
    latencies_ns,
    measured,
    progress,
    record,
    result,
    run,
    stream,
    without_io,
)

from ioplan.records import RunDetail, RunRecord, RunRequest, Session, Verdict
from ioplan.results.store import COLUMNS, Store
from ioplan.results.store.figures import figure_rows
from ioplan.results.store.runs import run_row
from ioplan.results.store.sessions import SessionOverview, env_row, session_row

TABLES_OF_SESSIONS = tuple(
    table for table in reversed(COLUMNS) if COLUMNS[table][0] == "session"
)
"""In the order in which their rows can be deleted."""
ENDED = "2026-11-21T05:46:12Z"
Made = RunRecord | tuple[RunRecord, RunDetail]


def session(id=SESSION_ID, **more):
    fields = {
        "plan": "demo",
        "plan_file": "demo.ioplan",
        "plan_text": "test demo",
        "started_at": "2026-11-21T05:45:12Z",
        "backend": "sim",
        "target": "/dev/sim0",
        "request": RunRequest(targets=("/dev/sim0",)),
        "host": HOST,
    }
    return Session(id=id, **fields | more)


def overview(**more):
    """A session as lists have it; `more` replaces fields."""
    fields = {name: "" for name in SessionOverview.__struct_fields__}
    fields |= {"id": SESSION_ID, "status": "ok", "verdict": "none"}
    fields |= {"ended_at": None, "runs": 1, "job": None, "drive": None, "tags": ()}
    return SessionOverview(**fields | more)


def put(store, *runs, id=SESSION_ID, ended="", **more):
    """Begin a session, add its runs, and end it where its status then is given; its id.

    Runs are of this session, whatever they say; a record alone has no detail.
    """
    if isinstance(store, Path):
        with Store.open(store) as opened:
            return put(opened, *runs, id=id, ended=ended, **more)
    store.begin(session(id, **more))
    for one in runs:
        made, detail = one if isinstance(one, tuple) else (one, RunDetail())
        store.add(made.model_copy(update={"session": id}), detail)
    if ended:
        store.finish(id, ended, ENDED)
    return id


# a sweep of which some cells failed

SWEPT = ("1", "2", "4", "8")
STOPPED, GONE = "2", "8"
"""The queue depths that failed: after half of the I/O, and without any."""


def failed_sweep():
    """One cell failed before any I/O, another in the middle."""
    made = []
    for seq, qd in enumerate(SWEPT, start=1):
        cell = {"qd": qd}
        if qd == GONE:
            made.append(without_io(seq, cell=cell, message="the drive is gone"))
        elif qd == STOPPED:
            made.append(run(seq, cell=cell, status="failed", message="EIO"))
        else:
            made.append(run(seq, cell=cell))
    return made


# many drives

SLOW = 7
"""The number of the drive that is far from all others."""
LEAST_IOPS = 90_000


def drive_iops(number, qd):
    """Close to 100k for each outstanding I/O, but for the slow drive."""
    return int(qd) * (100_000 + 100 * (number % 9)) / (5 if number == SLOW else 1)


def put_drives(store, count):
    """The same sweep on so many drives; their sessions' ids, in the order of the drives."""
    ids = [f"20261121-0545{n // 60:02}-k{n:03}" for n in range(count)]
    for number, id in enumerate(ids):
        runs = [_of_drive(number, seq, qd) for seq, qd in enumerate(SWEPT, start=1)]
        put(store, *runs, id=id, target=f"/dev/sim{number}", ended="ok")
    return ids


def _of_drive(number, seq, qd):
    base, iops = _base(seq, qd), drive_iops(number, qd)
    verdict = Verdict(
        expectation=f"expect iops > {LEAST_IOPS:_}",
        outcome="held" if iops > LEAST_IOPS else "failed",
        actual=iops,
        limit=LEAST_IOPS,
        unit="1/s",
    )
    identity = {"model": f"Drive {number:02}", "firmware": f"F{number % 2}"}
    target = {**base.target, "identity": identity}
    return at_rate(base, iops, target=target, verdicts=(verdict,))


@cache
def _base(seq, qd):
    """Three seconds of nothing but reads."""
    reads = stream(read=counts(latencies_ns(1, 400)))
    return record(seq, measured(progress(1, reads), result(3, reads)), cell={"qd": qd})


# sessions of the same runs, for what compares them


def put_alike(store, number, change=None, **more):
    """A session, the `number`th of its day, of three runs at each queue depth.

    Sessions differ by 0.5 % and runs by 0.1 %, beside `change`, by depth. Returns its id.
    """
    rng = np.random.default_rng(number)
    runs = []
    for qd in SWEPT:
        level = (1 + (change or {}).get(qd, 0.0)) * exp(0.005 * rng.normal())
        for turn in range(1, 4):
            faster = level * exp(0.001 * rng.normal())
            fields = {"test": "Reads", "run_id": f"run-{qd}", "iteration": turn, **more}
            seq = len(runs) + 1
            runs.append(
                at_rate(_base(1, qd), 600_000 * faster, faster, seq=seq, **fields)
            )
    moment = f"2026-01-01T00:{number:02}:00Z"
    id = f"20260101-{number:06}-aaaa"
    return put(store, *runs, id=id, status="ok", started_at=moment)


BEGAN = datetime(2026, 1, 1, 6, tzinfo=UTC)
"""Of a session and a cell: how its IOPS relate to the usual 100,000."""
"""Of a session: its `host`, `identity`, `version` of the backend and `ioplan`."""


def nightly_id(number):
    return f"{BEGAN + timedelta(days=number):%Y%m%d-%H%M%S}-aaaa"


def put_nights(store, sessions, cells, factor, facts=lambda _: {}):
    """A session each night, in one transaction: what is looked at is how they are read."""
    with store.writing() as connection:
        for number in range(sessions):
            runs = [
                _of_night(number, cell, factor(number, cell), facts(number))
                for cell in range(cells)
            ]
            begun = {"started_at": runs[0].started_at, "host": runs[0].host}
            one = session(nightly_id(number), status="ok", **begun)
            env = env_row(one.host)
            connection.insert_missing("env", env)
            connection.insert("session", session_row(one))
            connection.insert("run", *(run_row(run, env["digest"]) for run in runs))
            figures = (row for run in runs for row in figure_rows(run))
            connection.insert("figure", *figures)


def _of_night(number, cell, factor, facts):
    base = _of_cell(cell)
    identity = {"model": "M", "serial": "S1"} | facts.get("identity", {})
    version = {"version": facts.get("version", "1")}
    return at_rate(
        base,
        100_000 * factor,
        factor,
        session=nightly_id(number),
        started_at=(BEGAN + timedelta(days=number)).isoformat(),
        ioplan=facts.get("ioplan", "1.0"),
        host=HOST | {"hostname": "host-a"} | facts.get("host", {}),
        target=base.target | {"identity": identity},
        backend=base.backend.model_copy(update=version),
    )


@cache
def _of_cell(cell):
    return record(cell + 1, cell={"qd": str(2**cell)})
