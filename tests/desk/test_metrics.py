"""`/metrics`, read by Prometheus's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import by_token, call_of, client, desk_in, state_of
from figures import measurement, record
from prometheus_client.parser import text_string_to_metric_families
from sessions import session

from ioplan.results.store import Delivery, Store, push
from ioplan_lab import Desk, Drives, Job, JobNow, Jobs, Priority, QueueEntry

LAB = '[targets."d1"]\npath = "/dev/x"\n[targets."d2"]\npath = "/dev/y"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    with desk_in(tmp_path, lab) as made:
        yield made


def samples(desk: Desk) -> dict[tuple[str, ...], float]:
    """Values by the name and the labels' values."""
    answer = by_token(desk, "viewer").get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_queue_jobs_and_drives(desk: Desk) -> None:
    for priority in (Priority.HIGH, Priority.NORMAL, Priority.NORMAL):
        wanted = QueueEntry("ada", 'p"\n', {"p": ""}, "d1", ("d1",), priority=priority)
        desk.queue.add(wanted)
    assert desk.queue.take("desk")
    Drives(desk.database).take_out(["d2"], "ada", "smoke")
    assert client(desk).get("/metrics").status_code == 303
    found = samples(desk)
    assert found["ioplan_queue_length", "normal"] == 2
    assert found["ioplan_queue_length", "high"] == 0
    assert found["ioplan_jobs", "starting"] == 1
    assert found["ioplan_sessions", "running"] == 0
    assert found["ioplan_drive_state", "d1", "", "busy"] == 1
    assert found["ioplan_drive_state", "d1", "", "free"] == 0
    assert found["ioplan_drive_state", "d2", "", "out of service"] == 1
    assert 0 <= found["ioplan_queue_oldest_seconds",] < 60


def test_figures_of_lanes_are_in_base_units_and_only_where_known(desk: Desk) -> None:
    known = [
        {"status": "running", "iops": 12.5, "p99_ns": 250_000.0, "done": 0.5},
        {"status": "running", "temperature_celsius": 61.0},
        {"status": "ok", "iops": 9.0, "done": 1.0},
    ]
    calls = [call_of(number) for number in (1, 2, 3)]
    desk.inventory.report(
        [(one, state_of(one, **more)) for one, more in zip(calls, known, strict=True)]
    )
    found, job = samples(desk), calls[0].job
    assert found["ioplan_lane_iops", "h1", job, "d1"] == 12.5
    assert found["ioplan_lane_p99_latency_seconds", "h1", job, "d1"] == 250e-6
    assert found["ioplan_lane_temperature_celsius", "h1", job, "d2"] == 61
    assert found["ioplan_lane_done_ratio", "h1", job, "d1"] == 0.5
    assert ("ioplan_lane_iops", "h1", job, "d2") not in found
    assert ("ioplan_lane_iops", "h1", job, "d3") not in found
    assert found["ioplan_lanes", "running"] == 2 and found["ioplan_lanes", "died"] == 0


def undelivered(folder: Path) -> dict[str, float]:
    """By host, as a desk says that has just begun."""
    with desk_in(folder) as desk:
        found, name = samples(desk), "ioplan_undelivered_runs"
    return {key[1]: one for key, one in found.items() if key[0] == name}


def test_what_is_undelivered_is_what_the_database_lacks_now(tmp_path: Path) -> None:
    """Also after it was restored from a time before; no host is asked."""
    store, shared = tmp_path / "results.db", tmp_path / "shared.db"
    call = call_of(1)
    ended = state_of(call, status="ok", runs=1)
    job = Job(id=call.job, plan="p", where="t", results=str(shared), calls=(call,))
    Jobs(store).keep(job.model_copy(update={"known": {call.session: ended}}))
    with Store.open(store) as local:
        local.begin(session(id=call.session))
        made = measurement()
        local.add(record(1, session=call.session, made=made), made.detail)
        local.finish(call.session, "ok", "2026-11-25T10:00:00+00:00")
        assert undelivered(tmp_path) == {"h1": 1}
        with Store.open(shared) as there:
            list(push(local, there))
        assert undelivered(tmp_path) == {}
        shared.unlink()
        assert undelivered(tmp_path) == {"h1": 1}


def test_runs_that_the_labs_database_does_not_have() -> None:
    """As hosts said last; a lane that goes on has nothing to deliver yet."""
    hosts, states = ("h1", "h1", "h2", "h3", "h4"), ("ok", "ok", "died", "running")
    calls = tuple(call_of(n, host=host) for n, host in enumerate(hosts))
    known = {
        one.session: state_of(one, status=status, runs=4)
        for one, status in zip(calls, states, strict=False)
    }
    deliveries = {
        calls[0].session: Delivery(done=True, runs=4, stored=4),
        calls[1].session: Delivery(runs=6, stored=1),
    }
    job = Job(id=calls[0].job, plan="p", where="all", calls=calls, known=known)
    assert JobNow(job, ()).undelivered == {}, "the lab has no database"
    there = {"results": "postgresql://x/y", "deliveries": deliveries}
    assert JobNow(job.model_copy(update=there), ()).undelivered == {"h1": 5, "h2": 4}
