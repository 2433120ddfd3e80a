"""What a desk shows while its database is away: each page as it was seen last.

A page is kept for whoever got it, by the credential that it was asked for with, so
nobody sees more than while the database answers. It is served with its age at once:
one probe at a time asks whether the database is back, and no other request waits.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from html import escape
from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from ioplan.core import time_text
from ioplan.results.store import StoreError
from ioplan_lab.desk.people.people import SIGNED_IN, Person

PATIENCE_S, PROBE_S, AGAIN_S = 0.5, 0.3, 2.0
"""A page that takes longer has the database probed, which then has so long to answer;
one that is away is probed again after the last."""
MOST_KEPT, MOST_BYTES = 300, 2 << 20
KINDS = ("text/html", "application/json")
MAIN = b'<main id="main" tabindex="-1">'

Answer = TypeVar("Answer")


class Pulse:
    """Whether the database answers, as far as is known without waiting for it."""

    def __init__(self, ping: Callable[[], object]) -> None:
        """`ping` asks the database for anything. Raises StoreError."""
        self._ping = ping
        self._thread = ThreadPoolExecutor(1, "probe")
        self._probe: Future[None] | None = None
        self._failed_s = 0.0
        self._is_away = False

    @property
    def is_away(self) -> bool:
        """Whether it was away at the last probe; an old one is repeated."""
        if self._is_away and time.monotonic() - self._failed_s > AGAIN_S:
            self._begun()
        return self._is_away

    def failed(self) -> None:
        """A request has found it away."""
        self._is_away, self._failed_s = True, time.monotonic()

    async def is_silent(self) -> bool:
        """Ask it now; True where it does not answer in a moment."""
        probe = asyncio.wrap_future(self._begun())
        done, _ = await asyncio.wait([probe], timeout=PROBE_S)
        if not done:
            self.failed()
        return self._is_away

    def _begun(self) -> Future[None]:
        if self._probe is None or self._probe.done():
            self._probe = self._thread.submit(self._ask)
        return self._probe

    def _ask(self) -> None:
        try:
            self._ping()
        except StoreError:
            self.failed()
        else:
            self._is_away = False

    def close(self) -> None:
        """A probe that hangs ends by itself."""
        self._thread.shutdown(wait=False)


class Kept(Struct, frozen=True):
    """A page, when it was made, and for whom."""

    body: bytes
    kind: str
    at_s: float


class LastPages:
    """In memory, of the last that were asked for."""

    def __init__(self, pulse: Pulse) -> None:
        self.pulse = pulse
        self._pages: OrderedDict[tuple[str, str], Kept] = OrderedDict()
        self._people: OrderedDict[str, tuple[Person, float]] = OrderedDict()

    def keep(self, request: Request, response: Response) -> None:
        """A page that was answered well; one that is streamed or large is not."""
        kind = response.headers.get("content-type", "").partition(";")[0]
        body = getattr(response, "body", None)
        whole = isinstance(body, bytes) and len(body) <= MOST_BYTES
        if response.status_code == 200 and kind in KINDS and whole:
            assert isinstance(body, bytes)
            _put(self._pages, _key(request), Kept(body, kind, time.time()))

    def page(self, request: Request) -> Response | None:
        """The last version of a page, with its age."""
        kept = self._pages.get(_key(request))
        if kept is None:
            return None
        age_s = max(0.0, time.time() - kept.at_s)
        headers = {"Age": f"{age_s:.0f}", "Warning": '110 - "the database is away"'}
        body = kept.body
        if kept.kind == "text/html":
            body = _told(body, age_s)
        return Response(body, media_type=kept.kind, headers=headers)

    def keep_person(self, credential: str, person: Person) -> None:
        """Who was known by a credential."""
        _put(self._people, _digest(credential), (person, time.monotonic()))

    def person(self, credential: str) -> Person | None:
        """Who it was, for as long as browsers stay signed in."""
        found = self._people.get(_digest(credential))
        if found and time.monotonic() - found[1] < SIGNED_IN.total_seconds():
            return found[0]
        return None

    def forget(self, credential: str) -> None:
        """Who has signed out sees nothing more."""
        owner = _digest(credential)
        self._people.pop(owner, None)
        for key in [one for one in self._pages if one[0] == owner]:
            del self._pages[key]


Key = TypeVar("Key")


def _put(kept: OrderedDict[Key, Answer], key: Key, value: Answer) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)


def credential_of(request: Request) -> str:
    """What says who asks: cookie and token, as they were sent."""
    sent = request.headers
    return f"{sent.get('cookie', '')}\n{sent.get('authorization', '')}"


def _key(request: Request) -> tuple[str, str]:
    url = request.url
    return _digest(credential_of(request)), f"{url.path}?{url.query}"


def _digest(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()


def _told(body: bytes, age_s: float) -> bytes:
    """A page, or a part of one, that says how old it is."""
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time.time() - age_s))
    text = (
        f"The desk's database does not answer. This is as of {at}, "
        f"{time_text(age_s)} ago; jobs go on, and can be cancelled."
    )
    told = f'<p class="warning" role="status">{escape(text)}</p>'.encode()
    before, main, after = body.partition(MAIN)
    return before + main + told + after if main else told + body
