"""Commands of the lab, as people call them."""

import json

import pytest
from postgres import NEEDS_POSTGRES
from small_lab import each_once, small_lab

from ioplan.cli import UsageError
from ioplan_lab import selection

pytestmark = NEEDS_POSTGRES
WRITES = 'test "W" {\n  run random 4KiB 0/100 for 1s\n}\n'
JOINED = 'test "J" {\n  run random 4KiB 100/0, qd 4 over all for 1s\n}\n'
UNMET = 'test "U" {\n  run random 4KiB 100/0 for 1s\n  expect iops > 100_000_000\n}\n'


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with small_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


def plan(folder, text):
    file = folder / "p.ioplan"
    file.write_text(text)
    return file


def run(lab, text, on, *words, person="ada"):
    file = plan(lab.folder, text)
    call = ("run", file, "--on", on, "--create", "16MiB", *words)
    return getattr(lab, person).ioplan(*call)


READS = WRITES.replace("0/100", "100/0")


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("text", "on", "code", "told"),
    [
        (READS, "drive d1, host h1", 0, "1 of 1 runs stored"),
        (READS, "2 x drive d*, host h2", 0, "2 of 2 runs stored"),
        (WRITES, "drive d1", 0, "2 of 2 runs stored"),
        (UNMET, "drive d1, host h1", 1, "unmet"),
    ],
    ids=["one", "two of a host", "writes", "unmet"],
)
@pytest.mark.promise("exit_codes.lanes")
def test_run_on_drives(lab, text, on, code, told):
    done = run(lab, text, on)
    assert done.code == code, done
    assert told in done.out
    assert set(lab.cells(str(lab.value("SELECT max(id) FROM lab.job")))) == {1}


@pytest.mark.parametrize(
    ("on", "words", "told"),
    [
        ("9 x drive d1", (), "9 wanted, 2 drives match, 2 of them can be taken"),
        ("drive nvme*", (), "of drives there are: d1, d2"),
        ("life < 20 %", (), "the life of 4 drives is not known"),
        ("drive d1", ("--target", "d1"), "use --target or --on, not both"),
        ("drive d1", ("--baseline", "last"), "are for one target of this host"),
    ],
)
def test_run_on_is_refused(lab, on, words, told):
    done = run(lab, READS, on, *words)
    assert done.code == 2
    assert told in done.err.replace("\n", " ")


def test_a_joined_plan_is_of_one_host(lab):
    done = run(lab, JOINED, "drive d1")
    assert done.code == 2
    assert "are of several hosts: h1, h2" in done.err.replace("\n", " ")


def test_a_drive_that_is_not_writable_is_refused_before_it_is_submitted(lab):
    lab.execute("UPDATE lab.drive SET writable = false, reason = 'it is mounted'")
    try:
        done = run(lab, WRITES, "drive d1, host h1")
        assert done.code == 2
        assert "h1/d1 may not be written to: it is mounted" in done.err
    finally:
        lab.execute("UPDATE lab.drive SET writable = true, reason = ''")


@pytest.mark.long
def test_others_wait_for_a_reserved_drive(lab):
    lab.bob.ok("lab", "reserve", "h1/d2", "--until", "3d", "--why", "firmware")
    assert "bob until" in lab.ada.ok("lab", "drives")
    refused = lab.ada.ioplan("lab", "reserve", "h1/d2", "--until", "1d")
    assert "h1 is reserved by bob until" in refused.err.replace("\n", " ")
    assert run(lab, READS, "1 x drive d2, host h1").code == 2
    assert run(lab, READS, "drive d2, host h1", "--detach").code == 0
    job = str(lab.value("SELECT max(id) FROM lab.job"))
    assert "waiting" in lab.ada.ok("lab", "status", job)
    assert run(lab, READS, "drive d2, host h1", person="bob").code == 0
    assert lab.statuses(job) == {"waiting"}
    assert "released" in lab.bob.ok("lab", "reserve", "h1/d2", "--release")
    lab.wait(lambda: lab.all_stored(job))


@pytest.mark.long
def test_a_tag_permits_its_people_alone(lab):
    assert "qual" in lab.root.ok("lab", "reserve", "h2/d2", "--tag", "qual")
    lab.execute("INSERT INTO lab.permission VALUES ('qual', 'bob')")
    done = run(lab, READS, "tag qual")
    assert done.code == 2
    assert "has the tag qual, which is for bob" in done.err.replace("\n", " ")
    assert run(lab, READS, "tag qual", person="bob").code == 0
    assert "no tag" in lab.root.ok("lab", "reserve", "h2/d2", "--untag", "qual")


@pytest.mark.long
def test_nothing_is_started_out_of_service(lab):
    words = ("lab", "reserve", "h2/d2", "--out-of-service", "media errors")
    assert lab.ada.ioplan(*words).code == 2
    lab.root.ok(*words)
    assert "media errors" in run(lab, READS, "drive d2, host h2").err
    lab.root.ok("lab", "reserve", "h2/d2", "--in-service")
    assert run(lab, READS, "drive d2, host h2").code == 0


