"""Templates as answers; everything in them is escaped."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct
from starlette.responses import HTMLResponse, Response

from ioplan.core import (
    bytes_text,
    counted,
    iops_text,
    latency_text,
    printable,
    time_text,
)
from ioplan_lab.desk.people.role import Role

# The places that every page leads to.


class Place(Struct, frozen=True):
    """A page of the menu, from which role on it is shown."""

    title: str
    path: str
    role: Role = Role.VIEWER

    def is_here(self, path: str) -> bool:
        """Whether a page is this place, or below it."""
        below = self.path != "/" and path.startswith(f"{self.path}/")
        return path == self.path or below


MENU = (
    Place("Now", "/"),
    Place("Sessions", "/sessions"),
    Place("Drives", "/drives"),
    Place("Queue", "/queue"),
    Place("Reservations", "/reservations"),
    Place("Schedules", "/schedules"),
    Place("Consents", "/consents"),
    Place("Web hooks", "/hooks", Role.ADMIN),
    Place("Start a plan", "/start", Role.OPERATOR),
    Place("People", "/people", Role.ADMIN),
)


STATIC = ("desk.css", "desk.js")


@cache
def environment() -> Environment:
    """With the words of the field as filters."""
    made = Environment(
        loader=PackageLoader("ioplan_lab.desk.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "iops": lambda value: "" if value is None else iops_text(value),
        "latency": lambda value: "" if value is None else latency_text(value),
        "duration": lambda value: "" if value is None else time_text(value),
        "size": lambda value: "" if value is None else bytes_text(value),
        "celsius": lambda value: "" if value is None else f"{value:.0f} °C",
        "percent": lambda value: f"{value:.0%}",
        "moment": moment,
        "counted": counted,
        "printable": printable,
    }
    made.globals |= {"static": static_address, "form_field": form_field}
    made.globals |= {"menu": MENU, "Role": Role}
    return made


def moment(stamp: str | None) -> str:
    """A time of a record, in UTC, as it is read: 2026-11-22 15:45."""
    return (stamp or "").replace("T", " ")[:16]


def form_field(token: str) -> Markup:
    """What every form that changes something has in it."""
    return Markup('<input type="hidden" name="form_token" value="{}">').format(token)


def rendered(template: str, *, status: int = 200, **values: Any) -> Response:
    """A page."""
    text = environment().get_template(template).render(**values)
    return HTMLResponse(text, status)


@cache
def static_file(name: str) -> bytes:
    """A file that all pages use: the colours are those of the report."""
    data = (files("ioplan_lab.desk.web") / "static" / name).read_bytes()
    if name == "desk.css":
        data = (files("ioplan.results.report.html") / "palette.css").read_bytes() + data
    return data


@cache
def static_address(name: str) -> str:
    """Where it is; another content has another address, so browsers may keep it."""
    return f"/static/{hashlib.sha256(static_file(name)).hexdigest()[:16]}/{name}"
