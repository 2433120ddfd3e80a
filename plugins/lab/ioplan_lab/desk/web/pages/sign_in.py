"""Signing in by a token, and out."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.people.people import SIGNED_IN, form_token, new_cookie
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.last_pages import credential_of
from ioplan_lab.desk.web.limits import WAIT
from ioplan_lab.desk.web.render import rendered
from ioplan_lab.desk.web.request_context import (
    RequestContext,
    allowed,
    cookie_name,
    give_cookie,
    last_pages,
)

NONE = "this token is invalid or has expired; ask an admin for another"


@allowed(None)
async def ask(context: RequestContext) -> Response:
    """The form, or the first page for who is signed in."""
    if context.person:
        return RedirectResponse("/", 303)
    return _form(context, "")


def _form(context: RequestContext, text: str, status: int = 200) -> Response:
    """With a cookie that nobody has yet, so that no other site can send it."""
    cookie = new_cookie()
    provider = context.desk.oidc
    name = urlsplit(provider.settings.issuer).hostname if provider else ""
    values = {"person": None, "path": "/sign-in", "text": text, "oidc": name}
    found = rendered(
        "sign_in.html.j2", status=status, form_token=form_token(cookie), **values
    )
    _give(context, found, cookie, 600)
    return found


@allowed(None)
async def enter(context: RequestContext) -> Response:
    """Sign in."""
    limits = context.request.app.state.limits
    cookie = await context.blocking(context.desk.people.sign_in, context.said("token"))
    if cookie is None:
        if not limits.failed(context.address):
            await context.note("sign in", "refused: too often")
            return _form(context, WAIT, 429)
        await context.note("sign in", "refused: no such token")
        return _form(context, NONE, 403)
    person = await context.blocking(context.desk.people.by_cookie, cookie)
    await RequestContext(context.request, context.desk, person).note("sign in", "done")
    found = RedirectResponse("/", 303)
    _give(context, found, cookie, int(SIGNED_IN.total_seconds()))
    return found


def _give(context: RequestContext, response: Response, cookie: str, age_s: int) -> None:
    give_cookie(response, context.desk, cookie_name(context.desk), cookie, age_s)


@allowed(Role.VIEWER)
async def leave(context: RequestContext) -> Response:
    """Sign out; the cookie is worth nothing from now on."""
    await context.blocking(context.desk.people.sign_out, context.cookie)
    last_pages(context.request).forget(credential_of(context.request))
    await context.note("sign out", "done")
    found = RedirectResponse("/sign-in", 303)
    found.delete_cookie(
        cookie_name(context.desk),
        secure=context.desk.tls,
        httponly=True,
        samesite="strict",
    )
    return found


ROUTES = (
    ("GET", "/sign-in", ask),
    ("POST", "/sign-in", enter),
    ("POST", "/sign-out", leave),
)
