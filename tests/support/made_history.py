"""Stores with many sessions of the same runs, whose figures are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from run_data import HOST, record, session

from ioplan.records import RunRecord
from ioplan.results.store import Store
from ioplan.results.store.layout.tables import insert, insert_missing
from ioplan.results.store.rows import env_row, run_row, session_row

BEGAN = datetime(2026, 1, 1, 6, tzinfo=UTC)
IOPS = 100_000.0
SIZE_BYTES = 4096
RUN_S = 3.0

Factor = Callable[[int, int], float]
"""Of a session and a cell: how its IOPS relate to the usual ones."""
Facts = Callable[[int], dict[str, Any]]


def session_id(number: int) -> str:
    at = BEGAN + timedelta(days=number)
    return f"{at:%Y%m%d-%H%M%S}-aaaa"


def made_records(
    number: int, cells: int, factor: Factor, facts: Facts
) -> Iterable[Any]:
    """The runs of one session; `facts` has host, identity, backend and ioplan."""
    known = {"host": {}, "identity": {}, "version": "1", "ioplan": "1.0"} | facts(
        number
    )
    at = (BEGAN + timedelta(days=number)).isoformat()
    for cell in range(cells):
        base = _base(cell)
        yield base.model_copy(
            update={
                "session": session_id(number),
                "started_at": at,
                "ioplan": known["ioplan"],
                "host": HOST | {"hostname": "host-a"} | known["host"],
                "target": base.target
                | {"identity": {"model": "M", "serial": "S1"} | known["identity"]},
                "backend": base.backend.model_copy(
                    update={"version": known["version"]}
                ),
                **_figures(base, factor(number, cell)),
            }
        )


_known: dict[int, RunRecord] = {}


def _base(cell: int) -> RunRecord:
    if cell not in _known:
        _known[cell] = record(cell + 1, cell={"qd": str(2**cell)})
    return _known[cell]


def _figures(base: RunRecord, factor: float) -> dict[str, Any]:
    """Figures that agree with each other as far as a history looks."""
    ios = round(IOPS * factor * base.run_s)
    latency = base.total.latency
    assert latency
    scaled = latency.model_copy(
        update={
            "mean_ns": latency.mean_ns / factor,
            "percentiles": tuple(
                one.model_copy(
                    update={"latency_ns": one.latency_ns / factor, "supported": True}
                )
                for one in latency.percentiles
            ),
        }
    )
    more = {
        "ios": ios,
        "bytes": ios * SIZE_BYTES,
        "iops": ios / base.run_s,
        "bandwidth_bytes_per_s": ios * SIZE_BYTES / base.run_s,
        "latency": scaled,
    }
    total = base.total.model_copy(update=more)
    return {"total": total, "directions": {"read": total}}


def fill(
    store: Store,
    sessions: int,
    cells: int,
    factor: Factor,
    facts: Facts = lambda _: {},
) -> None:
    """Add sessions in one transaction: what is looked at is how they are read."""
    with store.writing() as connection:
        for number in range(sessions):
            runs = list(made_records(number, cells, factor, facts))
            one = session(session_id(number)).model_copy(
                update={
                    "started_at": runs[0].started_at,
                    "status": "ok",
                    "host": runs[0].host,
                }
            )
            insert_missing(connection, "env", env_row(one.host))
            insert(connection, "session", session_row(one))
            env = env_row(runs[0].host)["digest"]
            insert(connection, "run", *(run_row(run, env) for run in runs))
