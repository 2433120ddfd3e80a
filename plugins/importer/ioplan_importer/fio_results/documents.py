"""JSON documents in a text: messages stand before, between and behind them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from ioplan.language import Source, Span
from ioplan_importer.findings import Findings, ImportFault

HALF = re.compile(r"\\u[dD][89a-fA-F]")
START = re.compile(r"^\{", re.MULTILINE)
PREFIXED = re.compile(r"^([^{\"\n]+)\{\s*$", re.MULTILINE)
SUM = "All clients"
"""What fio calls the sum of its clients among them."""


def documents(source: Source, findings: Findings) -> list[dict[str, Any]]:
    """All of fio's documents that are whole. Raises ImportFault if there is none."""
    source = _bare(source)
    found, at, broken = [], 0, None
    decoder = json.JSONDecoder()
    while start := START.search(source.text, at):
        try:
            document, at = decoder.raw_decode(source.text, start.start())
        except (ValueError, RecursionError) as error:
            where = getattr(error, "pos", start.start())
            broken = _broken(source, start.start(), where, str(error))
            at = start.end()
            continue
        if isinstance(document, dict) and _has_jobs(document):
            _check_text(document, source, start.start())
            found.append(document)
    if broken and not found:
        raise broken
    if broken:
        one = broken.diagnostic
        findings.loss(one.message, one.span, "the documents before it are imported")
    if not found:
        raise ImportFault(
            "there is no result of fio in it",
            Span(source, 0, 1),
            "run fio with --output-format=json or json+",
        )
    return found


def _bare(source: Source) -> Source:
    """Without the brackets of a list, and what a log of CI has before each line."""
    text = source.text
    if text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            return Source(source.name, "\n".join(map(json.dumps, json.loads(text))))
    if START.search(text) or not (first := PREFIXED.search(text)):
        return source
    prefix = re.sub(r"\d+", r"\\d+", re.escape(first[1]))
    return Source(source.name, re.sub(f"^{prefix}", "", text, flags=re.MULTILINE))


def _has_jobs(document: dict[str, Any]) -> bool:
    """Of a client each server's jobs are, and the sum of all is left out."""
    clients = document.get("client_stats")
    if "jobs" not in document and isinstance(clients, list):
        jobs = [one for one in clients if isinstance(one, dict)]
        document["jobs"] = [one for one in jobs if one.get("jobname") != SUM]
    return "jobs" in document


def _check_text(document: dict[str, Any], source: Source, start: int) -> None:
    """JSON can write halves of characters, which no database takes."""
    if HALF.search(source.text, start):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ImportFault(
                "it has half a character, as \\ud800",
                Span(source, start, start + 1),
                "was the file edited? fio writes names as they are",
            ) from None


def _broken(source: Source, start: int, where: int, text: str) -> ImportFault:
    """A document that ends in the middle, or is none."""
    in_last_string = "Unterminated" in text and "\n" not in source.text[where:].strip()
    if where >= len(source.text.rstrip()) or in_last_string:
        line, _ = source.position(start)
        return ImportFault(
            f"the document that begins in line {line} is cut off",
            Span(source, max(0, len(source.text.rstrip()) - 1), len(source.text)),
            "fio was ended before it had written all, or the disk was full",
        )
    what = text.partition(":")[0]
    return ImportFault(
        f"this is no JSON: {what}",
        Span(source, where, where + 1),
        "was the file edited, or did two programs write into it?",
    )
