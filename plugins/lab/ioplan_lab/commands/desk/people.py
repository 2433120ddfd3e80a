"""`ioplan lab people`: who may use the desk."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from ioplan.cli import UsageError, print_line, print_listing, print_message
from ioplan.core import did_you_mean
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.people.people import Listed, People
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.decide import EVERYONE, Quota, Quotas
from ioplan_lab.desk.queue.permissions import PROJECT, Projects
from ioplan_lab.desk.tags import check_tag


def list_people(lab: Path | None) -> None:
    """Print who there is. Raises LabError, StoreError."""
    with desk_database(lab) as database:
        everyone, quotas = People(database).everyone(), Quotas(database).all()
        projects = Projects(database).projects()
    if not everyone:
        raise UsageError(
            "the desk has no people yet: ioplan lab people add NAME --role admin"
        )
    others = quotas.get(EVERYONE, Quota())
    rows = [
        (one.name, one.role, _until(one), quotas.get(one.name, others).text)
        for one in everyone
    ]
    shown = 4 if quotas else 3
    headings = ("person", "role", "token until", "quota")
    print_listing(headings[:shown], (row[:shown] for row in rows))
    for name, people in projects.items():
        quota = quotas.get(f"{PROJECT}{name}", Quota()).text
        print_line(f"{PROJECT}{name}: {', '.join(people)}; {quota or 'no quota'}")


def _until(one: Listed) -> str:
    if one.expires_at is None:
        return "no token is valid"
    return one.expires_at[:10] or "without end"


def add_person(name: str, role: str, days: int | None, lab: Path | None) -> None:
    """Add one. Raises UsageError, DeskError, LabError, StoreError."""
    if role not in list(Role):
        near = did_you_mean(role, list(Role))
        raise UsageError(f"--role is one of {', '.join(Role)}, not {role!r}{near}")
    valid = _valid(days)
    with desk_database(lab) as database:
        token = People(database).add(name, Role(role), valid)
    print_message(f"{name} has the role {role}; this token is shown only once:")
    print_line(token)


def add_token(name: str, days: int | None, lab: Path | None) -> None:
    """One more token. Raises UsageError, DeskError, LabError, StoreError."""
    valid = _valid(days)
    with desk_database(lab) as database:
        token = People(database).new_token(name, valid)
    print_message("this token is shown only once; the earlier ones are valid, too:")
    print_line(token)


def _valid(days: int | None) -> timedelta | None:
    if days is not None and not 0 < days <= 3650:
        raise UsageError("--days is between 1 and 3650")
    return timedelta(days=days) if days else None


def set_quota(
    name: str, drives: int | None, hours: float | None, lab: Path | None
) -> None:
    """Raises DeskError, Missing, LabError, StoreError."""
    quota = Quota(drives, hours)
    with desk_database(lab) as database:
        Quotas(database).set(name, quota)
    who = "everyone without a quota of their own" if name == EVERYONE else name
    print_line(f"{who}: {quota.text or 'no quota'}")


def change_project(
    name: str, add: list[str], take_out: list[str], lab: Path | None
) -> None:
    """Raises DeskError, LabError, StoreError."""
    with desk_database(lab) as database:
        projects = Projects(database)
        projects.change(name, add, take_out)
        people = projects.projects().get(name, ())
    print_line(f"{PROJECT}{name}: {', '.join(people) or 'nobody'}")


def permit(tag: str, to: list[str], no_longer: list[str], lab: Path | None) -> None:
    """Raises DeskError, LabError, StoreError."""
    check_tag(tag)
    with desk_database(lab) as database:
        projects = Projects(database)
        projects.permit(tag, to, no_longer)
        who = projects.permitted().get(tag, ())
    print_line(f"drives with the tag {tag}: {', '.join(who) or 'for all'}")


def revoke_tokens(name: str, lab: Path | None) -> None:
    """All of a person's. Raises DeskError, LabError, StoreError."""
    with desk_database(lab) as database:
        People(database).revoke(name)
    print_line(f"{name} has no tokens left")


def remove_person(name: str, lab: Path | None) -> None:
    """With all tokens. Raises DeskError, LabError, StoreError."""
    with desk_database(lab) as database:
        People(database).remove(name)
    print_line(f"{name} is removed")
