"""`ioplan lab page`: the lab to read. It changes nothing, and knows no people."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ioplan.cli import UsageError, print_line
from ioplan.core import time_text
from ioplan.results.store import StoreError
from ioplan_lab.database.connection import LabDatabase, lab_address, lab_database
from ioplan_lab.page.listings import (
    AT_ONCE,
    LISTINGS,
    LIVE_FROM,
    NOW,
    Listing,
    lines,
    live_texts,
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:"
)
"""A report's own scripts run under no origin: they reach no other page."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
SESSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
"""No option of a command."""
MOST_PAGES, MOST_SESSIONS = 200, 20
LIVE_S, REPORT_S = 1.0, 120
REPORTS = threading.BoundedSemaphore(2)


class Page:
    """The pages of one lab. Those that were shown last are kept for when its database
    does not answer."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._last: dict[str, tuple[float, str]] = {}

    def kept(self, url: str, make: Callable[[LabDatabase], str]) -> tuple[str, float]:
        """A page, and how old it is in seconds. Raises StoreError."""
        try:
            with lab_database(self.address) as database:
                text = make(database)
        except StoreError:
            if url not in self._last:
                raise
            at_s, text = self._last[url]
            return text, max(1.0, time.monotonic() - at_s)
        self._last.pop(url, None)
        self._last[url] = time.monotonic(), text
        while len(self._last) > MOST_PAGES:
            del self._last[next(iter(self._last))]
        return text, 0.0

    # ---- pages

    def listing(self, listing: Listing, request: Request) -> Response:
        """A table, 50 rows at once."""
        words, number = asked(request)
        make = partial(self._listing, listing, words, number)
        try:
            text, age_s = self.kept(f"{listing.path}?{number}&{words}", make)
        except StoreError as error:
            text = rendered("error.html.j2", title=listing.title, why=str(error))
            return HTMLResponse(text, 503)
        if age_s:
            note = f"The database does not answer: this is {time_text(age_s)} old."
            text = text.replace("<!-- age -->", f'<p class="age">{note}</p>', 1)
        return HTMLResponse(text, headers={"Age": f"{age_s:.0f}"})

    def _listing(
        self, listing: Listing, words: str, number: int, database: LabDatabase
    ) -> str:
        keys = listing.keys(database, words, number)
        shown = lines(listing, listing.rows(database, keys[:AT_ONCE]))
        return rendered(
            "listing.html.j2",
            title=listing.title,
            listing=listing,
            lines=shown,
            left_out=len(keys[:AT_ONCE]) - len(shown),
            words=words,
            newer=link(listing, words, number - 1) if number > 1 else "",
            older=link(listing, words, number + 1) if len(keys) > AT_ONCE else "",
            live=link(NOW, words, number, "/now.json") if listing is NOW else "",
            live_from=LIVE_FROM,
        )

    def now(self, request: Request) -> Response:
        """What changes of a page of Now, by session: asked by each viewer, made once a
        second for all of them."""
        words, number = asked(request)
        url = f"/now.json?{number}&{words}"
        at_s, text = self._last.get(url, (0.0, ""))
        age_s = 0.0
        if time.monotonic() - at_s > LIVE_S:
            try:
                text, age_s = self.kept(url, partial(self._now, words, number))
            except StoreError:
                return Response('{"age_s": null}', 503, media_type="application/json")
        return Response(
            text, headers={"Age": f"{age_s:.0f}"}, media_type="application/json"
        )

    def _now(self, words: str, number: int, database: LabDatabase) -> str:
        rows = NOW.rows(database, NOW.keys(database, words, number)[:AT_ONCE])
        return json.dumps({row["session"]: live_texts(row) for row in rows})

    def report(self, request: Request) -> Response:
        """A report, by a process of its own."""
        sessions = request.query_params.getlist("session")[:MOST_SESSIONS]
        if not sessions or not all(map(SESSION.fullmatch, sessions)):
            return HTMLResponse("no session of that id", 404)
        with REPORTS, TemporaryDirectory() as folder:
            file = Path(folder) / "report.html"
            words = ["-m", "ioplan.cli", "report", *sessions, "-o", str(file)]
            done = subprocess.run(
                [sys.executable, *words],
                env={**os.environ, "IOPLAN_STORE": self.address},  # no `ps` shows it
                capture_output=True,
                check=False,
                timeout=REPORT_S,
                text=True,
            )
            if done.returncode or not file.exists():
                text = rendered(
                    "error.html.j2", title="Report", why=done.stderr[-2000:]
                )
                return HTMLResponse(text, 404)
            headers = {"Content-Security-Policy": REPORT_POLICY}
            return HTMLResponse(file.read_text(), headers=headers)


def asked(request: Request) -> tuple[str, int]:
    """The words that are searched, and the number of the page."""
    number = request.query_params.get("page", "1")
    page = int(number) if re.fullmatch(r"[1-9]\d{0,4}", number) else 1
    return request.query_params.get("q", "")[:200].replace("\0", ""), page


def link(listing: Listing, words: str, number: int, path: str = "") -> str:
    """The address of a page of a table."""
    pairs = {"q": words} if words else {}
    return f"{path or listing.path}?{urlencode({**pairs, 'page': number})}"


@cache
def environment() -> Environment:
    """All that stands in a template is escaped."""
    return Environment(
        loader=PackageLoader("ioplan_lab.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, **values: Any) -> str:
    """A page."""
    return environment().get_template(template).render(menu=LISTINGS, **values)


def static(request: Request) -> Response:
    """The one style and the one script."""
    name = request.path_params["name"]
    if name not in STATIC:
        return HTMLResponse("", 404)
    text = files("ioplan_lab.page").joinpath("static", name).read_text()
    return Response(text, media_type=STATIC[name])


def page_app(address: str, names: tuple[str, ...] = ()) -> Any:
    """The application; `names` are those by which browsers may call it."""
    page = Page(address)
    routes = [
        Route(one.path, partial(page.listing, one), methods=["GET"]) for one in LISTINGS
    ]
    routes += [
        Route("/now.json", page.now, methods=["GET"]),
        Route("/report", page.report, methods=["GET"]),
        Route("/static/{name}", static, methods=["GET"]),
    ]
    known = ["127.0.0.1", "localhost", "[::1]", *names]
    app = Starlette(
        routes=[with_headers(route) for route in routes],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=known)],
    )
    return app


def with_headers(route: Route) -> Route:
    """With what browsers are told to refuse, unless the answer says its own."""
    answer: Callable[[Request], Response] = route.endpoint

    def endpoint(request: Request) -> Response:
        response = answer(request)
        headers: Mapping[str, str] = HEADERS
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        return response

    return Route(route.path, endpoint, methods=["GET"])


def serve_page(
    *, listen: str, names: list[str], behind_proxy: bool, lab: Path | None
) -> None:
    """Until it is ended. Raises UsageError."""
    host, colon, port = listen.rpartition(":")
    if not (colon and port.isdecimal() and int(port) < 65536):
        raise UsageError(
            f"--listen takes HOST:PORT, such as 127.0.0.1:8780: {listen!r}"
        )
    host = host.strip("[]") or "127.0.0.1"
    if not behind_proxy and not is_loopback(host):
        raise UsageError(
            f"{host} is reachable from other hosts, and the page asks nobody who they "
            "are: leave it on 127.0.0.1 behind a proxy that signs people in, or add "
            "--behind-proxy if only that proxy reaches it"
        )
    app = page_app(lab_address(lab), tuple(names))
    print_line(f"the lab is at http://{listen}/")
    uvicorn.run(app, host=host, port=int(port), log_level="warning", access_log=False)


def is_loopback(host: str) -> bool:
    """Whether only this host reaches it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
