"""`ioplan lab init`: the lab's tables, functions and roles in a database."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from importlib.resources import files

import psycopg
from psycopg import sql

from ioplan.cli import UsageError, print_line
from ioplan.results.store import CONNECTION, Store, is_address
from ioplan_lab.database.connection import refusals

OWNER, HOSTS, PEOPLE, READERS = "ioplan_owner", "lab_hosts", "lab_people", "lab_read"
SCRIPTS = ("tables", "host", "people", "schedules", "results", "views", "rights")
CONNECTIONS_PER_HOST = 2
SPARE_CONNECTIONS, MOST_CONNECTIONS = 40, 20
"""The last is of one role: nobody keeps all others out."""


def init(
    *, address: str, hosts: Sequence[str], people: Sequence[str], admins: Sequence[str]
) -> None:
    """Make what is missing, or bring it up to date. Raises UsageError, StoreError."""
    if not is_address(address):
        raise UsageError(f"ADDRESS is postgresql://USER@HOST/DATABASE, not {address!r}")
    with refusals(address), psycopg.connect(address, **CONNECTION) as connection:
        _make_owner(connection)
        connection.commit()
        _make_store(address)
        _make_lab(connection)
        for name in hosts:
            add_member(connection, "host", name)
        for name in (*people, *admins):
            add_member(connection, "person", name, name in admins)
        _warn_of_connections(connection)


def init_here(address: str, host: str, person: str) -> None:
    """A lab of one host and one person, whose role is the user of this process."""
    init(address=address, hosts=[host], people=[], admins=[])
    with refusals(address), psycopg.connect(address, **CONNECTION) as connection:
        user = pwd.getpwuid(os.geteuid()).pw_name
        add_member(connection, "person", person, True, role=user)


def _make_owner(connection: psycopg.Connection) -> None:
    """Roles without login, none of which is a member of one with more rights."""
    for role in (OWNER, HOSTS, PEOPLE, READERS):
        if not _has_role(connection, role):
            name = sql.Identifier(role)
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(name))
    connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {OWNER}".encode())
    connection.execute(f"GRANT {OWNER} TO CURRENT_USER".encode())
    statement = "GRANT CREATE ON DATABASE {} TO {}"
    names = map(sql.Identifier, (connection.info.dbname, OWNER))
    connection.execute(sql.SQL(statement).format(*names))


def _make_store(address: str) -> None:
    """The tables of results, by the store itself. Raises StoreError."""
    joint = "&" if "?" in address else "?"
    Store.at(f"{address}{joint}options=-c%20role%3D{OWNER}").close()


def _make_lab(connection: psycopg.Connection) -> None:
    with connection.transaction():
        connection.execute(f"SET LOCAL ROLE {OWNER}".encode())
        _make_queue(connection)
        connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
        for name in SCRIPTS:
            connection.execute(_script(name))


def _script(name: str) -> bytes:
    place = files("ioplan_lab").joinpath("database", f"{name}.sql")
    return place.read_text().encode()


def _make_queue(connection: psycopg.Connection) -> None:
    """Procrastinate's tables, in a schema of their own."""
    from procrastinate.schema import SchemaManager  # noqa: PLC0415  not for others

    if connection.execute("SELECT to_regnamespace('queue')").fetchone() == (None,):
        connection.execute("CREATE SCHEMA queue")
        connection.execute("SET LOCAL search_path = queue")
        connection.execute(SchemaManager.get_schema().encode())


def role_of(kind: str, name: str) -> str:
    """The role by which a host or a person logs in."""
    return f"{kind}_{name}"


def add_member(
    connection: psycopg.Connection,
    kind: str,
    name: str,
    admin: bool = False,
    role: str = "",
) -> None:
    """A role that may log in, and its entry as a member of the lab."""
    role, group = role or role_of(kind, name), HOSTS if kind == "host" else PEOPLE
    with connection.transaction():
        if not _has_role(connection, role):
            made = sql.SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT {}")
            most = sql.Literal(MOST_CONNECTIONS)
            connection.execute(made.format(sql.Identifier(role), most))
        grant = sql.SQL("GRANT {} TO {}")
        connection.execute(grant.format(*map(sql.Identifier, (group, role))))
        connection.execute(
            "INSERT INTO lab.member VALUES (%s, %s, %s, %s) ON CONFLICT (role) "
            "DO UPDATE SET admin = excluded.admin",
            (role, kind, name, admin),
        )
        if kind == "host":
            connection.execute(
                "INSERT INTO lab.host (name) VALUES (%s) ON CONFLICT DO NOTHING", [name]
            )


def _has_role(connection: psycopg.Connection, role: str) -> bool:
    query = "SELECT rolsuper FROM pg_roles WHERE rolname = %s"
    row = connection.execute(query, [role]).fetchone()
    if row and row[0]:
        raise UsageError(f"the role {role} is a superuser, who may be anybody")
    return row is not None


def _warn_of_connections(connection: psycopg.Connection) -> None:
    query = """SELECT current_setting('max_connections')::int,
        (SELECT count(*) FROM lab.host)"""
    row = connection.execute(query).fetchone()
    assert row
    needed = CONNECTIONS_PER_HOST * row[1] + SPARE_CONNECTIONS
    if needed > row[0]:
        print_line(f"set max_connections = {needed} in PostgreSQL; it has {row[0]}")
