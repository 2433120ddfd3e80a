"""All tables of the desk."""

from __future__ import annotations

from ioplan.desk.people import audit, people

TABLES = {**people.TABLES, **audit.TABLES}
"""`CREATE TABLE` by name; those missing are made when the database is opened."""
