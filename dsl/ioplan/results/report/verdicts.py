"""The verdict on sessions, and the lines on each test; the same thing is said once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ioplan.core.text import counted
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.assessed import assessment, settled, unsteady
from ioplan.records.record import RunRecord
from ioplan.results.report.documents import Judged
from ioplan.results.report.headlines.doubts import is_virtual
from ioplan.results.report.judgements import (
    MOST_APART,
    OPEN,
    Judgement,
    verdict_lines,
)
from ioplan.results.report.many_sessions import MOST_CARDS
from ioplan.results.report.point import step_label

# What there is to say of runs: failures, warnings, substitutions, each once.

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
"""A figure in a text, `1,112` or `0.5`; the 99 of `p99` is none."""

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
    kinds = Counter((word, text_kind(text)) for _, word, text in found)
    alike: dict[tuple[str, str], Found] = {}
    for record, word, text in found:
        kind = (word, text_kind(text))
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
    worst, text = found[0] if failed else max(found, key=lambda one: figures_in(one[1]))
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


def text_kind(text: str) -> str:
    """The text without its figures, which is the same in each cell."""
    return NUMBER.sub("0", text)


def figures_in(text: str) -> list[float]:
    """The figures of a text in their order, by which the worst of a kind is told."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def _place(record: RunRecord, extra: list[str]) -> str:
    """`read=65% round 1`: what tells a run from the others of its test."""
    asked = record.asked
    if asked.kind == "prepare":
        return f"preparation {asked.after.name}" if asked.after else "preparation"
    cell = [f"{axis}={value}" for axis, value in asked.cell.items()]
    step = step_label(asked.name, asked.step)
    values = {"step": step, "repeat": asked.iteration, "round": asked.round}
    return " ".join([*cell, *(f"{name} {values[name]}" for name in extra)])


BAD_FIRST = ("failed", *OPEN, "warning")
WARNINGS = {"warning": "warning", "done instead": "warning", NOT_MEASURED: NOT_MEASURED}
SHARED = ("held", NOT_MEASURED)
"""Verdicts that are one line for many sessions."""
MOST_LINES = 40

ByLabel = Mapping[str, Sequence[RunRecord]]


def judged_lines(found: Mapping[str, Sequence[Judgement]]) -> tuple[Judged, ...]:
    """The expectations of a test, with the session where there are several.

    What held in many sessions is one line for all of them.
    """
    lines = [
        Judged(outcome, _of(label, text, found))
        for label, judged in found.items()
        for outcome, text in verdict_lines(judged, limits=True)
    ]
    if len(found) > MOST_CARDS:
        everything = chain.from_iterable(found.values())
        shared = verdict_lines(everything, limits=True)
        lines = [line for line in lines if line.outcome not in SHARED]
        lines += [Judged(o, text) for o, text in shared if o in SHARED]
    return tuple(lines)


def remarks(runs: ByLabel) -> list[Judged]:
    """Failed runs, warnings and substitutions of a test, each with its runs.

    Those of many sessions are one line for all of them.
    """
    if len(runs) > MOST_CARDS:
        runs = {"": list(chain.from_iterable(runs.values()))}
    return [
        Judged(WARNINGS.get(remark.word, "failed"), _of(label, str(remark), runs))
        for label, records in runs.items()
        for remark in remarks_of(records)
    ]


def steadiness(runs: ByLabel) -> Iterator[Judged]:
    """Why a test or its preparation is not steady, each reason with how often."""
    for label, records in runs.items():
        missed = map(unsteady_text, unsteady(records))
        lines = Counter(f"not steady: {text}" for text in missed)
        lines += Counter(
            f"{_judged_name(one)}: {one.steady.claim}"
            for one in settled(records)
            if one.steady
        )
        for text, count in lines.items():
            times = f" ({count} times)" if count > 1 else ""
            yield Judged("warning", _of(label, f"{text}{times}", runs))


def _of(label: str, text: str, by_label: Mapping[str, object]) -> str:
    return f"{label}: {text}" if len(by_label) > 1 else text


def first_lines_of(lines: Sequence[Judged], what: str) -> tuple[Judged, ...]:
    """What is bad first, so that nothing bad is cut off unseen."""
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    lines = sorted(lines, key=lambda line: _badness(line.outcome))
    rest = lines[MOST_LINES:]
    more = Judged(rest[0].outcome, f"and {len(rest)} more {what}: ioplan show")
    return (*lines[:MOST_LINES], more)


def _badness(outcome: str) -> int:
    return BAD_FIRST.index(outcome) if outcome in BAD_FIRST else len(BAD_FIRST)


def how_measured(records: Sequence[RunRecord]) -> str:
    """Whether the time was a drive's."""
    simulated = {is_virtual(record.backend.name) for record in records}
    if len(simulated) > 1:
        return "measured and simulated"
    return "simulated" if True in simulated else "measured"


def unsteady_text(record: RunRecord) -> str:
    """What did not become steady, and why."""
    said = assessment(record)
    return f"{_judged_name(record)}: {said.why if said else ''}"


def _judged_name(record: RunRecord) -> str:
    after = record.asked.after
    if record.asked.kind == "run" or after is None:
        return record.asked.test
    return f"preparation {after.name}"


def warning_lines(records: Sequence[RunRecord]) -> list[str]:
    """`warning in 3 of 12 cells: TEXT`, once where only its figures differ."""
    cells: dict[str, set[object]] = {}
    texts: dict[str, list[str]] = {}
    for record in records:
        for text in (*record.warnings, *record.substitutions):
            cells.setdefault(text_kind(text), set()).add(_cell(record))
            texts.setdefault(text_kind(text), []).append(text)
    every = counted(len({_cell(record) for record in records}), "cell")
    return [
        f"warning in {len(cells[kind])} of {every}: {max(texts[kind], key=figures_in)}"
        for kind in sorted(cells, key=lambda kind: -len(cells[kind]))
    ]


def _cell(record: RunRecord) -> object:
    asked = record.asked
    state = asked.after.name if asked.after and asked.kind == "prepare" else ""
    return asked.test, asked.kind, asked.step, state, tuple(asked.cell.items())