def test_a_host_does_nothing_that_it_does_not_know(lab):
    """A newer ioplan asks for what this host cannot."""
    lab.execute("ALTER TABLE lab.job DISABLE TRIGGER ALL")
    run(lab, READS, "drive d1, host h1", "--detach")
    for change in ("schema_version = 99", "request = '{\"magic\": true}'"):
        lab.execute(
            f"""UPDATE lab.job SET id = id, {change}
                WHERE id = (SELECT max(id) FROM lab.job)"""
        )
        job = str(lab.value("SELECT max(id) FROM lab.job"))
        lab.execute(
            f"SELECT lab.enqueue(session) FROM lab.drive_job WHERE job = '{job}'"
        )
        lab.wait(lambda job=job: bool({"refused", "ok"} & lab.statuses(job)))
        lab.execute(f"UPDATE lab.drive_job SET round = round + 1 WHERE job = '{job}'")
        lab.execute(
            f"SELECT lab.enqueue(session) FROM lab.drive_job WHERE job = '{job}'"
        )
        lab.wait(lambda job=job: lab.statuses(job) == {"refused"})
        assert lab.ada.ioplan("lab", "status", job).code == 2


OTHER_LAB = """SELECT lab.submit(jsonb_build_object('id', 'ID', 'title', '', 'plan', plan,
    'schema_version', 1, 'files', files, 'request', request || '{"lab": "/nowhere"}',
    'writes', false, 'units', '[{"host": "h1", "drives": ["d1"]}]'::jsonb))
  FROM lab.job ORDER BY submitted_at DESC LIMIT 1"""


def test_a_host_reads_its_own_lab_file_alone(lab):
    """Which says what may be written, and which programs are run."""
    assert run(lab, READS, "drive d1, host h1").code == 0
    id = "20200101-000000-other"
    lab.rows(OTHER_LAB.replace("ID", id), "person_ada")
    lab.wait(lambda: lab.all_stored(id))


@pytest.mark.long
def test_status_of_jobs(lab):
    job = lab.submit()
    lab.wait(lambda: lab.all_stored(job))
    assert lab.ada.ok("lab", "status", "last") == lab.ada.ok("lab", "status", job[:20])
    rows = [
        json.loads(line) for line in lab.ada.ok("lab", "status", "--json").splitlines()
    ]
    assert {row["stored"] for row in rows} == {4}
    assert job in lab.ada.ok("lab", "status", "--all")
    assert "there is none" in lab.ada.ioplan("lab", "status", "x").err
    each_once(lab, job, 8)


def test_init_again_changes_nothing(lab):
    query = "SELECT count(*) FROM pg_policies"
    before = lab.value(query), lab.value("SELECT count(*) FROM lab.member")
    lab.owner.ok("lab", "init", lab.postgres.address, "--host", "h1")
    assert before == (lab.value(query), lab.value("SELECT count(*) FROM lab.member"))


def test_hearts_of_workers_beat(lab):
    """Else their jobs are taken for those of the dead."""
    latest = lab.value(
        "SELECT max(last_heartbeat)::text FROM queue.procrastinate_workers"
    )
    query = f"""SELECT count(*) FROM queue.procrastinate_workers
        WHERE last_heartbeat > '{latest}'"""
    lab.wait(lambda: lab.value(query) == 2, 30)


def test_a_second_worker_of_a_host_is_refused(lab):
    done = lab.hosts["h1"].ioplan("lab", "worker")
    assert done.code == 2
    assert "a worker of this host is at work" in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 x drive d1", "0 drives are none"),
        ("", "'nothing' is no condition"),
        ("modle x", "drives have no 'modle', did you mean 'model'"),
        ("life x", "life needs <, >, <= or >="),
        ("life < 20", "life is in percent"),
        ("size > x", "size: "),
        ("model < x", "model needs a text"),
    ],
)
def test_what_is_no_selection(text, told):
    with pytest.raises(UsageError) as error:
        selection(text)
    assert told in str(error.value)


DRIVE = {
    **{"host": "h1", "name": "d1", "model": "ACME 9100", "firmware": "2.1"},
    **{"serial": "S1", "wwid": "", "groups": ["all"], "tags": ["qual"]},
    **{"life_used": 12.0, "size_bytes": 4 * 10**12, "state": "free"},
}


@pytest.mark.parametrize(
    "text",
    [
        "model 'acme *', firmware 2.*",
        "1 x serial s1",
        "life < 20 %, size >= 4TB",
        "tag:qual, group all, host h*",
    ],
)
def test_a_selection_takes_a_drive(text):
    assert selection(text).chosen([DRIVE], {}) == [DRIVE]
    with pytest.raises(UsageError):
        selection(text).chosen([DRIVE], {"h1/d1": "it is out of service"})
