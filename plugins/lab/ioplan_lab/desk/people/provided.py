"""People that an OIDC provider names: each has a name here of their own, for good."""

from __future__ import annotations

from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.errors import DeskError, Refused
from ioplan_lab.desk.people.oidc import Known
from ioplan_lab.desk.people.people import (
    NAME,
    SIGNED_IN,
    digest_of,
    new_cookie,
    new_token,
)
from ioplan_lab.desk.queue.tables import insert, locked

OF = "SELECT person FROM desk_provided WHERE issuer = :issuer AND subject = :subject"
IS_THERE = "SELECT name FROM desk_person WHERE name = :name"
SET_ROLE = "UPDATE desk_person SET role = :role WHERE name = :name"
DROP_OLD = "DELETE FROM desk_token WHERE person = :name AND expires_at <= :now"


def sign_in_known(database: DeskDatabase, known: Known) -> str:
    """The cookie of a browser that is signed in now, for as long as any.

    The role is what the provider says now. Raises Refused for a name that is another
    person's, DeskError for one that cannot be one, StoreError.
    """
    token, cookie = new_token(), new_cookie()
    with database.writing() as connection:
        locked(connection, "people", waits=True)
        who = {"issuer": known.issuer, "subject": known.subject}
        rows = connection.rows(OF, **who)
        name = rows[0]["person"] if rows else known.name
        is_there = bool(connection.rows(IS_THERE, name=name))
        if not rows:
            _check_name(name, is_there)
            insert(connection, "desk_provided", {**who, "person": name})
        now, end = stamp(), stamp(SIGNED_IN)
        role = {"name": name, "role": str(known.role)}
        if is_there:
            connection.change(SET_ROLE, role)
        else:
            insert(connection, "desk_person", {**role, "added_at": now})
        connection.change(DROP_OLD, {"name": name, "now": now})
        own = {"digest": digest_of(token), "expires_at": end}
        insert(connection, "desk_token", {**own, "person": name, "made_at": now})
        row = {"digest": digest_of(cookie), "token": own["digest"], "expires_at": end}
        insert(connection, "desk_browser", row)
    return cookie


def _check_name(name: str, is_there: bool) -> None:
    if not NAME.fullmatch(name):
        raise DeskError(f"the OIDC provider calls you {name!r}, which is no valid name")
    if is_there:
        raise Refused(
            f"there is another person {name!r} at this desk; an admin may remove it: "
            f"ioplan lab people remove {name}"
        )
