"""The verdict on sessions, and the lines on each test; the same thing is said once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ioplan.core.text import counted
from ioplan.core.units import time_text
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.assessed import assessment, last_assessed, unsteady, without_value
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.documents import Judged, Verdict
from ioplan.results.report.headlines.doubts import is_virtual, shortened
from ioplan.results.report.judgements import (
    MOST_APART,
    Judgement,
    held_text,
    outcomes_of,
    verdict_lines,
)
from ioplan.results.report.many_sessions import MOST_CARDS, first_lines
from ioplan.results.report.point import step_label

# What there is to say of runs: failures, warnings, substitutions, each once.

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


BAD_FIRST = ("failed", "undecided", "no baseline", NOT_MEASURED, "warning")
WARNINGS = {"warning": "warning", "done instead": "warning", NOT_MEASURED: NOT_MEASURED}
SHARED = ("held", NOT_MEASURED)
"""Verdicts that are one line for many sessions."""
MOST_LINES = 40
MOST_MISSED = 5
SHORTENED = "profile {} leaves out the preconditioning"
UNKNOWN = "no expectation was judged"

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


def verdict(
    subjects: Sequence[str],
    sessions: Sequence[Session],
    records: Sequence[RunRecord],
    judged: Sequence[Judgement],
    missing: int | None,
) -> Verdict:
    """The first screen: what held, what was steady, what went wrong.

    `missing` is how many cells were not measured, None where no plan tells.
    """
    outcomes = outcomes_of(judged)
    broken = sum(r.status == "failed" for r in records)
    points = (
        Judged("none", f"On {', '.join(first_lines(subjects))}"),
        _measured(sessions, records, broken, missing or 0),
        *_steadiness(records),
        *_warned(records),
    )
    if broken or outcomes["failed"]:
        fell = f"{counted(broken, 'run')} failed" if broken else ""
        return Verdict("failed", _sentence(_unmet(outcomes), fell), points)
    if open_ := _open(outcomes):
        return Verdict("undecided", _sentence(open_), points)
    text = _good(outcomes.total(), known=missing is not None)
    if doubts := _doubts(sessions, records):
        return Verdict("undecided", f"{text}, but {' and '.join(doubts)}", points)
    return Verdict("held" if outcomes else "none", text, points)


def _unmet(outcomes: Counter[str]) -> str:
    if outcomes[NOT_MEASURED]:
        return f"expectations {held_text(outcomes)}"
    total, unmet = outcomes.total(), outcomes["failed"]
    return f"{unmet} of {total} expectations did not hold" if unmet else ""


def _open(outcomes: Counter[str]) -> str:
    if outcomes[NOT_MEASURED]:
        return f"expectations {held_text(outcomes)}"
    total, count = outcomes.total(), outcomes["undecided"] + outcomes["no baseline"]
    if not count:
        return ""
    return f"{count} of {total} expectations could not be judged; the rest held"


def _good(total: int, known: bool) -> str:
    """Where nothing speaks against it; `known` is whether all expectations are."""
    if total:
        return f"All {total} expectations held" if total > 1 else "The expectation held"
    return f"Measured; {'the plan has no expectations' if known else UNKNOWN}"


def _doubts(sessions: Sequence[Session], records: Sequence[RunRecord]) -> list[str]:
    """What a reader must know before a good verdict."""
    doubts = []
    if any(session.status != "ok" for session in sessions):
        doubts.append("not all of the plan has run")
    doubts += map(SHORTENED.format, shortened(records))
    if unsteady(records):
        doubts.append("steady state was not reached")
    if nothing := without_value(records):
        doubts.append(f"{counted(len(nothing), 'seek')} found nothing")
    return doubts


def _sentence(*parts: str) -> str:
    text = ", and ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def _measured(
    sessions: Sequence[Session],
    records: Sequence[RunRecord],
    broken: int,
    missing: int,
) -> Judged:
    spent = time_text(sum(record.run_s for record in records))
    ended = Counter(s.status for s in sessions if s.status != "ok")
    states = "".join(
        f"; {counted(n, 'session')} {status}" for status, n in ended.items()
    )
    lost = f"; {counted(missing, 'cell')} {NOT_MEASURED}" if missing else ""
    how = how_measured(records)
    text = f"{counted(len(records), 'run')}, {spent} {how}{states}{lost}"
    return Judged("failed" if broken or ended else "held", text)


def how_measured(records: Sequence[RunRecord]) -> str:
    """Whether the time was a drive's."""
    simulated = {is_virtual(record.backend.name) for record in records}
    if len(simulated) > 1:
        return "measured and simulated"
    return "simulated" if True in simulated else "measured"


def _steadiness(records: Sequence[RunRecord]) -> Iterator[Judged]:
    last, missed = last_assessed(records), unsteady(records)
    if not last:
        return
    settled = [one for one in last if one.steady and one.steady.limits]
    settled = [one for one in settled if one not in missed]
    reached = len(last) - len(missed) - len(settled)
    short = shortened(records)
    good = "none" if short else "held"
    state: str = "failed" if missed else "warning" if settled else good
    why = "".join(f", but {SHORTENED.format(one)}" for one in short)
    text = f"Steady state reached in {reached} of {len(last)} cases{why}"
    yield Judged(state, text)
    for one in settled[:MOST_MISSED]:
        assert one.steady
        yield Judged("warning", f"{_judged_name(one)}: {one.steady.claim}")
    lines = Counter(map(unsteady_text, missed))
    for text, count in list(lines.items())[:MOST_MISSED]:
        times = f" ({count} times)" if count > 1 else ""
        yield Judged("failed", f"Not steady: {text}{times}")


def unsteady_text(record: RunRecord) -> str:
    """What did not become steady, and why."""
    said = assessment(record)
    return f"{_judged_name(record)}: {said.why if said else ''}"


def _judged_name(record: RunRecord) -> str:
    after = record.asked.after
    if record.asked.kind == "run" or after is None:
        return record.asked.test
    return f"preparation {after.name}"


def _warned(records: Sequence[RunRecord]) -> Iterator[Judged]:
    warned = sum(bool(r.warnings) for r in records)
    swapped = sum(bool(r.substitutions) for r in records)
    hosts = dict.fromkeys(w for r in records for w in r.host.get("warnings", ()))
    if not warned and not swapped and not hosts:
        yield Judged("held", "No warnings")
    yield from (Judged("warning", f"The host distorts: {text}") for text in hosts)
    if warned:
        yield Judged("warning", f"Warnings in {counted(warned, 'run')}")
    if swapped:
        text = f"In {counted(swapped, 'run')} the backend did nearly what was asked"
        yield Judged("warning", text)
