"""`/metrics` of a desk, in the text that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from ioplan.core import __version__
from ioplan_lab.desk.database import stamp
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.hooks.hooks import Hooks
from ioplan_lab.desk.metrics.families import DeskNow, families

__all__ = ["CONTENT_TYPE_LATEST", "exposition"]


class _Now(Collector):
    """A moment, for a registry that is asked once."""

    def __init__(self, now: DeskNow) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        return families(self.now)


def exposition(desk: Desk) -> bytes:
    """The text. Raises StoreError, LabError."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Now(desk_now(desk)))
    return generate_latest(registry)


def desk_now(desk: Desk) -> DeskNow:
    """What the desk sees now. Raises StoreError, LabError."""
    jobs = desk.jobs_now()
    undelivered: Counter[str] = Counter()
    for one in jobs:
        undelivered.update(one.undelivered)
    return DeskNow(
        at=stamp(),
        version=__version__,
        waiting=desk.queue.waiting(),
        held=desk.queue.held(),
        lanes=[s for one in jobs if not one.ended for s in one.states],
        drives=desk.drives(),
        sessions=desk.store.status_counts(),
        undelivered=undelivered,
        deliveries=Hooks(desk.database).states(),
    )
