"""What hosts, people and readers must not do with the lab's database: each is tried."""

import hashlib
import json
from typing import Any

import psycopg
import pytest
from figures import measurement, record
from postgres import NEEDS_POSTGRES
from sessions import session
from small_lab import small_lab

from ioplan.records import Drive, SessionEvent, Verdict
from ioplan.results.store import COLUMNS, Store, push

pytestmark = NEEDS_POSTGRES
IDS = {"h1": "20261128-100000-aaaa", "h2": "20261128-100000-bbbb"}
BOBS, ADAS = "20261128-110000-bobs", "20261128-110000-adas"
PLAIN = "20261128-120000-plan"
WRONG = (
    psycopg.errors.SyntaxError,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.AmbiguousColumn,
    psycopg.errors.DatatypeMismatch,
)
TABLES = """SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
    WHERE schemaname IN ('lab', 'queue', 'public') ORDER BY 1"""
SECRET = "the facts of h2"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Two hosts with drives and a session each; jobs of ada and bob, who has `prod`."""
    folder = tmp_path_factory.mktemp("lab")
    with small_lab(folder, workers=False) as made:
        for name in ("h1", "h2"):
            drives = json.dumps([{"name": "d1"}, {"name": "d2"}])
            call(made, f"host_{name}", f"SELECT lab.report_drives('{drives}')")
            pushed(made, name)
        call(made, "person_root", "SELECT lab.tag('h1', 'd2', '{prod}', '{}')")
        call(made, "ioplan", "INSERT INTO lab.permission VALUES ('prod', 'bob')")
        call(made, "person_bob", "SELECT lab.reserve('h2', 'd2', now() + '1h', '')")
        call(made, "person_bob", submit(BOBS, ("h1", "d2"), ("h2", "d1")))
        call(made, "person_ada", submit(ADAS, ("h1", "d1"), ("h2", "d2")))
        call(made, "host_h2", offer())
        plain = {"session": PLAIN, "job": PLAIN, "plan": "plan/none", "files": {}}
        call(made, "host_h2", offer(**plain))
        yield made


def pushed(made, host):
    """A session with a run, by way of the outbox's own statements."""
    local = Store.open(made.folder / f"{host}.db")
    facts = {"hostname": host, "note": f"the facts of {host}"}
    change = {"id": IDS[host], "host": facts, "host_name": "elsewhere", "person": "eve"}
    local.begin(session().model_copy(update=change))
    taken = measurement()
    local.add(record(1, session=IDS[host], made=taken), taken.detail)
    local.finish(IDS[host], "ok", "2026-11-28T10:00:00+00:00")
    with Store.at(made.of(f"host_{host}")) as shared:
        assert len(list(push(local, shared))) == 1
        assert not list(push(local, shared)), "nothing is sent twice"
    local.close()


def submit(id, *units, **change):
    job: dict[str, Any] = {"id": id, "title": "T", "schema_version": 1}
    job |= {"plan": "plan/p", "files": {"plan/p": ""}, "request": {}, "writes": False}
    job["units"] = [{"host": host, "drives": [drive]} for host, drive in units]
    return f"SELECT lab.submit($json${json.dumps(job | change)}$json$)"


def call(made, role, statement):
    """Statements in one session; the rows of the last."""
    with psycopg.connect(made.of(role), autocommit=True) as there:
        done = there.execute(statement.encode())
        while done.nextset():
            pass
        return done.fetchall() if done.description else []


def content(made):
    """Each table as a text; when a host was seen last is its own word."""
    whole = "SELECT '{0}', string_agg(t::text, ' ' ORDER BY t::text) FROM {0} t"
    names = "SELECT 'lab.host', string_agg(name, ' ' ORDER BY name) FROM lab.host"
    tables = [name for (name,) in made.rows(TABLES) if name != "lab.host"]
    return dict(made.rows(" UNION ALL ".join([names, *map(whole.format, tables)])))


def raised_or_rows(made, role, statement):
    try:
        return call(made, role, statement)
    except psycopg.Error as error:
        return error


