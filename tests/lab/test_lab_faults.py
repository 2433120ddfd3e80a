"""What is killed or away while a job runs: each cell is stored once, and `status` counts
what the database has."""

import subprocess
import time

import pytest
from lab_faults import FAULTS, pids, tried
from postgres import NEEDS_POSTGRES
from sessions import TABLES_OF_SESSIONS
from small_lab import IOPLAN, each_once, small_lab

pytestmark = [*NEEDS_POSTGRES, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with small_lab(tmp_path_factory.mktemp("lab"), backend="io_uring") as made:
        yield made


QUICK = ("drive jobs killed",)
HERE = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.long)
    for name, fault in FAULTS.items()
    if not fault.needs
]


@pytest.mark.parametrize("name", HERE)
@pytest.mark.promise("labs.faults")
def test_each_cell_is_stored_once(lab, name):
    row = tried(lab, FAULTS[name], 120)
    assert row.away or not name.endswith("6 s"), row
    print(f"{name}: {row}")


@pytest.mark.long
@pytest.mark.promise("exit_codes.lanes")
def test_killed_again_and_again_it_is_given_up_and_resumed(lab):
    job = lab.submit("3s")
    lab.wait(lambda: (kill_all(lab), lab.statuses(job) == {"died"})[1])
    done = lab.ada.ioplan("lab", "status", job)
    assert done.code == 3
    assert lab.ada.ioplan("resume", job).code == 0
    assert lab.all_stored(job)
    each_once(lab, job, 8)
    assert "has ended already" in lab.ada.ok("lab", "cancel", job)


RESTORED = f"""
{"".join(f"DELETE FROM {name} WHERE session LIKE 'JOB%';" for name in TABLES_OF_SESSIONS)}
DELETE FROM session WHERE job = 'JOB';
DELETE FROM queue.procrastinate_jobs WHERE args->>'session' LIKE 'JOB%';
DELETE FROM lab.drive_job WHERE job = 'JOB';
DELETE FROM lab.job WHERE id = 'JOB'"""


@pytest.mark.long
def test_what_a_restored_database_has_lost_comes_back(lab):
    """A backup of before the job: its hosts have it, and say in whose name."""
    job = lab.submit("1s")
    queued = f"""SELECT count(*) FROM queue.procrastinate_jobs
        WHERE status = 'succeeded' AND args->>'session' LIKE '{job}%'"""
    lab.wait(lambda: lab.all_stored(job) and lab.value(queued) == 2)
    lab.execute(RESTORED.replace("JOB", job))
    print(f"complete after {lab.wait(lambda: lab.all_stored(job, 2), 180):.0f} s")
    each_once(lab, job, 8)
    person = lab.value(f"SELECT person FROM lab.job WHERE id = '{job}'")
    assert person in ("ada@h1", "ada@h2")
    assert "of ada@h" in lab.bob.ok("lab", "status", job)
    assert lab.ada.ioplan("lab", "cancel", job).code == 2
    query = f"SELECT DISTINCT person FROM session WHERE job = '{job}' ORDER BY 1"
    assert lab.rows(query) == [("ada@h1",), ("ada@h2",)]


@pytest.mark.long
def test_a_job_that_a_host_has_begun_itself_is_shown(lab):
    """Its drives are busy for everybody, and its records have the host's clock."""
    words = ("run", lab.plan("5s"), "--target", "d1", "--target", "d2")
    out = lab.hosts["h1"].ok(*words, "--create", "16MiB", "--detach")
    job = out.split()[1].rstrip(":")
    busy = f"SELECT count(*) FROM lab.v_drive WHERE busy_session LIKE '{job}%'"
    lab.wait(lambda: lab.value(busy) == 2)
    assert lab.value(f"SELECT person FROM lab.job WHERE id = '{job}'").endswith("@h1")
    assert lab.ada.ok("lab", "drives", "--on", "host h1").count(f"{job}-00") == 2
    lab.wait(lambda: lab.all_stored(job))
    each_once(lab, job, 8)
    clocks = f"""SELECT (extras::jsonb->'clock'->>'offset_ns')::bigint FROM run
        JOIN session s ON s.id = session WHERE s.job = '{job}'"""
    assert all(abs(offset) < 10**9 for (offset,) in lab.rows(clocks))


