"""Pictures of the runs in a store, for the tests of the report."""

from __future__ import annotations

from typing import Any

from run_data import (
    session,
)

from ioplan.language import Test
from ioplan.language.plan import Chart
from ioplan.records import Interval
from ioplan.results.report import (
    ChartSpec,
    Document,
    Reader,
    Request,
    chart,
    document,
    pictures,
    points,
    renderer,
)
from ioplan.results.store import Store

ID = session().id


def drawn(store: Store, kind: str, by: tuple[str, ...] = (), **more: Any) -> ChartSpec:
    """The first picture of a chart of all runs."""
    runs = points({"A": list(store.records(ID))})
    request = Request(
        chart(kind, more.get("metrics", ("iops",)), by), runs, Reader(store)
    )
    return next(iter(renderer(request.chart)(request)))


def column(picture: ChartSpec, key: str) -> list[Any]:
    at = [c.key for c in picture.frame.columns].index(key)
    return [row[at] for row in picture.frame.rows]


def interval(t_s: float, ios: int, length_s: float = 1.0) -> Interval:
    return Interval(
        t_s=t_s,
        length_s=length_s,
        ios={"write": ios},
        bytes={"write": ios * 4096},
        errors=0,
        mean_ns=100.0,
        p50_ns=90.0,
        p99_ns=200.0,
        p99_9_ns=300.0,
        max_ns=400,
    )


def asked_for(store: Store, one: Chart) -> list[ChartSpec]:
    """The pictures of one chart of all runs."""
    test = Test(title="demo", charts=(one,), axes=())
    runs = points({"A": list(store.records(ID))})
    return list(pictures(test, runs, Reader(store)))


def composed(store: Store) -> Document:
    sessions = [store.session(ID)]
    return document(store, sessions, {}, "Made in a test")
