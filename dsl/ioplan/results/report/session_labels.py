"""What sessions are called in a report: as short as tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from ioplan.records.session import Session

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