@pytest.mark.long
def test_a_forged_notification_only_wakes_a_worker(lab):
    """Any role may NOTIFY; Procrastinate would abort the job, and end at no JSON."""
    job = lab.submit("2s")
    lab.wait(lambda: lab.statuses(job) == {"running"})
    before = pids(lab)
    query = f"SELECT host, queue_job FROM lab.drive_job WHERE job = '{job}'"
    for host, number in lab.rows(query):
        abort = f'{{"type": "abort_job_requested", "job_id": {number}}}'
        for payload in (abort, "no JSON", "{}"):
            channel = f"procrastinate_queue_v1#{host}"
            lab.rows(f"SELECT pg_notify('{channel}', '{payload}')", "person_bob")
    time.sleep(1)
    assert pids(lab) == before
    assert all(
        host.worker and host.worker.poll() is None for host in lab.hosts.values()
    )
    lab.wait(lambda: lab.all_stored(job))


def kill_all(lab):
    for host in lab.hosts.values():
        host.kill_drive_jobs()


@pytest.mark.promise("exit_codes.lanes")
def test_cancelled_by_its_person(lab):
    job = lab.submit("20s")
    lab.wait(lambda: lab.statuses(job) == {"running"})
    refused = lab.bob.ioplan("lab", "cancel", job)
    assert refused.code == 2
    assert "is a job of ada" in refused.err
    assert "2 drive jobs" in lab.ada.ok("lab", "cancel", job)
    lab.wait(lambda: lab.statuses(job) == {"stopped"})
    assert not pids(lab)
    assert lab.ada.ioplan("lab", "status", job).code == 130


@pytest.mark.long
def test_drives_of_one_run_are_one_drive_job(lab):
    """It waits for another's use of any of them."""
    other = lab.submit("2s", on="drive d2, host h1")
    plan = lab.folder / "joined.ioplan"
    plan.write_text('test "J" {\n  run random 4KiB 100/0, qd 4 over all for 2s\n}\n')
    lab.ada.ok("run", plan, "--on", "host h1", "--create", "16MiB", "--detach")
    job = str(lab.value("SELECT max(id) FROM lab.job"))
    lab.wait(lambda: lab.all_stored(job))
    assert lab.rows(f"SELECT drives FROM lab.drive_job WHERE job = '{job}'") == [
        (["d1", "d2"],)
    ]
    order = (
        f"SELECT job FROM session WHERE job IN ('{job}', '{other}') ORDER BY started_at"
    )
    assert [row[0] for row in lab.rows(order)] == [other, job]


def test_a_plain_run_of_a_host_makes_its_drive_busy_and_can_be_cancelled(lab):
    words = ["run", str(lab.plan("20s")), "--target", "d2", "--create", "16MiB", "-q"]
    run = subprocess.Popen([*IOPLAN, *words], env=lab.hosts["h1"].env)
    busy = "SELECT busy_session FROM lab.v_drive WHERE host = 'h1' AND name = 'd2'"
    lab.wait(lambda: lab.value(busy) is not None)
    session = str(lab.value(busy))
    query = f"SELECT person FROM lab.job WHERE id = '{session}'"
    assert lab.value(query).endswith("@h1")
    assert lab.ada.ioplan("lab", "cancel", session).code == 2
    lab.root.ok("lab", "cancel", session)
    assert run.wait(60) == 130
    lab.wait(lambda: lab.value(busy) is None and lab.statuses(session) == {"stopped"})
    assert not list(lab.hosts["h1"].folder.glob("drive-jobs/plain/*"))
