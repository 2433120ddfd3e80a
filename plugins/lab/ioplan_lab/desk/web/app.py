"""The pages as an application: which there are, for whom, and what guards them."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.web.headers import KnownHosts, SafeHeaders, own_names
from ioplan_lab.desk.web.last_pages import LastPages, Pulse
from ioplan_lab.desk.web.limits import LimitRequests, Limits
from ioplan_lab.desk.web.pages import (
    compare,
    consents,
    drive,
    drives,
    hooks,
    host,
    job,
    metrics,
    now,
    oidc,
    people,
    queue,
    report,
    reservations,
    schedules,
    sessions,
    sign_in,
    start,
    static,
)
from ioplan_lab.desk.web.render import rendered
from ioplan_lab.desk.web.request_context import Page, answered, role_of

PAGES: tuple[ModuleType, ...] = (
    *(sign_in, oidc, now, job, sessions, report, compare, drives, drive, host),
    *(queue, reservations, schedules, consents, hooks),
    *(start, people, metrics, static),
)
"""Each has ROUTES: method, path, function."""


def create_app(desk: Desk) -> Starlette:
    """The whole desk. Raises TypeError for a page that does not say for whom it is."""
    limits = Limits()
    app = Starlette(
        routes=[_route(*one) for module in PAGES for one in module.ROUTES],
        middleware=[
            Middleware(SafeHeaders, tls=desk.tls),
            Middleware(KnownHosts, names=(*own_names(), *desk.names)),
            Middleware(LimitRequests, limits=limits),
        ],
        exception_handlers={404: _nothing, 405: _nothing},
    )
    app.state.desk, app.state.limits = desk, limits
    app.state.begun = oidc.Begun()
    app.state.last = LastPages(Pulse(desk.ping))
    return app


def _route(method: str, path: str, page: Page) -> Route:
    endpoint = partial(answered, page, role_of(page))
    return Route(path, endpoint, methods=[method], name=f"{method} {path}")


async def _nothing(request: Request, error: Exception) -> Response:
    text = "there is no such page"
    values = {"person": None, "path": "", "form_token": ""}
    return rendered("error.html.j2", status=404, text=text, **values)
