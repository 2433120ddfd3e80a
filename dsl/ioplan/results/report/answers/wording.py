"""An answer in words: what each drive holds, how that is known, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from ioplan.core.units import digits, iops_text, latency_text, percent_text, time_text
from ioplan.results.report.answers.answer import Held
from ioplan.results.report.answers.load import Load
from ioplan.results.report.answers.question import Question

Answers = Mapping[str, Held | None]
"""By the labels of sessions."""


def ranked(answers: Answers) -> list[tuple[str, Held | None]]:
    """The one that holds most first; those that are not known last."""

    def order(pair: tuple[str, Held | None]) -> tuple[bool, float]:
        held = pair[1]
        return held is None, -(held.value or 0.0) if held else 0.0

    return sorted(answers.items(), key=order)


def sentence(question: Question, label: str, held: Held | None) -> str:
    """`B holds 45.2k IOPS ± 1.2 % with p99 < 1ms (QD 8)`."""
    if held is None:
        return f"{label}: not measured"
    limit = f" with {question.demand}" if question.demand else ""
    if held.value is None:
        return f"{label} does not hold {question.demand}: {_miss(question, held)}"
    return f"{label} holds {_amount(held)}{limit}{_how(question, held)}"


def _miss(question: Question, held: Held) -> str:
    one = held.at
    text = _latency(question, one)
    near = f", between {held.between}" if held.between else ""
    return f"{question.metric} is {text} at {one.where}, the lowest load{near}"


def _amount(held: Held) -> str:
    value = held.value or 0.0
    if held.high == inf:
        return f"at least {iops_text(held.low)} IOPS"
    if held.is_measured:
        error = held.at.error_percent
        return f"{iops_text(value)} IOPS" + (
            f" ± {percent_text(error)}" if error is not None else ""
        )
    low, high = iops_text(held.low), iops_text(held.high)
    return f"about {iops_text(value)} IOPS ({low} to {high})"


def _latency(question: Question, one: Load) -> str:
    return latency_text(one.latency_ns(question.metric) or 0.0)


def _how(question: Question, held: Held) -> str:
    """Where it was measured, or what it is interpolated from."""
    if held.between:
        return f", between {held.between}"
    if held.beyond is None:
        end = ": no higher load was measured" if held.high == inf else ""
        return f" at {held.at.where}{end}"
    past = f"{held.beyond.where} ({_latency(question, held.beyond)})"
    if held.is_measured:
        return f" at {held.at.where}, not at {past}"
    return f", between {held.at.where} and {past}"


def details(load: Load) -> Iterator[str]:
    """What stands below: the burst, watts, drive writes, what speaks against it."""
    if load.burst:
        text = iops_text(load.burst.value)
        yield f"{text} IOPS for the first {time_text(load.burst.length_s)}, then this"
    if load.watts is not None:
        yield f"{digits(load.watts)} W"
    if load.drive_writes is not None:
        yield f"{digits(load.drive_writes)} drive writes a day"
    yield from load.against


def lines(question: Question, answers: Answers) -> Iterator[str]:
    """All of it, the drive that holds most first."""
    for label, held in ranked(answers):
        yield sentence(question, label, held)
        said = ", ".join(details(held.at)) if held else ""
        if said:
            yield f"  {said}"


def expectation(held: Held) -> str:
    """What a plan would say of it; empty where nothing is held."""
    if not held.low or held.at.rate:
        return ""
    return f"expect iops >= {_round_down(held.low):_} iops when qd == {held.at.depth}"


def _round_down(value: float) -> int:
    """To three digits."""
    whole = int(value)
    last = max(0, len(str(whole)) - 3)
    return int(str(whole)[: len(str(whole)) - last] + "0" * last)


def missing(answers: Answers) -> Sequence[str]:
    """The sessions that cannot say it."""
    return [label for label, held in answers.items() if held is None]
