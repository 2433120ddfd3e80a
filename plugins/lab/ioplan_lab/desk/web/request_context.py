"""A request, who makes it, and whether it may."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ioplan.core import ExplainedError, StoreFault, printable
from ioplan.results.store import StoreError
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError, Missing, Refused
from ioplan_lab.desk.people.people import Person, form_token, is_same
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.last_pages import PATIENCE_S, LastPages, credential_of
from ioplan_lab.desk.web.limits import WAIT, body_of
from ioplan_lab.desk.web.render import rendered

Answer = TypeVar("Answer")
SAFE = ("GET", "HEAD")
FIELD = "form_token"
MOST_FIELDS = 500
LAST_PAGE = 1000
FORM = "application/x-www-form-urlencoded"
OUTCOMES = {403: "refused"}
"""How the log calls what was not done."""
FAILED = "ioplan itself failed; the desk's log has the reason, please report it"
AWAY = (
    "the desk's database does not answer, and this page was not shown before; jobs go "
    "on, and the desk's log has the reason"
)
LOG = logging.getLogger("uvicorn.error")
"""The server's, which goes to standard error."""


class RequestContext(Struct, frozen=True):
    """What a page's function gets; `person` is None before the sign-in only.

    `cookie` is the browser's, empty for programs, which send their token each time.
    `form` has what was sent, the values of a name in their order.
    """

    request: Request
    desk: Desk
    person: Person | None
    cookie: str = ""
    form: Mapping[str, list[str]] = {}

    def said(self, name: str, usual: str = "") -> str:
        """A field of the form, without white space around it."""
        return self.form.get(name, [usual])[-1].strip()

    def asked(self, name: str, usual: str = "") -> str:
        """A word of the address's query. Raises DeskError if it cannot be shown."""
        found = self.request.query_params.get(name, usual).strip()
        if printable(found) != found:
            raise DeskError(f"{name!r} has characters that cannot be shown")
        return found

    @property
    def id(self) -> str:
        """What the address names."""
        return str(self.request.path_params["id"])

    @property
    def number(self) -> int:
        """The id as a number. Raises Missing."""
        if not self.id.isdecimal() or len(self.id) > 9:
            raise Missing(f"there is no number {self.id!r}")
        return int(self.id)

    @property
    def page_number(self) -> int:
        """Which page of a list is asked for, from 1. Raises DeskError."""
        word = self.asked("page", "1")
        number = int(word[:9]) if word.isascii() and word.isdecimal() else 0
        if not 1 <= number <= LAST_PAGE:
            raise DeskError(f"there is no page {word!r}")
        return number

    @property
    def name(self) -> str:
        """The person's name."""
        return self.person.name if self.person else ""

    @property
    def address(self) -> str:
        """Where the request comes from."""
        return address_of(self.request)

    async def blocking(
        self, function: Callable[..., Answer], *args: Any, **more: Any
    ) -> Answer:
        """What reads or computes, in a thread: the loop serves others meanwhile."""
        return await run_in_threadpool(partial(function, *args, **more))

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page of a template; each has the person, the path and the form's token."""
        return rendered(
            template,
            status=status,
            person=self.person,
            path=self.request.url.path,
            form_token=form_token(self.cookie) if self.cookie else "",
            **values,
        )

    async def note(self, deed: str, outcome: str) -> None:
        """Write it to the log of who did what; to the server's where that is away."""
        if last_pages(self.request).pulse.is_away:
            LOG.warning("%s from %s: %s: %s", self.name, self.address, deed, outcome)
            return
        add = self.desk.audit.add
        await self.blocking(add, self.name or "-", self.address, deed, outcome)


Page = Callable[[RequestContext], Awaitable[Response]]


def allowed(role: Role | str | None) -> Callable[[Page], Page]:
    """Who may call a page: from this role on; None is for the sign-in alone."""

    def marked(page: Page) -> Page:
        page.__dict__["allowed"] = Role(role) if role else None
        return page

    return marked


def always(page: Page) -> Page:
    """A page that needs no database: who asks is known from before, if it is away."""
    page.__dict__["always"] = True
    return page


def last_pages(request: Request) -> LastPages:
    """What is shown while the database is away."""
    found: LastPages = request.app.state.last
    return found


def role_of(page: Page) -> Role | None:
    """Whom a page is for. Raises TypeError where nobody has decided."""
    if "allowed" not in page.__dict__:
        raise TypeError(f"{page.__name__} has no access rule: add @allowed")
    found: Role | None = page.__dict__["allowed"]
    return found


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else "-"


def cookie_name(desk: Desk) -> str:
    """With TLS, browsers take a cookie of this prefix from this very host only."""
    return "__Host-ioplan" if desk.tls else "ioplan"


def give_cookie(
    response: Response, desk: Desk, name: str, cookie: str, age_s: float
) -> None:
    """For this site alone, and no script."""
    response.set_cookie(
        name,
        cookie,
        max_age=int(age_s),
        httponly=True,
        samesite="strict" if name == cookie_name(desk) else "lax",
        secure=desk.tls,
        path="/",
    )


