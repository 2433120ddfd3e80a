"""What there is to say of a test besides figures and expectations, each thing once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from math import gcd
from typing import Any

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import bandwidth_text, bytes_text, digits, iops_text, time_text
from ioplan.language.metric import THROTTLED, Metric
from ioplan.language.quantity import size_text
from ioplan.planner.places import NOT_MEASURED
from ioplan.planner.steps import Run
from ioplan.records.assessed import assessment, settled, unsteady
from ioplan.records.record import Asked, RunRecord
from ioplan.results.measure.zero_losses import BROKEN, PROMISES, bound_text
from ioplan.results.report.blocks import MOST_CARDS, Judged
from ioplan.results.report.judgements import MOST_APART, labelled
from ioplan.results.report.point import step_label
from ioplan.results.report.reader import Reader
from ioplan.results.report.sentences import place_text

ByLabel = Mapping[str, Sequence[RunRecord]]


def remarks(
    by_label: ByLabel, missing: Mapping[str, Sequence[Run]], reader: Reader
) -> Iterator[Judged]:
    """The remarks on a test; `missing` are its cells that were not measured."""
    yield from labelled({label: [_lacking(runs)] for label, runs in missing.items()})
    for what in (power_cuts, partial(bursts, reader), steadiness):
        yield from labelled({label: what(runs) for label, runs in by_label.items()})
    if len(by_label) > MOST_CARDS:  # a line for all of them
        by_label = {"": list(chain.from_iterable(by_label.values()))}
    yield from labelled({label: run_remarks(runs) for label, runs in by_label.items()})


def _lacking(runs: Sequence[Run]) -> Judged:
    return Judged(NOT_MEASURED, f"{NOT_MEASURED}: {counted(len(runs), 'cell')}")


def steadiness(records: Sequence[RunRecord]) -> Iterator[Judged]:
    """Why a test or its preparation is not steady, each reason with how often."""
    lines = Counter(f"not steady: {unsteady_text(r)}" for r in unsteady(records))
    lines += Counter(
        f"{_assessed_name(r)}: {r.steady.claim}" for r in settled(records) if r.steady
    )
    for text, count in lines.items():
        times = f" ({count} times)" if count > 1 else ""
        yield Judged("warning", f"{text}{times}")


def unsteady_text(record: RunRecord) -> str:
    """What did not become steady, and why."""
    state = assessment(record)
    return f"{_assessed_name(record)}: {state.why if state else ''}"


def _assessed_name(record: RunRecord) -> str:
    after = record.asked.after
    is_run = record.asked.kind == "run" or after is None
    return record.asked.test if is_run else _preparation_name(record)


def _preparation_name(record: RunRecord) -> str:
    after = record.asked.after
    return f"preparation {after.name}" if after else "preparation"


# Failures, warnings and substitutions of runs.

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
"""A figure in a text, `1,112` or `0.5`; the 99 of `p99` is none."""
WARNINGS = ("warning", "done instead")
"""How remarks on what is no failure begin."""


def run_remarks(records: Sequence[RunRecord]) -> Iterator[Judged]:
    """Each with its runs; those that differ in numbers only, at their worst.

    A few failures have a line each.
    """
    texts = [(r, text, word) for r in records for word, text in _noteworthy(r)]
    kinds = Counter((word, text_kind(text)) for _, text, word in texts)

    def kind(entry: tuple[RunRecord, str, str]) -> tuple[str, str]:
        _, text, word = entry
        common = word, text_kind(text)
        is_apart = word not in WARNINGS and kinds[common] <= MOST_APART
        return (word, text) if is_apart else common

    columns = _columns([r.asked for r in records if r.asked.kind == "run"])
    for (word, _), entries in grouped(texts, key=kind).items():
        is_failure = word not in WARNINGS
        # offsets and counts of errors say nothing of how bad a failure is
        worst, text, _ = entries[0] if is_failure else max(entries, key=_figures)
        place = _place(worst, columns)
        count, where = len({(r.session, r.seq) for r, *_ in entries}), ""
        if place and len(records) > 1:
            which = f", {'first' if is_failure else 'worst'} at {place}"
            which *= len({text for _, text, _ in entries}) > 1
            several = f" in {count} of {len(records)} runs{which}"
            where = several if count > 1 else f" at {place}"
        outcome = "failed" if is_failure else "warning"
        yield Judged(outcome, f"{word}{where}: {text}")


def _noteworthy(record: RunRecord) -> Iterator[tuple[str, str]]:
    if record.status != "ok":
        yield record.status, record.message or record.cause
    for word, texts in zip(
        WARNINGS, (record.warnings, record.substitutions), strict=True
    ):
        yield from ((word, text) for text in texts)


def _columns(runs: Sequence[Asked]) -> list[str]:
    """What tells runs of one cell apart: step, repeat, round."""
    columns = {
        "step": len({run.step for run in runs}) > 1,
        "repeat": any(run.iteration for run in runs),
        "round": any(run.round for run in runs),
    }
    return [name for name, differs in columns.items() if differs]


def _place(record: RunRecord, columns: Sequence[str]) -> str:
    """`read=65% round 1`: what tells a run from the others of its test."""
    asked = record.asked
    if asked.kind == "prepare":
        return _preparation_name(record)
    step = step_label(asked.name, asked.step)
    values = {"step": step, "repeat": asked.iteration, "round": asked.round}
    names = (f"{name} {values[name]}" for name in columns)
    return " ".join(filter(None, (place_text(asked.cell), *names)))


def text_kind(text: str) -> str:
    """The text without its figures, which is the same in each cell."""
    return NUMBER.sub("0", text)


def _figures(pair: Sequence[Any]) -> list[float]:
    """The figures of a text in their order, by which the worst of a kind is known."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(pair[1])]


