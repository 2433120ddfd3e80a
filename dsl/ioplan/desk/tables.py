"""All tables of the desk."""

from __future__ import annotations

from ioplan.desk.people import audit, people
from ioplan.desk.queue import tables as queue

TABLES = {**people.TABLES, **audit.TABLES, **queue.TABLES}
"""`CREATE TABLE` by name; those missing are made when the database is opened."""
