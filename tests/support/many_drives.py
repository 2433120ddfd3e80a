"""Sessions of the same sweep on many drives; one is far slower than the others."""

from __future__ import annotations

from functools import cache
from typing import Any

from run_data import counts, latencies_ns, progress, record, result, session, stream

from ioplan.records import RunDetail, Verdict
from ioplan.results.measure import Measurement
from ioplan.results.store import Store

QDS = ("1", "2", "4", "8")
SLOW = 7
"""The number of the drive that is far from all others."""
LEAST_IOPS = 90_000


@cache
def _made() -> Any:
    reads = stream(read=counts(latencies_ns(1, 40)))
    made = Measurement()
    made.add(progress(1, reads))
    made.add(result(1, reads))
    return made


def iops(number: int, qd: str) -> float:
    """Close to 100k for each outstanding I/O, but for the slow drive."""
    return int(qd) * (100_000 + 100 * (number % 9)) / (5 if number == SLOW else 1)


def add_many_drives(store: Store, count: int) -> list[str]:
    """The sessions' ids, in the order of their drives."""
    ids = [f"20261121-0545{n // 60:02}-k{n:03}" for n in range(count)]
    for number, id in enumerate(ids):
        store.begin(session(id=id, target=f"/dev/sim{number}"))
        for seq, qd in enumerate(QDS, start=1):
            store.add(_record(number, id, seq, qd), RunDetail())
        store.finish(id, "ok", "2026-11-21T05:46:12Z")
    return ids


def _record(number: int, id: str, seq: int, qd: str) -> Any:
    made = record(seq, session=id, made=_made(), cell={"qd": qd})
    rate = iops(number, qd)
    identity = {"model": f"Drive {number:02}", "firmware": f"F{number % 2}"}
    verdict = Verdict(
        expectation=f"expect iops > {LEAST_IOPS:_}",
        outcome="held" if rate > LEAST_IOPS else "failed",
        actual=rate,
        limit=LEAST_IOPS,
        unit="1/s",
    )
    ios = {"ios": round(rate * made.run_s), "iops": rate}
    directions = {"read": made.directions["read"].model_copy(update=ios)}
    total = made.total.model_copy(update=ios)
    target = {**made.target, "identity": identity}
    changed = {
        "total": total,
        "directions": directions,
        "target": target,
        "verdicts": (verdict,),
    }
    return made.model_copy(update=changed)