def bearer_token(request: Request) -> str:
    """A program's; empty for browsers, which send no such header by themselves."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return (token.strip() or "none") if scheme.casefold() == "bearer" else ""


async def context_of(request: Request, known: Person | None = None) -> RequestContext:
    """Who asks: by the token of a program, or by the cookie of a browser."""
    desk: Desk = request.app.state.desk
    if known:
        cookie = request.cookies.get(cookie_name(desk), "")
        return RequestContext(request, desk, known, cookie)
    if token := bearer_token(request):
        person = await run_in_threadpool(desk.people.by_token, token)
        return RequestContext(request, desk, person)
    cookie = request.cookies.get(cookie_name(desk), "")
    if not cookie:
        return RequestContext(request, desk, None)
    return RequestContext(
        request, desk, await run_in_threadpool(desk.people.by_cookie, cookie), cookie
    )


async def answered(page: Page, needed: Role | None, request: Request) -> Response:
    """The page, or why this person does not get it, or why nobody does.

    While the database is away, the page as it was last, at once.
    """
    last = last_pages(request)
    if last.pulse.is_away or (
        "always" in page.__dict__ and await last.pulse.is_silent()
    ):
        return await _without_database(page, needed, request)
    task = asyncio.ensure_future(_answered(page, needed, request))
    try:
        while not (await asyncio.wait([task], timeout=PATIENCE_S))[0]:
            if request.method in SAFE and await last.pulse.is_silent():
                task.add_done_callback(_heard)
                return await _without_database(page, needed, request)
        response = task.result()
    except StoreError as error:
        LOG.error("%s", error)
        last.pulse.failed()
        return await _without_database(page, needed, request)
    if request.method in SAFE and needed:
        last.keep(request, response)
    return response


def _heard(task: asyncio.Future[Response]) -> None:
    """What it came to is of no interest any more."""
    if not task.cancelled() and (error := task.exception()):
        LOG.error("%s", error)


async def _without_database(
    page: Page, needed: Role | None, request: Request
) -> Response:
    last = last_pages(request)
    person = last.person(credential_of(request))
    if "always" in page.__dict__ and person:
        with suppress(StoreError):
            return await _answered(page, needed, request, person)
    elif request.method in SAFE and person and (kept := last.page(request)):
        return kept
    values = {"person": None, "path": "", "form_token": ""}
    return rendered("error.html.j2", status=503, text=AWAY, **values)


async def _answered(
    page: Page, needed: Role | None, request: Request, known: Person | None = None
) -> Response:
    """`known` is who asks, where the database cannot tell."""
    context = await context_of(request, known)
    last, credential = last_pages(request), credential_of(request)
    if context.person:
        last.keep_person(credential, context.person)
    else:
        last.forget(credential)
    is_program = bool(bearer_token(request))
    if is_program and context.person is None and not _may_guess(context):
        found = context.page("error.html.j2", status=429, text=WAIT)
        found.headers["Retry-After"] = "60"
        return found
    if needed and context.person is None:
        return _unknown(context)
    if needed and context.person and not context.person.may(needed):
        return await _refused(context, needed)
    try:
        if request.method not in SAFE:
            context = await _with_form(context, is_program)
        response = await page(context)
    except ExplainedError as error:
        if error.kind == StoreFault.STORE_UNREACHABLE:
            raise
        status = error.status if isinstance(error, DeskError) else 400
        if request.method not in SAFE:
            await context.note(
                _deed(context), f"{OUTCOMES.get(status, 'not done')}: {error}"
            )
        return context.page("error.html.j2", status=status, text=str(error))
    except Exception:
        LOG.exception("%s %s", request.method, request.url.path)
        return context.page("error.html.j2", status=500, text=FAILED)
    return response


def _may_guess(context: RequestContext) -> bool:
    """Counts a token that was none."""
    within: bool = context.request.app.state.limits.failed(context.address)
    return within


def _deed(context: RequestContext) -> str:
    return f"{context.request.method} {context.request.url.path}"


def _unknown(context: RequestContext) -> Response:
    is_program = "authorization" in context.request.headers
    if is_program or context.request.method not in SAFE or _is_part(context.request):
        text = "sign in first, or send a valid token: Authorization: Bearer TOKEN"
        found = context.page("error.html.j2", status=401, text=text)
        found.headers["WWW-Authenticate"] = "Bearer"
        return found
    return RedirectResponse("/sign-in", 303)


def _is_part(request: Request) -> bool:
    """Whether a script asks for a part of a page."""
    return request.headers.get("x-part") == "1"


async def _refused(context: RequestContext, needed: Role) -> Response:
    assert context.person
    text = (
        f"this needs the role {needed}, and {context.name} has {context.person.role}; "
        "an admin changes that with `ioplan lab people`"
    )
    if context.request.method not in SAFE:
        await context.note(_deed(context), f"refused: a {context.person.role}")
    return context.page("error.html.j2", status=403, text=text)


async def _with_form(context: RequestContext, is_program: bool) -> RequestContext:
    """With what was sent, if this site's own form sent it. Raises Refused."""
    request = context.request
    if not is_program:
        _check_origin(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await body_of(request)
    if body and kind != FORM:
        raise Refused(f"send a form as {FORM}, not as {kind or 'nothing'}")
    form = _fields(body)
    sent = form.get(FIELD, [""])[-1]
    if not is_program and not (
        context.cookie and is_same(sent, form_token(context.cookie))
    ):
        raise Refused(
            "the form is from another sign-in; go back, reload the page, and send it "
            "again"
        )
    return RequestContext(request, context.desk, context.person, context.cookie, form)


def _check_origin(request: Request) -> None:
    """A browser says where a form was sent from. Raises Refused."""
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    site = request.headers.get("sec-fetch-site", "same-origin")
    if (origin is not None and origin != own) or site not in ("same-origin", "none"):
        raise Refused("the form was sent from another site")


def _fields(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=bool(body),
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise DeskError("the request is not a form in UTF-8") from error
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return found
