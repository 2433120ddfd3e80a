"""What Prometheus is told of a desk: names, units and labels stay.

Units are Prometheus's base units: seconds, ratios from 0 to 1, I/Os per second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, get_args

from msgspec import Struct
from prometheus_client.core import GaugeMetricFamily, Metric

from ioplan.records import SessionStatus
from ioplan_lab.cluster.jobs.lane import LaneState, LaneStatus
from ioplan_lab.desk.queue.decide import Decision
from ioplan_lab.desk.queue.drives import DriveState
from ioplan_lab.desk.queue.entry import HOLDING, Entry, Priority
from ioplan_lab.desk.queue.overview import DriveRow

LANE = ("job", "target", "host")
DELIVERIES = ("waiting", "delivered", "given up")


class DeskNow(Struct, frozen=True):
    """All that is told, at one moment: UTC, ISO 8601."""

    at: str
    version: str
    waiting: Sequence[Decision] = ()
    held: Sequence[Entry] = ()
    lanes: Sequence[LaneState] = ()
    drives: Sequence[DriveRow] = ()
    sessions: dict[str, int] = {}
    deliveries: dict[str, int] = {}
    undelivered: dict[str, int] = {}


def families(now: DeskNow) -> Iterator[Metric]:
    """Each metric with its samples."""
    yield _gauge(
        "ioplan_desk_info", "The desk's version.", [((now.version,), 1)], "version"
    )
    yield from _queue(now)
    yield from _lanes(now.lanes)
    yield from _drives(now.drives)
    yield _counts(
        "ioplan_sessions",
        "Sessions in the results, by status.",
        "status",
        get_args(SessionStatus),
        now.sessions,
    )
    yield _counts(
        "ioplan_undelivered_runs",
        "Runs of jobs that the lab's database does not have yet, by host.",
        "host",
        (),
        now.undelivered,
    )
    yield _counts(
        "ioplan_hook_deliveries",
        "Deliveries of web hooks of the last 30 days, by state.",
        "state",
        DELIVERIES,
        now.deliveries,
    )


def _queue(now: DeskNow) -> Iterator[Metric]:
    by_priority = Counter(one.entry.priority.word for one in now.waiting)
    yield _counts(
        "ioplan_queue_length",
        "Waiting plans, by priority.",
        "priority",
        [one.word for one in Priority],
        by_priority,
    )
    oldest = min((one.entry.added_at for one in now.waiting), default=now.at)
    waited_s = _moment(now.at) - _moment(oldest)
    yield _gauge(
        "ioplan_queue_oldest_seconds",
        "Time that the oldest plan has waited.",
        [((), max(0.0, waited_s))],
    )
    yield _counts(
        "ioplan_jobs",
        "Jobs of the queue that have started and not ended, by state.",
        "state",
        HOLDING,
        Counter(one.state for one in now.held),
    )


def _lanes(lanes: Sequence[LaneState]) -> Iterator[Metric]:
    """Lanes of jobs that go on; figures only of those that report them."""
    yield _counts(
        "ioplan_lanes",
        "Lanes of running jobs, by status.",
        "status",
        get_args(LaneStatus),
        Counter(one.status for one in lanes),
    )
    running = [one for one in lanes if one.status == "running"]
    for name, text, field, scale in (
        ("ioplan_lane_iops", "I/Os per second now.", "iops", 1.0),
        (
            "ioplan_lane_p99_latency_seconds",
            "99th percentile of the latency now.",
            "p99_ns",
            1e-9,
        ),
        (
            "ioplan_lane_temperature_celsius",
            "Temperature of the drive.",
            "temperature_celsius",
            1.0,
        ),
        ("ioplan_lane_done_ratio", "Part of the plan that is done.", "done", 1.0),
        ("ioplan_lane_left_seconds", "Estimated time left.", "left_s", 1.0),
    ):
        found = [(one, getattr(one, field)) for one in running]
        samples = [
            ((one.job, one.target, one.host), value * scale)
            for one, value in found
            if value is not None
        ]
        yield _gauge(name, text, samples, *LANE)


def _drives(drives: Sequence[DriveRow]) -> Iterator[Metric]:
    """Each drive is in one state, whose sample is 1; the others are 0."""
    samples = [
        ((one.drive, one.host, state), float(one.state == state))
        for one in drives
        for state in get_args(DriveState)
    ]
    text = "1 for the state that the lab's drive is in."
    yield _gauge("ioplan_drive_state", text, samples, "drive", "host", "state")


def _counts(
    name: str, text: str, label: str, known: Iterable[str], counts: dict[str, Any]
) -> Metric:
    """A sample for each known value, also where there is none of it."""
    values = dict.fromkeys(known, 0) | dict(counts)
    return _gauge(name, text, [((one,), many) for one, many in values.items()], label)


def _gauge(
    name: str, text: str, samples: Iterable[tuple[Sequence[str], float]], *labels: str
) -> Metric:
    made = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        made.add_metric(values, value)
    return made


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