JOB = """INSERT INTO lab.job (id, person, title, schema_version, plan, files, request,
    writes) VALUES ('20261128-120000-evil', 'bob', '', 1, 'plan/p', '{}', '{}', false)"""
REPORT = "SELECT lab.report('', '[{{{}}}]')"
OWN_STATE = '"session": "{}-001", "round": 0, "status": "{}", "attempts": 1, "done": {}, "runs": 0, "unmet": 0, "step": "", "message": ""'
SESSION = """INSERT INTO session (id, plan, plan_file, plan_text, started_at, status,
    backend, target, env, ioplan{}) SELECT '{}', '', '', '', '{}', 'ok', 'sim', '',
    env, ''{} FROM session LIMIT 1"""
RUN = f"""INSERT INTO run SELECT '{{0}}', {{1}}, {", ".join(COLUMNS["run"][2:-1])}, {{2}}
    FROM run LIMIT 1"""
FIGURE = f"""INSERT INTO figure SELECT '{{0}}', 1, 't', {", ".join(COLUMNS["figure"][3:9])},
    {{1}}, {", ".join(COLUMNS["figure"][10:])} FROM figure LIMIT 1"""
OFFER: dict[str, Any] = {
    **{"session": "20261128-130000-lost-001", "job": "20261128-130000-lost"},
    **{"round": 0, "person": "bob", "title": "T", "drives": ["d1"], "expected": 1},
    **{"schema_version": 1, "plan": "plan/p", "files": {"plan/p": "x"}, "request": {}},
}
"""What host h2 has of a job that a restored database has lost."""


def offer(**change):
    return f"SELECT lab.offer($json${json.dumps(OFFER | change)}$json$)"


NEW = {"session": "20261128-140000-new1", "job": "20261128-140000-new1"}
SECOND = {"session": "20261128-130000-lost-002"}
QUEUED = (
    "INSERT INTO queue.procrastinate_jobs (queue_name, task_name) VALUES ('{}', 'x')"
)
DEFER = """SELECT queue.procrastinate_defer_jobs_v1(ARRAY[ROW('{}', 'ioplan.drive_job',
    0, NULL, NULL, '{{}}', NULL)::queue.procrastinate_job_to_defer_v1])"""
QUEUE = "SET search_path = queue;"
LATER = "clock_timestamp() + '1h'"
TEMP_MEMBER = """SET search_path = pg_temp, lab, public;
    CREATE TEMP TABLE member (role name, kind text, name text, admin boolean);
    INSERT INTO member VALUES ('person_ada', 'person', 'bob', true);
    CREATE FUNCTION pg_temp.my_name(text) RETURNS text LANGUAGE sql AS $$SELECT 'bob'$$;
    CREATE FUNCTION pg_temp.is_admin() RETURNS boolean LANGUAGE sql AS 'SELECT true';"""

