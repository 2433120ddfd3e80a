"""`ioplan lab page`: to read, of any size, and whatever the database does."""

import json
import re
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from lab_pages import PageServer
from postgres import NEEDS_POSTGRES
from small_lab import cmdline, small_lab

pytestmark = NEEDS_POSTGRES
DRIVES, SESSIONS, RUNNING = 2000, 10_000, 300
CPU_S = 0.1
MOST_BYTES, MOST_JSON_BYTES = 40_000, 8_000
FILL = f"""
INSERT INTO lab.host (name, version, seen_at) SELECT 'r' || n, '0.1.0', now()
  FROM generate_series(1, 40) n;
INSERT INTO lab.drive (host, name, serial, model, size_bytes, writable)
  SELECT 'r' || n % 40 + 1, 'nvme' || n, 'S' || n, 'ACME 9100', 3840755982336, true
  FROM generate_series(1, {DRIVES}) n;
INSERT INTO lab.job (id, person, title, schema_version, plan, files, request, writes)
  VALUES ('20261128-100000-many', 'ada', '<b>Many</b>', 1, 'plan/p', '{{}}', '{{}}', false);
INSERT INTO lab.drive_job (session, job, host, drives, status, runs, done, iops, p99_ns,
    expected, started_at)
  SELECT '20261128-100000-many-' || n, '20261128-100000-many', 'r' || n % 40 + 1,
    ARRAY['nvme' || n], 'running', 3, 0.5, 400000, 90000, 88, now()
  FROM generate_series(1, {RUNNING}) n;
INSERT INTO env VALUES ('e', '{{}}');
INSERT INTO session (id, plan, plan_file, plan_text, started_at, ended_at, status,
    backend, target, env, ioplan, host_name)
  SELECT 'x-' || n, 'Nightly', '', '', '2026-11-2' || n % 8 || 'T10:00:00Z',
    '2026-11-28T10:00:00Z', 'ok', 'sim', 'd' || n, 'e', '0.1.0', 'h1'
  FROM generate_series(1, {SESSIONS}) n;
INSERT INTO run (session, seq, run_id, test, kind, step, name, round, iteration, cell,
    after_name, after_digest, removed, status, cause, message, started_at, ended_at,
    run_s, ioplan, env, asked, backend, target, extras)
  SELECT 'x-' || n % {SESSIONS} + 1, n / {SESSIONS} + 1, 'r', 'T', 'run', 0, '', 0, 0,
    '{{}}', '', '', 0, 'ok', '', '', '', '', 1, '', 'e', '{{}}', '{{}}', '{{}}', '{{}}'
  FROM generate_series(1, {4 * SESSIONS}) n;
ANALYZE;
"""
PAGES = ("/", "/drives", "/hosts", "/queue", "/sessions")
SEARCHES = (
    "/drives?q=acme+nvme7",
    "/sessions?q=nightly+h1",
    "/sessions?page=150",
    "/?q=r7",
)


def cpu_s(page):
    """Of the page, and of the server's processes that it asks."""
    pids = [page.process.pid]
    query = "SELECT pid FROM pg_stat_activity WHERE usename = 'person_ada'"
    pids += [pid for (pid,) in page.lab.rows(query)]
    return sum(map(cpu_of, pids))


def cpu_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with small_lab(tmp_path_factory.mktemp("lab"), workers=False) as lab:
        lab.execute(FILL)
        made = PageServer(lab)
        try:
            lab.wait(made.answers)
            yield made
        finally:
            made.end()


@pytest.mark.parametrize("path", [*PAGES, *SEARCHES, "/now.json"])
def test_a_page_costs_little_in_a_large_lab(page, path):
    page.get(path)
    before_s, times = cpu_s(page), 10
    for _ in range(times):
        status, text, _ = page.get(path)
        assert status == 200
    taken_s = (cpu_s(page) - before_s) / times
    print(f"{path}: {taken_s * 1000:.0f} ms of CPU, {len(text)} bytes")
    assert taken_s <= CPU_S
    assert len(text) < (MOST_JSON_BYTES if path.endswith("json") else MOST_BYTES)


def test_pages_are_of_fifty_rows_and_lead_on(page):
    seen: set[str] = set()
    path = "/?q=many"
    while path:
        _, text, _ = page.get(path)
        rows = re.findall(r'<tr id="([^"]+)"', text)
        assert len(rows) == 50
        assert not seen.intersection(rows)
        seen.update(rows)
        older = re.search(r'rel="next" href="([^"]+)"', text)
        path = older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == RUNNING


def test_the_live_json_has_what_the_page_shows(page):
    _, text, _ = page.get("/?q=many&page=2")
    live = re.search(r'data-live="([^"]+)"', text)
    assert live
    states = json.loads(page.get(live[1].replace("&amp;", "&"))[1])
    assert set(states) == set(re.findall(r'<tr id="([^"]+)"', text))
    assert set(map(tuple, states.values())) == {
        ("running", "50 %", "0 of 88", "400k", "90.0 µs", "", "", "")
    }


def test_texts_are_escaped_and_nothing_else_is_loaded(page):
    _, text, headers = page.get("/")
    assert "&lt;b&gt;Many&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        *("/report", "/report?session=--store", "/report?session=x%2F.."),
        *("/report?session=-o&session=x", "/static/x", "/x"),
    ],
)
def test_what_is_not_there(page, path):
    """And no file is written: a session is no option of `ioplan report`."""
    before = set(page.lab.ada.folder.iterdir())
    assert page.get(path)[0] == 404
    assert set(page.lab.ada.folder.iterdir()) == before


@pytest.mark.promise("labs.page")
def test_another_name_is_refused(page):
    assert page.get("/", Host="evil.example")[0] == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.promise("labs.page")
def test_nothing_is_changed(page, method):
    connection = HTTPConnection("127.0.0.1", page.port)
    connection.request(method, "/")
    assert connection.getresponse().status == 405


def test_a_malformed_row_hides_no_other(page):
    page.lab.execute(
        "INSERT INTO session SELECT 'y', plan, plan_file, plan_text, '', 'long ago', "
        "'never', status, backend, target, env, ioplan FROM session LIMIT 1"
    )
    try:
        for path in PAGES:
            status, text, _ = page.get(path)
            assert status == 200, path
            assert "<tr" in text or path == "/queue"
        assert "that are not shown: 1." in page.get("/sessions?q=y")[1]
    finally:
        page.lab.execute("DELETE FROM session WHERE id = 'y'")


def test_while_the_database_is_away_the_last_page_says_its_age(page):
    page.get("/drives")
    page.lab.postgres.stop()
    try:
        time.sleep(2)
        status, text, headers = page.get("/drives")
        assert status == 200
        assert "The database does not answer: this is" in text
        assert int(headers["age"]) >= 1
        assert page.get("/drives?q=never-seen")[0] == 503
    finally:
        page.lab.postgres.start()
    assert page.get("/drives")[2]["age"] == "0"


def test_it_is_served_to_this_host_alone(page):
    done = page.lab.ada.ioplan("lab", "page", "--listen", "0.0.0.0:0")
    assert done.code == 2
    assert "a proxy that signs people in" in done.err
    assert "lab page" in cmdline(page.process.pid)
