"""Which tool a file is of, by what stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from ioplan.language.syntax.source import Source, Span
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.translate import outline_of as of_fio
from ioplan_importer.fio_results.log_file import is_log
from ioplan_importer.fiosynth import outline_of_suite
from ioplan_importer.outline import PlanOutline
from ioplan_importer.vdbench.runs import outline_of_parameters

Read = Callable[[Source, Mapping[str, str], Findings], PlanOutline]

RESULTS, LOGS = "fio results", "fio logs"
VDBENCH = re.compile(r"^\s*(?:sd|wd|rd|fsd|fwd|hd|general)\s*=", re.MULTILINE)
SECTION = re.compile(r"^\s*\[", re.MULTILINE)
OTHER_OUTPUT = re.compile(r"^[2-5];fio-3|^.+: \(g=\d+\): rw=", re.MULTILINE)
JOB_FILES = (".fio", ".job")
READERS: dict[str, Read] = {
    "fio": of_fio,
    "fiosynth": outline_of_suite,
    "vdbench": outline_of_parameters,
}
"""By the tool's name, what makes an outline of its file. Each raises ImportFault."""


def kind_of(source: Source) -> str:
    """`fio`, `vdbench`, `fiosynth`, RESULTS or LOGS. Raises ImportFault."""
    text = source.text
    if is_log(source.name):
        return LOGS
    if '"fio version"' in text or '"jobs"' in text:
        return RESULTS
    if text.lstrip().startswith("{"):
        return "fiosynth" if _has(text, "def") else RESULTS
    if SECTION.search(text) or source.name.endswith(JOB_FILES):
        return "fio"
    if VDBENCH.search(text):
        return "vdbench"
    if OTHER_OUTPUT.search(text):
        raise ImportFault(
            "this is fio's output for people, or its terse one",
            Span(source, 0, max(1, text.find("\n"))),
            "only its JSON is read: run fio with --output-format=json+",
        )
    raise ImportFault(
        "this is no file that can be imported",
        Span(source, 0, max(1, text.find("\n"))),
        "job files and JSON of fio, suites of FioSynth and parameter files of vdbench "
        "can",
    )


def _has(text: str, key: str) -> bool:
    try:
        return key in json.loads(text)
    except (ValueError, RecursionError):
        return False