HARMLESS: dict[str, tuple[str, str]] = {
    # of the cases: a person's role that sets another role, or writes in another's name
    "set role to people": ("person_ada", f"SET ROLE lab_people; {JOB}"),
    "set role, then submit": (
        "person_ada",
        f"SET ROLE lab_people; {submit('20261128-120000-evil', ('h1', 'd2'))}",
    ),
    "set role to a person": ("person_ada", "SET ROLE person_bob"),
    "set role to the owner": ("person_ada", "SET ROLE ioplan_owner"),
    "set role to a host": ("host_h1", "SET ROLE host_h2"),
    "session authorization": ("person_ada", "SET SESSION AUTHORIZATION person_bob"),
    "name another person": (
        "person_ada",
        submit("20261128-120000-evil", ("h1", "d2"), person="bob"),
    ),
    # of the cases: drive jobs and states of others, and what is malformed
    "drive job of another": (
        "host_h1",
        f"INSERT INTO lab.drive_job (session, job, host, drives) VALUES ('x', '{BOBS}', 'h1', '{{d}}')",
    ),
    "report another's": (
        "host_h1",
        REPORT.format(OWN_STATE.format(BOBS, "failed", 0).replace("-001", "-002")),
    ),
    "malformed state": (
        "host_h1",
        REPORT.format(f'"session": "{BOBS}-001", "round": 0'),
    ),
    "unknown status": ("host_h1", REPORT.format(OWN_STATE.format(BOBS, "x", 0))),
    "NaN": ("host_h1", REPORT.format(OWN_STATE.format(BOBS, "running", '"NaN"'))),
    "infinite": (
        "host_h1",
        REPORT.format(OWN_STATE.format(BOBS, "running", '"Infinity"')),
    ),
    "no list": ("host_h1", "SELECT lab.report('', '{\"a\": 1}')"),
    "row into the tables": (
        "host_h1",
        f"UPDATE lab.drive_job SET status = 'ok' WHERE job = '{ADAS}'",
    ),
    # what only a host knows
    "offer into a person's job": (
        "host_h1",
        offer(session=f"{BOBS}-009", job=BOBS, files={"plan/p": ""}),
    ),
    "offer another's drive job": (
        "host_h1",
        offer(session=f"{BOBS}-002", job=BOBS, round=5, files={"plan/p": ""}),
    ),
    "offer another host's session": ("host_h1", offer(round=5)),
    "offer into a job that it does not know": (
        "host_h1",
        offer(**SECOND, files={"plan/p": "y"}),
    ),
    "offer into a job of nothing": (
        "host_h1",
        offer(session=f"{PLAIN}-001", job=PLAIN, plan="plan/none", files={}),
    ),
    "offer with another's name": ("host_h1", offer(**NEW | {"session": "x"})),
    "offer with a path": ("host_h1", offer(session="../x", job="../x")),
    "offer with a pattern": ("host_h1", offer(**NEW | {"job": ".*"})),
    "offer a round before the first": ("host_h1", offer(**NEW, round=-1)),
    "offer too much": ("host_h1", offer(**NEW, files={"plan/p": "x" * (33 << 20)})),
    "offer without a person": ("host_h1", offer(**NEW, person=None)),
    "offer as a person": ("person_ada", offer(**NEW)),
    "purge as a person": ("person_ada", "SELECT lab.purge()"),
    "purge what is new": ("host_h1", "SELECT lab.purge()"),
    # Procrastinate's tables
    "queue: take another's": (
        "host_h1",
        QUEUE + "SELECT procrastinate_fetch_job_v2('{h2}', NULL)",
    ),
    "queue: change another's": (
        "host_h1",
        "UPDATE queue.procrastinate_jobs SET status = 'failed' WHERE queue_name = 'h2'",
    ),
    "queue: finish another's": (
        "host_h1",
        f"{QUEUE} SELECT procrastinate_finish_job_v1(2, 'failed', false)",
    ),
    "queue: add to another's": ("host_h1", QUEUED.format("h2")),
    "queue: add to its own": ("host_h1", QUEUED.format("h1")),
    "queue: defer": ("host_h1", DEFER.format("h2")),
    "queue: defer as a person": ("person_ada", DEFER.format("h1")),
    "queue: move to another's": (
        "host_h1",
        "UPDATE queue.procrastinate_jobs SET queue_name = 'h2', lock = 'h2/d1'",
    ),
    "queue: hold another's lock": (
        "host_h1",
        "UPDATE queue.procrastinate_jobs SET status = 'doing', lock = 'h2/d1'",
    ),
    "queue: other arguments": (
        "host_h1",
        f'UPDATE queue.procrastinate_jobs SET args = \'{{"session": "{BOBS}-002"}}\'',
    ),
    "queue: delete": ("host_h1", "DELETE FROM queue.procrastinate_jobs"),
    "queue: events": ("host_h1", "DELETE FROM queue.procrastinate_events"),
    "queue: lock the table of workers": (
        "host_h1",
        "BEGIN; LOCK TABLE queue.procrastinate_workers IN ACCESS EXCLUSIVE MODE",
    ),
    "queue: lock the table of jobs": (
        "host_h1",
        "BEGIN; LOCK TABLE queue.procrastinate_jobs IN SHARE MODE",
    ),
    "queue: unregister another's worker": (
        "host_h1",
        "SELECT queue.procrastinate_unregister_worker_v1(1)",
    ),
    "queue: prune all workers": (
        "host_h1",
        "SELECT * FROM queue.procrastinate_prune_stalled_workers_v1(-100)",
    ),
    "queue: use up its numbers": (
        "person_ada",
        "SELECT setval('queue.procrastinate_jobs_id_seq', 9e18::bigint)",
    ),
    # results
    "results: change another's session": (
        "host_h1",
        f"UPDATE session SET note = 'x' WHERE id = '{IDS['h2']}'",
    ),
    "results: change a verdict": ("host_h1", "UPDATE verdict SET verdict = '{}'"),
    "results: change a run": ("host_h1", "UPDATE figure SET iops = 1"),
    "results: change how a run ended": ("host_h1", "UPDATE run SET status = 'ok'"),
    "results: change the place of another's run": (
        "host_h1",
        f"UPDATE run SET test = 'x' WHERE session = '{IDS['h2']}'",
    ),
    "results: no place": ("host_h1", "UPDATE run SET cell = '[]'"),
    "results: delete another's verdict": (
        "host_h1",
        f"DELETE FROM verdict WHERE session = '{IDS['h2']}'",
    ),
    "results: delete": ("host_h1", "DELETE FROM session"),
    "results: a run of another's session": (
        "host_h1",
        RUN.format(IDS["h2"], 2, "extras"),
    ),
    "results: figures of another's run": ("host_h1", FIGURE.format(IDS["h2"], 1)),
    "results: figures that are no numbers": (
        "host_h1",
        FIGURE.format(IDS["h1"], "'NaN'"),
    ),
    "results: the id of another's drive job": (
        "host_h1",
        SESSION.format("", f"{BOBS}-002", "2026-11-28T10:00:00Z", ""),
    ),
    "results: no time": ("host_h1", SESSION.format("", "x", "yesterday", "")),
    "results: no tags": (
        "host_h1",
        SESSION.format(", tags", "x", "2026-11-28T10:00:00Z", ", '{}'"),
    ),
    "results: tags that are no words": (
        "host_h1",
        SESSION.format(", tags", "x", "2026-11-28T10:00:00Z", ", '[1]'"),
    ),
    "results: no request": (
        "host_h1",
        SESSION.format(", request", "x", "2026-11-28T10:00:00Z", ", 'null'"),
    ),
    "results: no record": ("host_h1", RUN.format(IDS["h1"], 2, "'[]'")),
    "results: no JSON": ("host_h1", RUN.format(IDS["h1"], 2, "'x'")),
    "results: without triggers": (
        "host_h1",
        "SET session_replication_role = replica; " + SESSION.format("", "x", "y", ""),
    ),
    "results: a trigger less": ("host_h1", "ALTER TABLE session DISABLE TRIGGER ALL"),
    "results: another layout": ("host_h1", "UPDATE meta SET value = '1'"),
    # people
    "cancel another's": ("person_ada", f"SELECT lab.cancel('{BOBS}')"),
    "resume another's": ("person_ada", f"SELECT lab.resume('{BOBS}')"),
    "submit what is there": ("person_ada", submit(BOBS, ("h1", "d1"))),
    "submit to no drive": ("person_ada", submit("20261128-120000-evil")),
    "submit to an unknown drive": (
        "person_ada",
        submit("20261128-120000-evil", ("h1", "x")),
    ),
    "submit where not permitted": (
        "person_ada",
        submit("20261128-120000-evil", ("h1", "d1"), ("h1", "d2")),
    ),
    "an id that is a path": ("person_ada", submit("../../x", ("h1", "d1"))),
    "a plan that is a path": (
        "person_ada",
        submit("20261128-120000-evil", ("h1", "d1"), plan="../../x"),
    ),
    "reserve another's": (
        "person_ada",
        f"SELECT lab.reserve('h2', 'd2', {LATER}, '')",
    ),
    "reserve for ever": (
        "person_ada",
        "SELECT lab.reserve('h1', 'd1', 'infinity', '')",
    ),
    "reserve what is not permitted": (
        "person_ada",
        f"SELECT lab.reserve('h1', 'd2', {LATER}, '')",
    ),
    "release another's": ("person_ada", "SELECT lab.release('h2', 'd2')"),
    "take a tag that permits": (
        "person_ada",
        "SELECT lab.tag('h1', 'd2', '{}', '{prod}')",
    ),
    "give a tag that permits": (
        "person_ada",
        "SELECT lab.tag('h1', 'd1', '{prod}', '{}')",
    ),
    "a tag that is a page": (
        "person_ada",
        "SELECT lab.tag('h1', 'd1', '{<script>}', '{}')",
    ),
    "out of service": ("person_ada", "SELECT lab.set_service('h1', 'd1', 'x')"),
    "permit oneself": (
        "person_ada",
        "INSERT INTO lab.permission VALUES ('prod', 'ada')",
    ),
    "become an admin": ("person_ada", "UPDATE lab.member SET admin = true"),
    "other tables of that name": (
        "person_ada",
        f"{TEMP_MEMBER} SELECT lab.cancel('{BOBS}')",
    ),
    "own function instead": (
        "person_ada",
        "CREATE OR REPLACE FUNCTION lab.is_admin() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    ),
    "a function in public": (
        "person_ada",
        "CREATE FUNCTION public.my_host() RETURNS text LANGUAGE sql AS $$SELECT 'h1'$$",
    ),
    # who is neither
    "a person reports": ("person_ada", "SELECT lab.report('', '[]')"),
    "a person has drives": ("person_ada", "SELECT lab.report_drives('[]')"),
    "a host submits": ("host_h1", submit("20261128-120000-evil", ("h1", "d1"))),
    "a host cancels": ("host_h1", f"SELECT lab.cancel('{ADAS}')"),
    "a host reserves": ("host_h1", f"SELECT lab.reserve('h1', 'd1', {LATER}, '')"),
    "too many drives": (
        "host_h1",
        """SELECT lab.report_drives((SELECT jsonb_agg(jsonb_build_object('name', n))
            FROM generate_series(1, 5000) n))""",
    ),
    "a drive that is a path": (
        "host_h1",
        'SELECT lab.report_drives(\'[{"name": "d1"}, {"name": "d2"}, {"name": "../x"}]\')',
    ),
    "inner functions": ("person_ada", f"SELECT lab.enqueue('{BOBS}-001')"),
    "inner functions of hosts": ("host_h1", "SELECT lab.postpone('h2', 'd1')"),
    "policies": ("host_h1", "SELECT lab.set_policy('session', 'true')"),
    "a program of the server": ("person_ada", "COPY lab.job TO PROGRAM 'cat'"),
    "a role": ("person_ada", "CREATE ROLE host_h3 LOGIN"),
}
UNREADABLE: dict[str, tuple[str, str]] = {
    "all facts": ("host_h1", f"SELECT * FROM env WHERE facts LIKE '%{SECRET}%'"),
    "another's session": ("host_h1", f"SELECT * FROM session WHERE id = '{IDS['h2']}'"),
    "another's figures": (
        "host_h1",
        f"SELECT * FROM figure WHERE session = '{IDS['h2']}'",
    ),
    "another's runs": ("host_h1", f"SELECT * FROM run WHERE session = '{IDS['h2']}'"),
    "by a view": ("host_h1", f"SELECT * FROM v_session WHERE session = '{IDS['h2']}'"),
    "another's queue": (
        "host_h1",
        "SELECT * FROM queue.procrastinate_jobs WHERE queue_name <> 'h1'",
    ),
    "another's plan": (
        "host_h1",
        f"SELECT * FROM (SELECT lab.drive_job_call('{BOBS}-002') v) t WHERE v IS NOT NULL",
    ),
    "the jobs": ("host_h1", "SELECT * FROM lab.job"),
    "jobs by a view": ("host_h1", "SELECT * FROM lab.v_drive_job"),
    "what a lab does not know": ("person_ada", "SELECT lab.unknown('{x}', '{}')"),
    "a file of the server": ("person_ada", "SELECT pg_read_file('/etc/passwd')"),
    "passwords": ("person_ada", "SELECT * FROM pg_authid"),
}


def test_a_host_delivers_a_session_again_when_its_plan_was_edited(lab, tmp_path):
    """Runs have other places then, and verdicts of the plan count no longer."""
    id, taken = "20261128-103000-edit", measurement()
    begun = session().model_copy(update={"id": id})
    verdict = Verdict(
        expectation="iops > 1", outcome="held", actual=2.0, limit=1.0, unit="1/s"
    )
    with Store.open(tmp_path / "own.db") as own, Store.at(lab.of("host_h1")) as shared:
        own.begin(begun)
        own.add(record(1, session=id, made=taken, verdicts=(verdict,)), taken.detail)
        own.finish(id, "interrupted", "2026-11-28T10:40:00+00:00")
        assert list(push(own, shared)) == [(id, 1)]
        edit = SessionEvent(at="2026-11-28T10:50:00+00:00", kind="edited", text="plan")
        for test in ("moved", "again"):
            own.add_event(id, edit)
            places = [record(1, session=id, made=taken, test=test)]
            own.update_plan(begun.model_copy(update={"status": "running"}), places)
            own.finish(id, "ok", "2026-11-28T11:00:00+00:00")
            assert list(push(own, shared)) == [(id, 0)]
            assert list(shared.records(id)) == list(own.records(id))
            assert next(shared.records(id)).asked.test == test
            assert shared.verdict(id) == own.verdict(id)


@pytest.mark.parametrize("attack", HARMLESS)
@pytest.mark.promise("labs.rights")
def test_changes_nothing(lab, attack):
    role, statement = HARMLESS[attack]
    before = content(lab)
    found = raised_or_rows(lab, role, statement)
    assert not isinstance(found, WRONG), f"the attack itself is wrong: {found}"
    assert content(lab) == before


@pytest.mark.parametrize("attack", UNREADABLE)
@pytest.mark.promise("labs.rights")
def test_reads_nothing(lab, attack):
    found = raised_or_rows(lab, *UNREADABLE[attack])
    assert found == [] or isinstance(found, psycopg.errors.InsufficientPrivilege), found


@pytest.mark.parametrize(
    "statement",
    [JOB, submit("20261128-120000-evil", ("h1", "d1")), "DELETE FROM session"],
    ids=["job", "submit", "delete"],
)
def test_a_reader_only_reads(lab, statement):
    call(
        lab,
        "ioplan",
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT lab_read TO guest",
    )
    assert call(lab, "guest", "SELECT session FROM lab.v_drive_job")
    found = raised_or_rows(lab, "guest", statement)
    assert isinstance(found, psycopg.errors.InsufficientPrivilege)


def test_a_session_is_of_its_host_and_the_host_vouches_for_the_person(lab):
    """It said `elsewhere` and `eve`."""
    rows = lab.rows("SELECT id, host_name, person, added_by FROM session ORDER BY id")
    assert [row for row in rows if row[0] in IDS.values()] == [
        (IDS["h1"], "h1", "eve@h1", "host_h1"),
        (IDS["h2"], "h2", "eve@h2", "host_h2"),
    ]


def test_a_lost_job_is_its_hosts_word(lab):
    """Another host that knows all of it has a part in it, and vouches for its own."""
    call(lab, "host_h1", offer(**SECOND, person="eve"))
    call(lab, "host_h1", offer(**SECOND, round=2))
    query = "SELECT session, host, round FROM lab.drive_job WHERE job LIKE '%lost'"
    found = sorted(lab.rows(query))
    assert found == [(OFFER["session"], "h2", 0), (SECOND["session"], "h1", 2)]
    query = f"SELECT person FROM lab.job WHERE id = '{OFFER['job']}'"
    assert lab.rows(query) == [("bob@h2",)]
    moment = "2026-11-28T10:00:00Z"
    made = SESSION.format(", person", SECOND["session"], moment, ", 'eve'")
    call(lab, "host_h1", made)
    query = f"SELECT person, job FROM session WHERE id = '{SECOND['session']}'"
    assert lab.rows(query) == [("bob@h1", OFFER["job"])]
    asked = f"SELECT lab.unknown('{{{BOBS}-001,{SECOND['session']},none}}', '{{}}')"
    assert call(lab, "host_h1", asked) == [("none",)]
    asked = f"SELECT lab.unknown('{{}}', '{{{ADAS}-001,{ADAS}-002}}')"
    assert call(lab, "host_h1", asked) == [(f"{ADAS}-001",)], "of its own that is open"


def test_what_has_ended_long_ago_leaves_the_queue(lab):
    ended = f"""UPDATE lab.drive_job SET status = 'ok', ended_at = now() - interval '{{}}'
        WHERE session = '{ADAS}-001';
        UPDATE queue.procrastinate_jobs SET status = 'succeeded'
        WHERE args->>'session' = '{ADAS}-001'"""
    left = f"""SELECT count(*) FROM queue.procrastinate_jobs
        WHERE args->>'session' LIKE '{ADAS}%'"""
    for age, host, count in (("29d", "h1", 2), ("31d", "h2", 2), ("31d", "h1", 1)):
        lab.execute(ended.format(age))
        call(lab, f"host_{host}", "SELECT lab.purge()")
        assert lab.value(left) == count


def test_a_session_of_a_drive_job_is_its_persons(lab):
    moment = "2026-11-28T10:00:00Z"
    call(lab, "host_h1", SESSION.format(", person", f"{BOBS}-001", moment, ", 'eve'"))
    rows = lab.rows(f"SELECT person, job FROM session WHERE id = '{BOBS}-001'")
    assert rows == [("bob", BOBS)]


def test_facts_under_another_digest_are_those_of_their_own(lab):
    (digest,) = lab.rows(f"SELECT digest FROM env WHERE facts LIKE '%{SECRET}%'")[0]
    forged = json.dumps({"hostname": "forged"})
    call(lab, "host_h1", f"INSERT INTO env VALUES ('{'0' * 64}', '{forged}')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        call(lab, "host_h1", f"INSERT INTO env VALUES ('{'0' * 64}', '{forged}')")
    assert lab.rows(
        f"SELECT FROM env WHERE digest = '{digest}' AND facts LIKE '%{SECRET}%'"
    )
    assert not lab.rows(f"SELECT FROM env WHERE digest = '{'0' * 64}'")


@pytest.mark.parametrize("model", ["ACME 9100", 'a"b\\c', "Größe ∞", "\U0001f4be\x7f"])
def test_digests_of_drives_are_those_of_the_hosts(lab, model):
    facts = Drive(model=model, serial="S1", capacity_bytes=5).model_dump(mode="json")
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    row = {"digest": hashlib.sha256(text.encode()).hexdigest(), **facts}
    names = ", ".join(row)
    values = ", ".join(["%s"] * len(row))
    with psycopg.connect(lab.of("host_h1"), autocommit=True) as there:
        forged = {**row, "digest": "x"}
        there.execute(
            f"INSERT INTO drive ({names}) VALUES ({values})", [*forged.values()]
        )
    assert lab.rows(f"SELECT model FROM drive WHERE digest = '{row['digest']}'") == [
        (model,)
    ]


def test_one_role_does_not_take_all_connections(lab):
    held = []
    with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
        while len(held) < 30:
            held.append(psycopg.connect(lab.of("person_ada")))
    assert call(lab, "person_bob", "SELECT 1")
    for one in held:
        one.close()