# What power cuts have shown: how many there were, and the bound that no loss gives.


def power_cuts(records: Sequence[RunRecord]) -> Iterator[Judged]:
    """The line on a test that cuts the power and reads afterwards."""
    reads = list(_reads_after_cuts(records))
    if not reads:
        return
    # only a cut after which something promised was read can have broken a promise
    broken = sum(any(map(facts.get, BROKEN)) for facts in reads)
    cuts = sum(any(map(facts.get, PROMISES)) for facts in reads)
    others = counted(len(reads) - cuts, "power cut")
    nothing = f"nothing that had been promised was read after {others}"
    outcome, text = "undecided", nothing
    if broken:
        of = counted(len(reads), "power cut")
        outcome, text = "failed", f"a promise was broken by {broken} of {of}"
    elif cuts:
        text = (
            f"no promise was broken by {counted(cuts, 'power cut')}: with 95 % "
            f"confidence {bound_text(cuts)} of such cuts break one"
        )
        outcome, text = "held", text + f"; {nothing}" * (cuts < len(reads))
    if any(facts.get("reordered") for facts in reads):
        text += "; durable blocks were lost though writes issued after them survived"
    if any(facts.get("overtaken") for facts in reads):
        text += "; entries of a log were lost though writes that follow it survived"
    if torn := sum(facts.get("torn_writes", 0) for facts in reads):
        unit = size_text(gcd(*(facts.get("torn_unit_bytes", 0) for facts in reads)))
        text += f"; {counted(torn, 'write')} torn, at multiples of {unit}"
    yield Judged(outcome, text)


def _reads_after_cuts(records: Sequence[RunRecord]) -> Iterator[dict[str, Any]]:
    """The facts of the first read after each cut."""
    is_cut = False
    for record in sorted(records, key=lambda record: record.seq):
        facts = record.backend.facts.get("verify")
        if record.power_cut:
            is_cut = True
        elif is_cut and isinstance(facts, dict) and BROKEN[0] in facts:
            yield facts
            is_cut = False


# The limits of a volume: limit, burst, and how fast it refills.

DRAINED, REFILLED = "drained", "refilled"
"""The names of the steps: until the burst is used up, and again after a rest."""
FULL = 0.95
"""So much of the first burst is all of it."""


def bursts(reader: Reader, records: Sequence[RunRecord]) -> Iterator[Judged]:
    """A line for each run that has drained a volume."""
    runs = sorted((r for r in records if r.status == "ok"), key=lambda run: run.seq)
    for first in (run for run in runs if run.asked.name == DRAINED):
        later = (run for run in runs if run.seq > first.seq)
        second = next((run for run in later if run.asked.name == REFILLED), None)
        yield Judged("none", _burst_text(first, second, reader))


def _burst_text(first: RunRecord, second: RunRecord | None, reader: Reader) -> str:
    sustained, of_bytes, burst, burst_bytes = (
        reader.figure(Metric(name=name), [first]) for name in THROTTLED
    )
    if sustained.value is None or of_bytes.value is None:
        return f"no limit was found: {sustained.why or of_bytes.why}"
    limit = f"sustains {iops_text(sustained.value)} IOPS"
    limit += f" ({bandwidth_text(of_bytes.value)})"
    if not burst.value:
        return f"{limit}, with no burst before that"
    size = f"{digits(burst.value)} I/Os ({bytes_text(round(burst_bytes.value or 0))})"
    again = _refill(first, second, burst.value, reader) if second else ""
    return f"{limit} after a burst of {size}{again}"


def _refill(first: RunRecord, second: RunRecord, burst: float, reader: Reader) -> str:
    back = reader.figure(Metric(name="burst"), [second])
    if back.value is None:
        return f"; the refill is unknown: {back.why}"
    ended, began = map(datetime.fromisoformat, (first.ended_at, second.started_at))
    rest_s = (began - ended).total_seconds()
    text = f"; after {time_text(rest_s)} without I/O"
    if back.value >= FULL * burst:
        return f"{text} it was full again: let it rest for less to see its refill"
    back_text = f"{digits(back.value)} I/Os were back"
    return f"{text} {back_text}: {digits(back.value / rest_s)} a second"
