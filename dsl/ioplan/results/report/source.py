"""What a picture names when it leaves its report: drive, firmware, date, session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from ioplan.language.plan import FULL, RepeatTemplate, RunTemplate, StepTemplate, Test
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.headlines.doubts import is_virtual

# What sessions are called in a report: as short as tells them apart.

Target = dict[str, Any]


def labels(sessions: Sequence[Session], targets: Sequence[Target]) -> list[str]:
    """A label for each session: its drive, then what else is needed.

    Sessions of the same label take firmware, backend, serial number, and at last
    the end of their id, as far as these differ between them.
    """
    pairs = list(zip(sessions, targets, strict=True))
    texts = [drive(session, target) for session, target in pairs]
    for addition in ADDITIONS:
        added = [addition(session, target) for session, target in pairs]
        texts = [
            f"{text}, {more}" if more and _distinguishes(text, texts, added) else text
            for text, more in zip(texts, added, strict=True)
        ]
    return texts


def _distinguishes(text: str, texts: list[str], added: list[str]) -> bool:
    """Whether what is added differs between those that have the text in common."""
    same = [more for one, more in zip(texts, added, strict=True) if one == text]
    return len(set(same)) > 1


def _identity(name: str) -> Callable[[Session, Target], str]:
    return lambda _, target: str(target.get("identity", {}).get(name, ""))


ADDITIONS: tuple[Callable[[Session, Target], str], ...] = (
    _identity("firmware"),
    lambda session, _: session.backend,
    _identity("serial"),
    lambda session, _: session.id.rpartition("-")[2],
    lambda session, _: session.id,
)


def drive(session: Session, target: Target) -> str:
    """The model of a drive, else the name of its file."""
    model = target.get("identity", {}).get("model")
    return str(model or PurePath(session.target).name or session.target)


class Source(Struct, frozen=True):
    """Where the figures of a session come from, as short texts."""

    label: str
    drive: str
    firmware: str
    date: str
    session: str
    tool: str
    simulated: bool = False
    profile: str = ""
    """Which part of the plan was measured; empty of all of it."""


def source(label: str, session: Session, records: Sequence[RunRecord]) -> Source:
    """The source of a session's figures; nothing that is not known is named."""
    target = records[0].target if records else {}
    backend = records[0].backend if records else None
    by = f"{backend.name} {backend.version}".strip() if backend else session.backend
    return Source(
        label=label,
        drive=drive(session, target),
        firmware=str(target.get("identity", {}).get("firmware", "")),
        date=session.started_at[:10],
        session=session.id,
        tool=f"ioplan {session.ioplan}, {by}",
        simulated=is_virtual(backend.name if backend else session.backend),
        profile="" if session.request.profile == FULL else session.request.profile,
    )


def workload(test: Test | None) -> str:
    """What a test runs, in the plan's words, with the values of its params."""
    texts = (text.removeprefix("run ") for text in _runs(test.steps if test else ()))
    return "; ".join(dict.fromkeys(texts))


def _runs(steps: Iterable[StepTemplate]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, RunTemplate):
            yield step.text.partition(" {")[0]
        elif isinstance(step, RepeatTemplate):
            yield from _runs(step.steps)
