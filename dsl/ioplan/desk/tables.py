"""All tables of the desk."""

from __future__ import annotations

from ioplan.desk.hooks import tables as hooks
from ioplan.desk.people import audit, people
from ioplan.desk.queue import tables as queue
from ioplan.desk.schedules import schedule

TABLES = {
    **people.TABLES,
    **audit.TABLES,
    **queue.TABLES,
    **schedule.TABLES,
    **hooks.TABLES,
}
"""`CREATE TABLE` by name; those missing are made when the database is opened."""
