"""A job file as sections of options, each with its place, read as fio reads it.

The grammar is that of `__parse_jobs_ini` in fio's init.c, not of its manual: a `;` or
`#` ends a line wherever it stands, each section whose name begins with `global` is
one, and a line outside of any section ends it all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ioplan.core import configured
from ioplan.language import Source, Span, read_text
from ioplan_importer.findings import Findings, ImportFault

VARIABLE = re.compile(r"\$\{([^}]*)\}")
PAGE_BYTES = configured("SC_PAGESIZE", 4096)
KEYWORDS = {"$pagesize": str(PAGE_BYTES), "$ncpus": "", "$mb_memory": ""}
HERE_ONLY = "the machine that the plan runs on may have others: write the number"
INCLUDES_DEEP, MOST_INCLUDES, MOST_INCLUDED_CHARS = 16, 1000, 1 << 20
MOST_JOBS = 4096
"""fio's own limit."""


class Option(Struct, frozen=True):
    """One line: a name and its value after variables; None where it has no `=`."""

    name: str
    value: str | None
    span: Span
    value_span: Span


class Section(Struct, frozen=True):
    """A section with its options in the order of the file."""

    name: str
    span: Span
    options: tuple[Option, ...]

    @property
    def is_global(self) -> bool:
        """Whether its options are those of the jobs behind it."""
        return self.name.startswith("global")


class JobFileReader:
    """Reads one file, and what it includes."""

    def __init__(self, variables: Mapping[str, str], findings: Findings) -> None:
        self.variables, self.findings = variables, findings
        self.unset: dict[str, Span] = {}
        self.included = self.chars = 0

    def read(self, source: Source) -> list[Section]:
        """The sections. Raises ImportFault where fio would give up."""
        sections: list[tuple[str, Span, list[Option]]] = []
        for text, span in _lines(source):
            if text.startswith("["):
                sections.append((_section_name(text, span), span, []))
                if len(sections) > MOST_JOBS:
                    raise ImportFault(f"fio supports at most {MOST_JOBS} jobs", span)
            elif not sections:
                raise ImportFault(
                    f"{text[:40]!r} stands outside of any [job] section",
                    span,
                    "a job file has sections: [global], then [name] for each job",
                )
            else:
                sections[-1][2].extend(self._options(text, span, 0))
        if not sections:
            raise ImportFault("there is no [job] section", Span(source, 0, 1))
        return [Section(name, span, tuple(found)) for name, span, found in sections]

    def _options(self, text: str, span: Span, depth: int) -> Iterator[Option]:
        if text.startswith("include"):
            yield from self._included(text[len("include") + 1 :].strip(), span, depth)
            return
        name, equals, value = text.partition("=")
        lead = len(value) - len(value.lstrip())
        start = span.start + len(name) + len(equals) + lead
        value_span = Span(span.source, start, span.end) if equals else span
        given = self._expanded(value.strip(), value_span) if equals else None
        yield Option(name.strip(), given, span, value_span)

    def _included(self, name: str, span: Span, depth: int) -> Iterator[Option]:
        """What an included file adds to the section; it may hold no sections."""
        path = Path(name)
        if not path.exists():
            path = Path(span.source.name).parent / name
        try:
            source = Source(str(path), read_text(path))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.findings.error(
                f"the included file {name!r} cannot be read: {why}",
                span,
                "bring the file along, beside the job file",
            )
            return
        self.included += 1
        self.chars += len(source.text)
        if depth == INCLUDES_DEEP or self.included > MOST_INCLUDES:
            raise ImportFault("files include each other without end", span)
        if self.chars > MOST_INCLUDED_CHARS:
            raise ImportFault(
                f"the included files have more than {MOST_INCLUDED_CHARS >> 20} MiB "
                f"in all",
                span,
                "include a file once, in [global]",
            )
        for text, inner in _lines(source):
            if text.startswith("["):
                raise ImportFault(
                    "an included file may hold no sections",
                    inner,
                    "keep the options, and put the sections into the job file",
                )
            yield from self._options(text, inner, depth + 1)

    def _expanded(self, text: str, span: Span) -> str:
        """With variables of the environment, and fio's own words for the machine."""

        def value_of(found: re.Match[str]) -> str:
            if found[1] not in self.variables:
                self._tell_unset(found[1], span)
            return self.variables.get(found[1], "")

        text = VARIABLE.sub(value_of, text)
        for word, value in KEYWORDS.items():
            if word in text:
                self.findings.note(f"{word} is of this machine", span, HERE_ONLY)
                number = value or str(_of_machine(word))
                text = _product(text.replace(word, number))
        return text

    def _tell_unset(self, name: str, span: Span) -> None:
        if name not in self.unset:
            self.unset[name] = span
            self.findings.loss(
                f"the variable {name} is not set: fio takes an empty text",
                span,
                f"import with --set {name}=VALUE",
            )


def _lines(source: Source) -> Iterator[tuple[str, Span]]:
    """Lines with something in them, without comments and blanks around.

    Raises ImportFault.
    """
    at = 0
    for line in source.text.split("\n"):
        code = re.split("[;#]", line, maxsplit=1)[0]
        text = code.strip()
        start = at + len(code) - len(code.lstrip())
        span = Span(source, start, start + len(text))
        if "\0" in text:  # where fio's line ends, and no name of a file can go on
            raise ImportFault("the line has a NUL character", span, "delete it")
        if text:
            yield text, span
        at += len(line) + 1


def _section_name(text: str, span: Span) -> str:
    """What stands before the last character of the line, whichever that is."""
    if not text.endswith("]"):
        raise ImportFault("a section's name ends with ]", span, f"write {text}]")
    return text[1:-1]


def _of_machine(word: str) -> int:
    pages = configured("SC_PHYS_PAGES", 0) * PAGE_BYTES
    return (os.cpu_count() or 1) if word == "$ncpus" else pages >> 20


def _product(text: str) -> str:
    """fio hands what had such a word to `bc`, which divides into whole numbers;
    products and quotients are what people write."""
    if not re.fullmatch(r"\s*\d{1,19}(\s*[*/]\s*\d{1,19}){1,9}\s*", text):
        return text
    first, *others = re.findall(r"[*/]?\s*\d+", text)
    result = int(first)
    for one in others:
        number = int(one[1:])
        if one[0] == "/" and not number:
            return text
        result = result // number if one[0] == "/" else result * number
    return str(result)
