"""A session in which some cells failed: one before any I/O, one in the middle."""

from __future__ import annotations

from run_data import record, run, session

from ioplan.records import RunDetail
from ioplan.results.store import Store

QDS = ("1", "2", "4", "8")
STOPPED, GONE = "2", "8"
"""The queue depths that failed: after half of the I/O, and without any."""
TEST = "demo"


def add_failed_cells(store: Store, id: str = session().id) -> None:
    """A sweep of the queue depth in a session that has begun."""
    for seq, qd in enumerate(QDS, start=1):
        if qd == GONE:
            nothing = record(seq).total.model_copy(
                update={"ios": 0, "bytes": 0, "iops": 0.0, "latency": None}
            )
            made = record(
                seq,
                session=id,
                cell={"qd": qd},
                status="failed",
                message="the drive is gone",
                total=nothing,
                directions={},
                streams=(),
            )
            store.add(made, RunDetail())
        else:
            status = "failed" if qd == STOPPED else "ok"
            message = "EIO" if qd == STOPPED else ""
            more = {"status": status, "message": message, "cell": {"qd": qd}}
            store.add(*run(seq, session=id, **more))
