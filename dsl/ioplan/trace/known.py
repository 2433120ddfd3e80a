"""The traces of this process's plans: where their files are, and their facts as text.

A plan says a trace by name, a job by its digest; only here is the file.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import msgspec

from ioplan.trace.facts import TraceError, TraceFacts

FILES: dict[str, Path] = {}
"""By digest."""


def surveyed(path: Path) -> TraceFacts:
    """The facts of a file, by numpy, which only plans with traces wait for."""
    found: TraceFacts = import_module("ioplan.trace.survey").survey(path)
    return found


def known_survey(path: Path) -> TraceFacts:
    """The facts of a trace, whose file is found from now on.

    Raises TraceError and OSError.
    """
    facts = surveyed(path)
    FILES[facts.digest] = path.resolve()
    return facts


def file_of(digest: str) -> Path:
    """The file of a trace, looked at again. Raises TraceError."""
    path = FILES.get(digest)
    try:
        if path and surveyed(path).digest == digest:
            return path
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    where = f"{path} has changed" if path else f"no file has the digest {digest[:12]}"
    raise TraceError(f"{where}; the plan was checked with another one")


def as_text(facts: TraceFacts) -> str:
    """The facts as a record keeps them in place of the file."""
    return msgspec.json.encode(facts).decode()


def is_facts(text: str) -> bool:
    """Whether a file of a record stands for a trace."""
    try:
        facts_of(text)
    except TraceError:
        return False
    return True


def facts_of(text: str) -> TraceFacts:
    """The same facts. Raises TraceError."""
    try:
        return msgspec.json.decode(text, type=TraceFacts)
    except msgspec.DecodeError as error:
        raise TraceError(f"the record has no facts of it: {error}") from error
