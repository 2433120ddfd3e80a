"""What there is to say of runs: failures, warnings, substitutions, each once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ioplan.records.record import RunRecord
from ioplan.results.report.judgements import MOST_APART
from ioplan.results.report.points import step_label

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")

Found = list[tuple[RunRecord, str]]


class Remark(NamedTuple):
    """A word such as `warning`, the runs that it is about, and what is said."""

    word: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.word}{self.where}: {self.text}"


def remarks_of(records: Sequence[RunRecord]) -> list[Remark]:
    """Each with its runs; those that differ in numbers only, at their worst.

    A few failures have a line each.
    """
    found = [(r, word, text) for r in records for word, text in _noteworthy(r)]
    kinds = Counter((word, NUMBER.sub("0", text)) for _, word, text in found)
    alike: dict[tuple[str, str], Found] = {}
    for record, word, text in found:
        kind = (word, NUMBER.sub("0", text))
        apart = word == record.status and kinds[kind] <= MOST_APART
        alike.setdefault((word, text) if apart else kind, []).append((record, text))
    extra = distinguishing_columns([r for r in records if r.asked.kind == "run"])
    return [
        _remark(word, found, len(records), extra) for (word, _), found in alike.items()
    ]


def _noteworthy(record: RunRecord) -> Iterator[tuple[str, str]]:
    if record.status != "ok":
        yield record.status, record.message or record.cause
    for warning in record.warnings:
        yield "warning", warning
    for substitution in record.substitutions:
        yield "done instead", substitution


def _remark(word: str, found: Found, total: int, extra: list[str]) -> Remark:
    failed = word == found[0][0].status
    # offsets and counts of errors say nothing of how bad a failure is
    worst, text = found[0] if failed else max(found, key=lambda one: _numbers(one[1]))
    place = _place(worst, extra)
    if total == 1 or not place:
        return Remark(word, "", text)
    runs = len({(r.session, r.seq) for r, _ in found})
    if runs == 1:
        return Remark(word, f" at {place}", text)
    where = f" in {runs} of {total} runs"
    differ = len({text for _, text in found}) > 1
    which = "first" if failed else "worst"
    return Remark(word, where + f", {which} at {place}" * differ, text)


def distinguishing_columns(runs: Sequence[RunRecord]) -> list[str]:
    """What tells runs of one cell apart: step, repeat, round."""
    found = []
    if len({run.asked.step for run in runs}) > 1:
        found.append("step")
    if any(run.asked.iteration for run in runs):
        found.append("repeat")
    if any(run.asked.round for run in runs):
        found.append("round")
    return found


def _numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def _place(record: RunRecord, extra: list[str]) -> str:
    """`read=65% round 1`: what tells a run from the others of its test."""
    asked = record.asked
    if asked.kind == "prepare":
        return f"preparation {asked.after.name}" if asked.after else "preparation"
    cell = [f"{axis}={value}" for axis, value in asked.cell.items()]
    step = step_label(asked.name, asked.step)
    values = {"step": step, "repeat": asked.iteration, "round": asked.round}
    return " ".join([*cell, *(f"{name} {values[name]}" for name in extra)])
