"""The traces of this process's plans: where the file of each is, and its facts as text.

A plan says a trace by name, a job by its digest; only here is the file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioplan.trace.prepared import TraceError
from ioplan.trace.survey import TraceFacts, survey

FILES: dict[str, Path] = {}
"""By digest."""


def known_survey(path: Path) -> TraceFacts:
    """The facts of a trace, whose file is found from now on. Raises as `survey` does."""
    facts = survey(path)
    FILES[facts.digest] = path.resolve()
    return facts


def file_of(digest: str) -> Path:
    """The file of a trace, looked at again. Raises TraceError."""
    path = FILES.get(digest)
    try:
        if path and survey(path).digest == digest:
            return path
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    where = f"{path} has changed" if path else f"no file has the digest {digest[:12]}"
    raise TraceError(f"{where}; the plan was checked with another one")


def as_text(facts: TraceFacts) -> str:
    """The facts as a record keeps them in place of the file."""
    return msgspec.json.encode(facts).decode()


def facts_of(text: str) -> TraceFacts:
    """The same facts. Raises TraceError."""
    try:
        return msgspec.json.decode(text, type=TraceFacts)
    except msgspec.DecodeError as error:
        raise TraceError(f"the record has no facts of it: {error}") from error
