"""Signing in by the provider of the lab's own people."""

from __future__ import annotations

import time
from collections import OrderedDict

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.errors import DeskError, Missing, Refused
from ioplan_lab.desk.people.oidc import Provider, SignIn
from ioplan_lab.desk.people.people import SIGNED_IN, digest_of, is_same, new_cookie
from ioplan_lab.desk.people.provided import sign_in_known
from ioplan_lab.desk.web.limits import WAIT
from ioplan_lab.desk.web.request_context import (
    RequestContext,
    allowed,
    cookie_name,
    give_cookie,
)

PATH, BACK, OUT = "/sign-in/oidc", "/sign-in/oidc/done", "/sign-in/oidc/out"
BEGUN_S, MOST_BEGUN = 600, 1000


class Begun:
    """Sign-ins that have begun, by the browser's cookie; each is ended once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, SignIn]] = OrderedDict()

    def add(self, cookie: str, one: SignIn) -> None:
        """Keep it for a while; of too many the oldest are forgotten."""
        self._known[digest_of(cookie)] = time.monotonic(), one
        while len(self._known) > MOST_BEGUN:
            self._known.popitem(last=False)

    def take(self, cookie: str) -> SignIn | None:
        """It is not there a second time."""
        at_s, one = self._known.pop(digest_of(cookie), (0.0, None))
        return one if one and time.monotonic() - at_s < BEGUN_S else None


@allowed(None)
async def begin(context: RequestContext) -> Response:
    """To the provider."""
    back = f"{context.request.url.scheme}://{context.request.headers['host']}{BACK}"
    one, address = await context.blocking(_provider(context).begin, back)
    cookie = new_cookie()
    context.request.app.state.begun.add(cookie, one)
    found = RedirectResponse(address, 303)
    # lax: it comes back from another site
    give_cookie(found, context.desk, _cookie(context), cookie, BEGUN_S)
    return found


@allowed(None)
async def end(context: RequestContext) -> Response:
    """Back from the provider, signed in or not."""
    try:
        cookie = await _signed_in(context)
    except DeskError as error:
        limits = context.request.app.state.limits
        text = str(error) if limits.failed(context.address) else WAIT
        await context.note("sign in by OIDC", f"refused: {text}")
        return context.page("error.html.j2", status=error.status, text=text)
    person = await context.blocking(context.desk.people.by_cookie, cookie)
    one = RequestContext(context.request, context.desk, person)
    await one.note("sign in by OIDC", "done")
    # a redirect would be of the provider's site still, and without the cookie
    found = context.page("signed_in.html.j2", name=one.name)
    desk, age_s = context.desk, SIGNED_IN.total_seconds()
    give_cookie(found, desk, cookie_name(desk), cookie, age_s)
    found.delete_cookie(_cookie(context), secure=context.desk.tls, httponly=True)
    return found


@allowed(None)
async def leave(context: RequestContext) -> Response:
    """To the provider, which else signs in the next person here as the last one."""
    address = await context.blocking(_provider(context).sign_out_address)
    return RedirectResponse(address, 303)


async def _signed_in(context: RequestContext) -> str:
    """The cookie. Raises DeskError."""
    sent = context.request.cookies.get(_cookie(context), "")
    one = context.request.app.state.begun.take(sent)
    if one is None or not is_same(context.asked("state"), one.state):
        raise Refused("this sign-in was not begun here, or long ago; begin again")
    if said := context.asked("error"):
        raise Refused(f"the OIDC provider says: {said}")
    if not (code := context.asked("code")):
        raise Refused("the OIDC provider sent no code")
    known = await context.blocking(_provider(context).end, one, code)
    return await context.blocking(sign_in_known, context.desk.database, known)


def _provider(context: RequestContext) -> Provider:
    if context.desk.oidc is None:
        raise Missing("this desk has no OIDC provider: ioplan lab serve --oidc FILE")
    return context.desk.oidc


def _cookie(context: RequestContext) -> str:
    return f"{cookie_name(context.desk)}-oidc"


ROUTES = (("GET", PATH, begin), ("GET", BACK, end), ("GET", OUT, leave))
