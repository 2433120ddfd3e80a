"""Plans at given times: started by whoever asks, never before, in nobody else's name."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import psycopg
import pytest
from cronsim import CronSim
from postgres import NEEDS_POSTGRES
from small_lab import small_lab

from ioplan.cli import UsageError
from ioplan_lab import cron_fields

pytestmark = NEEDS_POSTGRES


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with small_lab(tmp_path_factory.mktemp("lab"), workers=False) as made:
        drives = json.dumps([{"name": "d1", "writable": True}])
        made.rows(f"SELECT lab.report_drives('{drives}')", "host_h1")
        yield made


def add(lab, name, cron, *words):
    plan = ("lab", "schedule", "add", name, lab.plan(), "--on", "host h1")
    lab.ada.ok(*plan, "--cron", cron, *words)


def fire(lab):
    return int(lab.value("SELECT lab.fire_due()", "host_h1"))


def back(lab, name, span):
    lab.execute(
        f"UPDATE lab.schedule SET checked_at = now() - interval '{span}' WHERE name = '{name}'"
    )


@pytest.mark.promise("labs.started_once")
def test_it_is_started_once_and_by_its_person(lab):
    add(lab, "often", "* * * * *")
    assert fire(lab) == 0
    back(lab, "often", "2 minutes")
    assert (fire(lab), fire(lab)) == (1, 0)
    job = lab.value("SELECT last_job FROM lab.schedule WHERE name = 'often'")
    assert lab.rows(f"SELECT person FROM lab.job WHERE id = '{job}'") == [("ada",)]
    back(lab, "often", "2 minutes")
    assert fire(lab) == 0
    assert "has not ended" in lab.ada.ok("lab", "schedule", "list", "--json")
    assert lab.bob.ioplan("lab", "schedule", "remove", "often").code == 2
    lab.ada.ok("lab", "schedule", "remove", "often")


@pytest.mark.parametrize(("missed", "started"), [("skip", 0), ("once", 1)])
def test_what_was_missed(lab, missed, started):
    hour = lab.value("SELECT extract(hour FROM now() AT TIME ZONE 'UTC')::int")
    minute = lab.value("SELECT extract(minute FROM now() - interval '20 min')::int")
    hours = f"{hour},{(hour - 1) % 24}"
    add(lab, missed, f"{minute} {hours} * * *", "--missed", missed)
    back(lab, missed, "30 minutes")
    assert fire(lab) == started
    lab.ada.ok("lab", "schedule", "remove", missed)


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE lab.schedule SET person = 'bob'",
        "SELECT lab.submit_as('bob', '{}')",
        "SELECT lab.fire_due()",
        """INSERT INTO lab.schedule SELECT 'x', 'bob', '', 'UTC', '{1}', '{1}', '{1}',
            '{1}', '{1}', false, false, '{}'""",
    ],
)
def test_nobody_starts_in_anothers_name(lab, attack):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        lab.rows(attack, "person_ada")


CRONS = (
    *("0 2 * * *", "30 2 * * *", "*/20 1-3 * * *", "15 0 1,15 * mon", "0 12 * * 7"),
    *("5 4 29 2 *", "59 23 31 12 *", "0 0 * * sat,sun", "10-20/5 6 * mar-oct 1-5"),
)


@pytest.mark.parametrize("cron", CRONS)
@pytest.mark.parametrize("begin", ["2026-03-28", "2026-10-24", "2028-02-27"])
def test_times_are_those_of_cron(lab, cron, begin):
    """Also where clocks change: a time of the day that occurs twice counts once. Compared
    with cronsim, which is as Debian's cron."""
    zone = ZoneInfo("Europe/Berlin")
    since = datetime.fromisoformat(begin).replace(tzinfo=zone)
    until = datetime.fromisoformat(begin).replace(tzinfo=zone).timestamp() + 5 * 86400
    wanted: dict[datetime, float] = {}
    for at in CronSim(cron, since):
        if at.timestamp() > until:
            break
        wanted.setdefault(at.replace(tzinfo=None, fold=0), at.timestamp())
    fields = json.dumps(cron_fields(cron))
    row = f"""SELECT extract(epoch FROM d)::float FROM lab.due(jsonb_populate_record(
        NULL::lab.schedule, '{fields}' || '{{"zone": "Europe/Berlin"}}'::jsonb),
        to_timestamp({since.timestamp()}), to_timestamp({until})) d"""
    assert sorted({at for (at,) in lab.rows(row)}) == sorted(wanted.values())


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *", "x * * * *"]
)
def test_what_is_no_time(cron):
    with pytest.raises(UsageError):
        cron_fields(cron)
