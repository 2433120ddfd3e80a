"""`/metrics`, read by Prometheus's own parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from desks import by_token, client, desk_in
from prometheus_client.parser import text_string_to_metric_families
from run_data import measurement, record, session

from ioplan.results.store import Delivery, Store, push
from ioplan_lab import (
    Drives,
    Job,
    Jobs,
    LaneCall,
    LaneState,
    Priority,
    QueueEntry,
    stamp,
)
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.desk.metrics.families import DeskNow, families
from ioplan_lab.desk.running import Running, undelivered_runs, unstored

LAB = '[targets."d1"]\npath = "/dev/x"\n[targets."d2"]\npath = "/dev/y"\n'


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Values by the name and the labels' values."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_a_desk_tells(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    with desk_in(tmp_path, lab) as desk:
        for priority in (Priority.HIGH, Priority.NORMAL, Priority.NORMAL):
            wanted = QueueEntry(
                "ada", 'p"\n', {"p": ""}, "d1", ("d1",), priority=priority
            )
            desk.queue.add(wanted)
        assert desk.queue.take("desk")
        Drives(desk.database).take_out(["d2"], "ada", "smoke")
        assert client(desk).get("/metrics").status_code == 303
        answer = by_token(desk, "viewer").get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=")
    found = samples(answer.text)
    assert found["ioplan_queue_length", "normal"] == 2
    assert found["ioplan_queue_length", "high"] == 0
    assert found["ioplan_jobs", "starting"] == 1
    assert found["ioplan_sessions", "running"] == 0
    assert found["ioplan_drive_state", "d1", "", "busy"] == 1
    assert found["ioplan_drive_state", "d1", "", "free"] == 0
    assert found["ioplan_drive_state", "d2", "", "out of service"] == 1
    assert 0 <= found["ioplan_queue_oldest_seconds",] < 60


def lane(target: str, **more: Any) -> LaneState:
    return LaneState(job="j", session=f"j-{target}", target=target, host="h1", **more)


def test_figures_of_lanes_are_in_base_units_and_only_where_known() -> None:
    lanes = [
        lane("a", status="running", iops=12.5, p99_ns=250_000.0, done=0.5),
        lane("b", status="running", temperature_celsius=61.0),
        lane("c", status="ok", iops=9.0, done=1.0),
    ]
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(DeskNow(stamp(), "1", lanes=lanes))
        for sample in family.samples
    }
    assert found["ioplan_lane_iops", "j", "a", "h1"] == 12.5
    assert found["ioplan_lane_p99_latency_seconds", "j", "a", "h1"] == 250e-6
    assert found["ioplan_lane_temperature_celsius", "j", "b", "h1"] == 61
    assert found["ioplan_lane_done_ratio", "j", "a", "h1"] == 0.5
    assert ("ioplan_lane_iops", "j", "b", "h1") not in found
    assert ("ioplan_lane_iops", "j", "c", "h1") not in found
    assert found["ioplan_lanes", "running"] == 2 and found["ioplan_lanes", "ok"] == 1
    assert found["ioplan_lanes", "died"] == 0


def test_what_is_undelivered_is_what_the_database_lacks_now(tmp_path: Path) -> None:
    """Also after it was restored from a time before; no host is asked."""
    store, shared = tmp_path / "results.db", tmp_path / "shared.db"
    call = LaneCall(
        job="j", session="j-1", target="t", host="h1", plan="p", files={}, lab=""
    )
    ended = lane("t", status="ok", runs=1).model_copy(update={"session": "j-1"})
    job = Job(id="j", plan="p", where="t", results=str(shared), calls=(call,))
    Jobs(store).keep(job.model_copy(update={"known": {"j-1": ended}}))

    def undelivered() -> dict[str, int]:
        (found,) = Running(store, no_executor).now()
        return found.undelivered

    with Store.open(store) as local:
        local.begin(session(id="j-1"))
        made = measurement()
        local.add(record(1, session="j-1", made=made), made.detail)
        local.finish("j-1", "ok", "2026-11-25T10:00:00+00:00")
        assert undelivered() == {"h1": 1}
        with Store.open(shared) as there:
            list(push(local, there))
        assert undelivered() == {}
        shared.unlink()
        assert undelivered() == {"h1": 1}


def no_executor(job: Job) -> Executor:
    raise AssertionError(job.id)


def test_runs_that_the_labs_database_does_not_have() -> None:
    def call(number: int, host: str) -> LaneCall:
        text = {"plan": "p", "files": {}, "lab": ""}
        return LaneCall(job="j", session=f"j-{number}", target="t", host=host, **text)

    hosts = ("h1", "h1", "h2", "h3", "h4")
    calls = tuple(call(number, host) for number, host in enumerate(hosts))
    known = {
        one.session: lane("t", status=status, runs=4)
        for one, status in zip(calls, ("ok", "ok", "died", "running"), strict=False)
    }
    known = {key: one.model_copy(update={"session": key}) for key, one in known.items()}
    deliveries = {
        "j-0": Delivery(done=True, runs=4, stored=4),
        "j-1": Delivery(runs=6, stored=1),
    }
    job = Job(id="j", plan="p", where="all", calls=calls, known=known)
    assert undelivered_runs(job) == {}, "the lab has no database"
    there = {"results": "postgresql://x/y", "deliveries": deliveries}
    job = job.model_copy(update=there)
    assert undelivered_runs(job) == {"h1": 5, "h2": 4}
    assert [one.session for one in unstored(job)] == ["j-1", "j-2"]
    now = DeskNow(stamp(), "1", undelivered=undelivered_runs(job))
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(now)
        for sample in family.samples
    }
    assert found["ioplan_undelivered_runs", "h1"] == 5
