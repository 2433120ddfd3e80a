"""The filters of `ioplan ls`: checked words, and what to say where they fit nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from ioplan.cli.errors import UsageError
from ioplan.core.text import did_you_mean
from ioplan.records.drive import Drive
from ioplan.records.session import SessionStatus
from ioplan.results.store.sessions import SessionFilter, SessionOverview, SessionVerdict
from ioplan.results.store.store import Store

DAY = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?")
AGO = re.compile(r"(\d+) ?(min|h|d|w)")
MINUTES = {"min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
WORDS = {
    "status": get_args(SessionStatus),
    "verdict": ("passed", *get_args(SessionVerdict)),
}


class Words(Struct, frozen=True):
    """What `ls` was called with."""

    drive: str | None = None
    host: str | None = None
    plan: str | None = None
    job: str | None = None
    tags: list[str] = []
    status: str | None = None
    verdict: str | None = None
    since: str | None = None
    limit: int | None = None


def filter_of(words: Words) -> SessionFilter:
    """The filter of these words. Raises UsageError."""
    for name, known in WORDS.items():
        word = getattr(words, name)
        if word is not None and word not in known:
            raise UsageError(
                f"--{name}: there is no {word!r}{did_you_mean(word, known)}; it is one "
                f"of {', '.join(known)}"
            )
    if words.limit is not None and words.limit < 1:
        raise UsageError(f"--limit is at least 1, not {words.limit}")
    return SessionFilter(
        drive=words.drive or "",
        host=words.host or "",
        plan=words.plan or "",
        job=words.job or "",
        tag=tuple(words.tags),
        status=words.status or "",
        verdict="held" if words.verdict == "passed" else words.verdict or "",
        since=since_of(words.since) if words.since else "",
        limit=words.limit,
    )


def since_of(text: str, now: datetime | None = None) -> str:
    """`2026-11-21`, `2026-11-21 05:00` or `7d` as a time in UTC. Raises UsageError."""
    try:
        if DAY.fullmatch(text):
            return datetime.fromisoformat(text).isoformat()
        if ago := AGO.fullmatch(text):
            past = timedelta(minutes=int(ago[1]) * MINUTES[ago[2]])
            begun = (now or datetime.now(UTC)) - past
            return begun.isoformat(timespec="seconds").removesuffix("+00:00")
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        f"--since takes a day or a time in UTC, such as 2026-11-21 or '2026-11-21 "
        f"05:00', or how long ago: 30min, 12h, 7d, 2w; not {text!r}"
    )


def _drive_words(one: SessionOverview) -> Iterable[str]:
    drive = one.drive or Drive()
    return (drive.lab_name, drive.serial, drive.wwid, one.target)


KNOWN: dict[str, Callable[[SessionOverview], Iterable[str]]] = {
    "drive": _drive_words,
    "host": lambda one: (one.host_name,),
    "plan": lambda one: (one.plan,),
    "job": lambda one: (one.job or "",),
    "tag": lambda one: one.tags,
}
"""What each filter may be, by the option's name."""


ONE = SessionFilter(limit=1)


def check_known(store: Store, wanted: SessionFilter) -> None:
    """Where nothing fits: whether a word is of no session at all. Raises UsageError."""
    asked = {name: getattr(wanted, name) for name in KNOWN}
    for name, words in asked.items():
        for word in (words,) if isinstance(words, str) else words:
            alone: dict[str, Any] = {name: word}
            if word and not store.overview(replace(ONE, **alone)):
                raise _unknown(store, name, word)


def _unknown(store: Store, name: str, word: str) -> UsageError:
    known = sorted({text for one in store.overview() for text in KNOWN[name](one)})
    known = [text for text in known if text]
    near = did_you_mean(word, known)
    some = "" if near or not known else f"; there is {', '.join(known[:5])}"
    more = ", …" if some and len(known) > 5 else ""
    return UsageError(
        f"--{name}: no session in {store.where} has {word!r}{near}{some}{more}"
    )
