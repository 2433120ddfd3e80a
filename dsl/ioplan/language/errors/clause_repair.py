"""A workload without its wrong clause, so that the others are checked as well."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.core.text import nearest
from ioplan.language.errors.stop import Stop
from ioplan.language.syntax.grammar import (
    CLAUSE_WORDS,
    ITEM_WORDS,
    OF_UNTIL,
    PATTERNS,
    STATEMENT_WORDS,
)

SPEC = re.compile(r"\b(?:run|write)\b(?!\s+sizes)|(?<!param )\b\w+\s*=(?!=)")
OTHERS = "|".join(word for word in STATEMENT_WORDS if word not in ("run", "write"))
ENDS = re.compile(rf"[,{{}}\n]|\b(?:for|{OTHERS}|run|write(?!\s+sizes))\b")
STATEMENT = re.compile(rf"\b(?:{OTHERS})\b|^[ \t]*(?:{'|'.join(ITEM_WORDS)})\b", re.M)
WORDS = (*CLAUSE_WORDS, *STATEMENT_WORDS, *PATTERNS, "read", "reads", "writes")
IN_LIST = re.compile(r"\bin\b(?!\s+\d+\s*%)")
"""What belongs to a `vary`, whatever its first word was to be."""
HEAD = re.compile(r"\s*[A-Za-z_]")
UNTIL = re.compile(r"\s*until\s")
ITS_OWN = re.compile(rf",\s*(?:{'|'.join(OF_UNTIL)})\b".replace(" ", r"\s+"))


def wrong_clause(stop: Stop) -> tuple[int, int] | None:
    """From the comma of the wrong clause to its end, if it can be told apart.

    In the head of a workload, which has no comma, what is wrong begins it.
    """
    text, at = stop.text, stop.start
    begin = spec_start(text, at)
    if begin is None or stop.at_end or _is_statement(stop):
        return None
    first = _comma_before(text, begin, at)
    if first is None:
        first = _in_head(text, begin, at)
    end = None if first is None else _end(text, first + 1)
    if first is not None and end and UNTIL.match(text, first + 1):
        end = _with_its_own(text, end)
    if first is None or end is None or IN_LIST.search(text, at, end):
        return None
    return None if end <= at and text[end] == "\n" else (first, end)


def _with_its_own(text: str, end: int) -> int:
    """With the clauses that only `until steady` has."""
    while ITS_OWN.match(text, end) and (further := _end(text, end + 1)):
        end = further
    return end


def spec_start(text: str, at: int) -> int | None:
    """Where the workload around a place begins, behind its keyword, if there is one."""
    found = [match.end() for match in SPEC.finditer(text, 0, at)]
    if not found or STATEMENT.search(text, found[-1], at):
        return None
    inside = text[found[-1] : at]
    return found[-1] if inside.count("}") <= inside.count("{") else None


def _is_statement(stop: Stop) -> bool:
    """Whether the wrong word was to begin the next statement."""
    before = stop.text[: stop.start].rstrip(" \t")
    begins = before.endswith("\n") and not before.rstrip().endswith(",")
    meant = nearest(stop.word, WORDS) if stop.word[:1].isalpha() else None
    return begins or (meant in STATEMENT_WORDS and meant != "write")


def _comma_before(text: str, begin: int, at: int) -> int | None:
    """The last comma before a place that is in no block."""
    commas = [
        i for i, char, depth in depths(text, begin, at) if (char, depth) == (",", 0)
    ]
    return commas[-1] if commas else None


def _in_head(text: str, begin: int, at: int) -> int | None:
    """The place itself, where a pattern or a name stands before it."""
    if text[at : at + 1] == "=":
        at = re.search(r"\w*\s*\Z", text[:at]).start()  # type: ignore[union-attr]
    head = text[begin:at]
    whole = HEAD.match(head) and "{" not in head and not re.search(r"\bfor\b", head)
    return at if whole else None


def _end(text: str, start: int) -> int | None:
    """Where the clause ends that goes on at a place; None in an open block."""
    depth, start = 0, len(text) - len(text[start:].lstrip())
    for found in ENDS.finditer(text, start):
        if found[0] == "{":
            depth += 1
        elif depth == 0:
            return found.start()
        elif found[0] == "}":
            depth -= 1
    return None


def depths(text: str, start: int, end: int) -> Iterator[tuple[int, str, int]]:
    """Each character with the number of blocks that are open around it."""
    depth = 0
    for index in range(start, end):
        depth -= text[index] == "}"
        yield index, text[index], depth
        depth += text[index] == "{"
