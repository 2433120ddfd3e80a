"""A kept result of fio, checked."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ioplan.language.syntax.source import Source, Span
from ioplan_fio.model import Report
from ioplan_importer.findings import ImportFault

OLDEST = "3.1"


def report_of(document: dict[str, Any], source: Source) -> Report:
    """The document, checked. Raises ImportFault."""
    if any("mixed" in job and "read" not in job for job in _dicts(document["jobs"])):
        raise ImportFault(
            "fio was told to report reads and writes as one (unified_rw_reporting=1)",
            _start(source),
            "run it with unified_rw_reporting=both, or without it",
        )
    try:
        report = Report.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ImportFault(
            f"this is no result of fio {OLDEST} or newer: {place}: {fault['msg']}",
            _start(source),
            "older ones have other figures in other units: run them again",
        ) from None
    if not report.jobs:
        raise ImportFault("fio ran no job: it failed before", _start(source))
    report.leave_out_verification()
    return report


def _dicts(jobs: object) -> list[dict[str, Any]]:
    return (
        [one for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []
    )


def _start(source: Source) -> Span:
    return Span(source, max(0, source.text.find("{")), source.text.find("{") + 1)
