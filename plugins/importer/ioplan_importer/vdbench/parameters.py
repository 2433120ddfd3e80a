"""A parameter file as definitions: `name=value` pairs, lists, defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ioplan.core import did_you_mean
from ioplan.language import Source, Span
from ioplan_importer.findings import Findings
from ioplan_importer.vdbench.vocabulary import NO_MATTER, ORDER, SAID, USUAL, full_name

# vdbench's numbers: sizes in units of 1024, times in seconds.

Units = Mapping[str, int]
NONE: Units = {"": 1}
SIZES: Units = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SECONDS: Units = {"": 1, "s": 1, "m": 60, "h": 3600}


def in_units(text: str, units: Units) -> float | None:
    """A number with one of some units; None for what is none."""
    found = re.fullmatch(r"(\d{1,19}(?:\.\d{1,9})?)([a-z]?)b?", text.strip().lower())
    return float(found[1]) * units[found[2]] if found and found[2] in units else None


def bytes_of(text: str) -> int:
    """`4k`, `1m`; 0 for what is no size."""
    return int(in_units(text, SIZES) or 0)


DEFINITION = re.compile(r"(sd|wd|rd|hd|host|fsd|fwd)\s*=\s*([^,\s]+)", re.IGNORECASE)
PAIR = re.compile(r"([a-z_]+)\s*=\s*(\([^)]*\)|[^,\s]*)", re.IGNORECASE)
FILES = ("fsd", "fwd")
AXES = {
    **{"forthreads": "qd", "forxfersize": "size", "forrdpct": "read"},
    **{"threads": "qd", "xfersize": "size", "rdpct": "read"},
}
"""Lists of a run that make a matrix, by the axis."""
NO_WORD = "it is not translated; a plan may have a clause for it: see ioplan explain"


class Setting(Struct, frozen=True):
    """One `name=value` of a definition, with its place."""

    value: str
    span: Span

    @property
    def listed(self) -> list[str]:
        """The values of a list, or the one value."""
        inner = self.value.strip("()")
        return [part.strip() for part in inner.split(",") if part.strip()]


class Definition(Struct, frozen=True):
    """A line, with the lines that go on from it."""

    kind: str
    name: str
    span: Span
    settings: dict[str, Setting]

    def text(self, name: str, default: str = "") -> str:
        """The first value of a setting."""
        found = self.settings.get(name)
        return found.listed[0] if found and found.listed else default

    def number(
        self, name: str, default: float, findings: Findings, units: Units = NONE
    ) -> float:
        """The first value of a setting as a number, told where it is none."""
        text = self.text(name)
        value = in_units(text, units) if text else default
        if value is None:
            findings.error(
                f"{name}={text} is no number: {default:g} here",
                self.settings[name].span,
            )
        return default if value is None else value


def definitions_of(source: Source, findings: Findings) -> Iterator[Definition]:
    """Each definition, the general parameters first; a line that begins none goes on
    from the one before."""
    at, begun = 0, Definition("general", "", Span(source, 0, 1), {})
    for line in source.text.split("\n"):
        start, at = at, at + len(line) + 1
        code = line.strip()
        if code.startswith("eof"):
            break
        if not code or code[0] in "*/#":
            continue
        found = DEFINITION.match(code)
        span = Span(source, start, start + len(line.rstrip()))
        if found:
            yield begun
            begun = _definition(found, span)
        if begun.kind in FILES:
            _tell_file_system(begun, span, findings)
        elif PAIR.search(code):
            begun.settings.update(_settings(begun.kind, span, findings))
        else:
            findings.loss(f"{code[:40]!r} is left out", span, NO_WORD)
    yield begun


def _definition(found: re.Match[str], span: Span) -> Definition:
    kind = found[1].lower()
    return Definition("hd" if kind == "host" else kind, found[2], span, {})


def _tell_file_system(begun: Definition, span: Span, findings: Findings) -> None:
    if begun.span == span:
        findings.error(
            f"{begun.kind}={begun.name} is left out: it is about a file system",
            span,
            "a plan is about one target with direct I/O; keep such runs with vdbench",
        )


def _settings(kind: str, span: Span, findings: Findings) -> dict[str, Setting]:
    settings = {}
    for pair in PAIR.finditer(span.source.text, span.start, span.end):
        word, place = pair[1].lower(), Span(span.source, pair.start(), pair.end())
        if word == kind or (kind, word) == ("hd", "host"):
            continue
        name = full_name(kind, word)
        if name in SAID[kind]:
            if name in settings:
                findings.loss(f"{name} is said twice: the last one counts", place)
            settings[name] = Setting(pair[2], place)
        elif name not in NO_MATTER[kind] and pair[2] not in USUAL.get(name, ()):
            near = "" if name in ORDER[kind] else did_you_mean(name, SAID[kind])
            findings.loss(f"{place.text} is left out{near}", place, NO_WORD)
    return settings


def with_defaults(definitions: list[Definition]) -> list[Definition]:
    """Each definition with the settings of the last `default` of its kind before it."""
    defaults: dict[str, dict[str, Setting]] = {}
    found = []
    for one in definitions:
        if one.name == "default":
            defaults[one.kind] = {**defaults.get(one.kind, {}), **one.settings}
            continue
        settings = {**defaults.get(one.kind, {}), **one.settings}
        found.append(Definition(one.kind, one.name, one.span, settings))
    return found
