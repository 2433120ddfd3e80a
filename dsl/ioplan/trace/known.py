"""The traces of this process's plans: where their files are, and their facts as text.

A plan says a trace by name, a job by its digest; only here is the file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import msgspec

from ioplan.trace.facts import TraceError, TraceFacts

FILES: dict[str, Path] = {}
"""By digest."""
Part = tuple[int, int]
"""From and to, in ns of the trace."""
FOOTPRINT: Part = (0, 0)
"""In place of a part: what it reads or writes, written once."""


def surveyed(path: Path, *part: int) -> TraceFacts:
    """The facts of a file, by numpy, which only plans with traces wait for."""
    survey = import_module("ioplan.trace.survey")
    found: TraceFacts = survey.survey_part(path, *part) if part else survey.survey(path)
    return found


class KnownTrace:
    """A trace of a plan: the facts of all of it, and of the parts that are replayed."""

    def __init__(
        self,
        facts: TraceFacts,
        survey: Callable[[Part], TraceFacts],
        covers: str = "",
    ) -> None:
        """One that `covers` a trace is the footprint of the file of this digest."""
        self.facts, self.covers = facts, covers
        self.parts: dict[Part, TraceFacts] = {}
        self.survey = survey

    def part(self, part: Part) -> TraceFacts:
        """The facts of a part. Raises TraceError, OSError."""
        if part not in self.parts:
            self.parts[part] = self.survey(part)
        return self.parts[part]

    def footprint(self) -> KnownTrace:
        """A trace that writes what this one reads or writes. Raises TraceError."""

        def no_parts(_: Part) -> TraceFacts:
            raise TraceError("a footprint has no parts")

        return KnownTrace(self.part(FOOTPRINT), no_parts, self.facts.digest)

    def as_text(self) -> str:
        """The facts as a record keeps them in place of the file."""
        return msgspec.json.encode([self.facts, *self.parts.values()]).decode()


def known_survey(path: Path) -> KnownTrace:
    """A trace, whose file is found from now on. Raises TraceError and OSError."""
    facts = surveyed(path)
    FILES[facts.digest] = path.resolve()

    def survey(part: Part) -> TraceFacts:
        return _footprint(path, facts) if part == FOOTPRINT else surveyed(path, *part)

    return KnownTrace(facts, survey)


def _footprint(path: Path, facts: TraceFacts) -> TraceFacts:
    if not (facts.reads.ios or facts.writes.ios):
        raise TraceError("the trace reads and writes nothing")
    footprint = import_module("ioplan.trace.survey")
    made: Path = footprint.footprint_of(path, facts.grid_bytes, facts.digest)
    found = surveyed(made)
    FILES[found.digest] = made
    return found


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


def is_facts(text: str) -> bool:
    """Whether a file of a record stands for a trace."""
    try:
        recorded_trace(text)
    except TraceError:
        return False
    return True


def recorded_trace(text: str) -> KnownTrace:
    """The trace that a record's text describes. Raises TraceError."""
    try:
        facts, *parts = msgspec.json.decode(text, type=list[TraceFacts])
    except (msgspec.DecodeError, ValueError) as error:
        raise TraceError(f"the record has no facts of it: {error}") from error
    known = {
        (one.from_ns, one.to_ns) if one.digest == facts.digest else FOOTPRINT: one
        for one in parts
    }

    def survey(part: Part) -> TraceFacts:
        if part not in known:
            raise TraceError("the record has no facts of this part of it")
        return known[part]

    return KnownTrace(facts, survey)
