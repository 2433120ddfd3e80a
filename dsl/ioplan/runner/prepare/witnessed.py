"""What `ioplan witness` saw a backend do as asked, kept by the backend's version.

Kept are words of the language: a test is witnessed if a run was for each of its words,
in whatever combination. How long it runs needs no witness. A run that differed takes
its words back.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.core.version import __version__
from ioplan.job import Job
from ioplan.language.spoken import words

JUDGED = frozenset(
    (
        *("random", "sequential", "random share", "random by direction", "mix", "trim"),
        *("size", "sizes", "align", "region", "qd", "threads", "rate", "rate poisson"),
        "rate gamma",
        *("zipf", "pareto", "hotspots", "normal", "data zeros", "data compressible"),
        *("dedup", "sync", "fua", "verify"),
    )
)
"""Words that a run on the test device says something of."""


class KeptWords(Model):
    """The words that one version of a backend was seen to keep, with these options."""

    backend: str
    version: str
    ioplan: str
    options: dict[str, Any] = {}
    words: tuple[str, ...] = ()

    def is_of(self, other: KeptWords) -> bool:
        """Whether both are of the same programs."""
        nothing = {"words": ()}
        return self.model_copy(update=nothing) == other.model_copy(update=nothing)


KEPT = TypeAdapter(tuple[KeptWords, ...])


def nothing_kept(backend: str, version: str, options: dict[str, Any]) -> KeptWords:
    """An entry for these programs, with no words yet."""
    return KeptWords(
        backend=backend, version=version, ioplan=__version__, options=options
    )


def path_kept() -> Path:
    """The file of this user."""
    return state_folder() / "witnessed.json"


def words_of(jobs: Iterable[Job]) -> frozenset[str]:
    """What the jobs say, but for their lengths."""
    found: set[str] = set()
    for job in jobs:
        found.update(*map(words, job.streams))
        found.update({"streams"} if len(job.streams) > 1 else ())
    return frozenset(found)


def kept_words(programs: KeptWords) -> frozenset[str]:
    """The words that were seen; none where nothing is kept, or cannot be read."""
    return frozenset(
        word for one in _read() if one.is_of(programs) for word in one.words
    )


def keep(programs: KeptWords, seen: Collection[str], differed: Collection[str]) -> None:
    """Add what was seen, and take back what was not as asked."""
    found = (kept_words(programs) | (JUDGED & set(seen))) - set(differed)
    mine = programs.model_copy(update={"words": tuple(sorted(found))})
    others = (one for one in _read() if not one.is_of(programs))
    path = path_kept()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_bytes(KEPT.dump_json((*others, mine), indent=1))
    new.replace(path)


def _read() -> tuple[KeptWords, ...]:
    try:
        return KEPT.validate_json(path_kept().read_bytes())
    except (OSError, ValidationError):
        return ()
