"""All tables of the desk."""

from __future__ import annotations

from ioplan_lab.desk import inventory, samples, surveyed, tags
from ioplan_lab.desk.hooks import tables as hooks
from ioplan_lab.desk.people import audit, people
from ioplan_lab.desk.queue import decide, health_checks, permissions
from ioplan_lab.desk.queue import tables as queue
from ioplan_lab.desk.schedules import schedule

TABLES = {
    **people.TABLES,
    **audit.TABLES,
    **queue.TABLES,
    **decide.TABLES,
    **permissions.TABLES,
    **health_checks.TABLES,
    **inventory.TABLES,
    **samples.TABLES,
    **tags.TABLES,
    **surveyed.TABLES,
    **schedule.TABLES,
    **hooks.TABLES,
}
"""`CREATE TABLE` by name; those missing are made when the database is opened."""
