"""What is seen before anything is read: badge, drives, one sentence, chips, bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from msgspec.structs import replace

from ioplan.core.text import counted
from ioplan.core.units import bytes_text, metric_text, time_text
from ioplan.language.metric import parse_metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.assessed import last_assessed, unsteady, without_value
from ioplan.records.record import RunRecord
from ioplan.results.report.blocks import Bar, Bars, Text, Tone
from ioplan.results.report.charts.defaults import ABSENT, is_measured
from ioplan.results.report.charts.request import metric_name
from ioplan.results.report.documents import Drive, FirstScreen, Outcome, Section
from ioplan.results.report.headlines.contests import ByLabel, Contest, contests
from ioplan.results.report.headlines.doubts import caveat_text, is_virtual, shortened
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.sentence import (
    comparison_sentence,
    expectation_sentence,
    headline_sentence,
)
from ioplan.results.report.judgements import Judgement, outcomes_of
from ioplan.results.report.reported import Reported
from ioplan.results.report.source import source

MOST_CHIPS = 5
MOST_CARDS, MOST_TALL_CARDS = 9, 6
"""Cards before the first test, so that its first chart is near; tall ones have more
than TALL bars."""
TALL = 4
MOST_BARS = 8
"""With more drives a card shows the FIRST_BARS best, and the median."""
FIRST_BARS = 5
MOST_NOTES = MOST_NAMES = 2
VISIBLE_PERCENT = 2.0
"""A smaller error of a mean is not drawn."""
OPEN = ("undecided", "no baseline", NOT_MEASURED)


def first_screen(parts: Sequence[Reported], sections: Sequence[Section]) -> FirstScreen:
    """The first screen of some sessions, each with its label."""
    labels = [part.label for part in parts]
    sources = [source(part.label, part.session, part.records) for part in parts]
    simulated = [one.simulated for one in sources]
    records = [record for part in parts for record in part.records]
    found = [one for s in sections for one in contests(s.title, s.headlines)]
    tests = {one.title: [*chain(*one.headlines.values())] for one in sections}
    return FirstScreen(
        title=" and ".join(dict.fromkeys(part.session.plan for part in parts)),
        line=_line(parts, records),
        outcome=_outcome(parts, records),
        badge=caveat_text(simulated, [one.profile for one in sources]),
        drives=tuple(
            Drive(part.label, _facts(part), is_one and not all(simulated))
            for part, is_one in zip(parts, simulated, strict=True)
        ),
        sentence=expectation_sentence(_judged(parts))
        or (
            comparison_sentence(found, labels)
            if len(labels) > 1
            else headline_sentence(tests)
        ),
        chips=tuple(_chips(parts, sections, records))[:MOST_CHIPS],
        cards=cards(
            {one.title: one.headlines for one in sections},
            labels,
            {one.title: one.id for one in sections},
        ),
    )


def _line(parts: Sequence[Reported], records: Sequence[RunRecord]) -> str:
    """`2026-11-27 12:38 UTC · 331 runs, 3 h of simulated time · ioplan 0.1.0`."""
    runs = counted(len(records), "run")
    spent = time_text(sum(record.run_s for record in records))
    virtual = {is_virtual(record.backend.name) for record in records}
    of_time = " of simulated time" if virtual == {True} else ""
    began = min((part.session.started_at for part in parts), default="")
    when = f"{began[:16].replace('T', ' ')} UTC" if began else ""
    versions = ", ".join(dict.fromkeys(part.session.ioplan for part in parts))
    texts = (when, f"{runs}, {spent}{of_time}", f"ioplan {versions}")
    return " · ".join(filter(None, texts))


def _facts(part: Reported) -> str:
    """`375 GB, firmware E201`."""
    target = part.records[0].target if part.records else {}
    capacity = target.get("capacity_bytes")
    firmware = target.get("identity", {}).get("firmware")
    texts = (
        bytes_text(capacity) if capacity else "",
        firmware and f"firmware {firmware}",
    )
    return ", ".join(str(text) for text in texts if text)


def _judged(parts: Sequence[Reported]) -> dict[str, list[Judgement]]:
    return {part.label: part.all_judged for part in parts}


def _outcome(parts: Sequence[Reported], records: Sequence[RunRecord]) -> Outcome:
    """`held` stands only where all was measured, prepared, and steady as asked."""
    outcomes = outcomes_of(chain.from_iterable(_judged(parts).values()))
    if outcomes["failed"] or any(one.status == "failed" for one in records):
        return "failed"
    if not _is_sound(parts) or any(outcomes[one] for one in OPEN):
        return "undecided"
    return "held" if outcomes else "none"


def _is_sound(parts: Sequence[Reported]) -> bool:
    """Whether all has run, after its preconditioning, and is as steady as asked."""
    records = [record for part in parts for record in part.records]
    ended = all(part.session.status == "ok" for part in parts)
    return ended and not (
        shortened(records) or unsteady(records) or without_value(records)
    )


# What a reader must know before relying on the figures, the gravest first.


def _chips(
    parts: Sequence[Reported],
    sections: Sequence[Section],
    records: Sequence[RunRecord],
) -> Iterator[Text]:
    yield from _failures(parts, sections, records)
    yield from _unsteady(sections, records)
    yield from _slowdowns(sections)
    warned = [one for one in records if one.warnings or one.substitutions]
    if warned:
        link = _link(sections, warned[0].asked.test)
        yield Text(f"warnings in {counted(len(warned), 'run')}", "warning", link)
    distorting = {w for one in records for w in one.host.get("warnings", ())}
    if distorting:
        yield Text(f"the host distorts: {min(distorting)}", "warning")
    if nothing := without_value(records):
        text = f"{len(nothing)} search{'es' * (len(nothing) > 1)} found no value"
        yield Text(text, "warning", _link(sections, nothing[0].asked.test))
    missing = sum(len(part.missing) for part in parts)
    stopped = any(part.session.status != "ok" for part in parts)
    if missing or stopped:
        what = f"{counted(missing, 'cell')} {NOT_MEASURED}" if missing else ""
        yield Text(what or "the session did not finish", "warning")
    if absent := [name for name in ABSENT if not is_measured(name, records)]:
        names = ", ".join(metric_name(parse_metric(name)) for name in absent)
        yield Text(f"{names}: not measured", "soft")


def _failures(
    parts: Sequence[Reported],
    sections: Sequence[Section],
    records: Sequence[RunRecord],
) -> Iterator[Text]:
    """Failed runs, expectations, and what a profile leaves out."""
    broken = [one for one in records if one.status == "failed"]
    if broken:
        link = _link(sections, broken[0].asked.test)
        yield Text(f"{counted(len(broken), 'run')} failed", "bad", link)
    yield _expectations(parts, sections)
    for profile in shortened(records):
        yield Text(f"profile {profile}: no preconditioning", "warning")


def _expectations(parts: Sequence[Reported], sections: Sequence[Section]) -> Text:
    """`1 of 5 expectations failed, 4 not measured`, `all 5 expectations passed`."""
    outcomes = outcomes_of(chain.from_iterable(_judged(parts).values()))
    total = counted(outcomes.total(), "expectation")
    if not outcomes:
        known = all(part.is_known for part in parts)
        text = "no expectations in the plan" if known else "no expectations judged"
        return Text(text, "soft")
    unmet = [(name, outcomes[name]) for name in ("failed", *OPEN) if outcomes[name]]
    if not unmet:
        which = f"all {total}" if outcomes.total() > 1 else "the expectation"
        return Text(f"{which} passed", "good" if _is_sound(parts) else "soft")
    (name, count), *others = unmet
    text = ", ".join((f"{count} of {total} {name}", *(f"{n} {o}" for o, n in others)))
    tone: Tone = "bad" if name == "failed" else "warning"
    return Text(text, tone, _judged_link(sections, name))


def _judged_link(sections: Sequence[Section], *outcomes: str) -> str:
    """The first section where an expectation has one of these outcomes."""
    return next(
        (s.id for s in sections if any(j.outcome in outcomes for j in s.judgements)), ""
    )


def _link(sections: Sequence[Section], test: str) -> str:
    return next((one.id for one in sections if one.title == test), "")


def _unsteady(
    sections: Sequence[Section], records: Sequence[RunRecord]
) -> Iterator[Text]:
    last, missed = last_assessed(records), unsteady(records)
    if missed:
        link = _link(sections, missed[0].asked.test)
        text = f"steady state not reached in {len(missed)} of {len(last)} cases"
        yield Text(text, "warning", link)
    settled = [one for one in last if one.steady and one.steady.limits]
    if others := [one for one in settled if one not in missed]:
        text = f"only settled in {len(others)} of {len(last)} cases"
        yield Text(text, "warning", _link(sections, others[0].asked.test))
    states = Counter(
        (point.runs[-1].state.doubt, section.id)
        for section in sections
        for point in section.points
        if point.runs and point.runs[-1].state and point.runs[-1].state.doubt
    )
    if states:
        ((doubt, link), _) = states.most_common(1)[0]
        yield Text(f"state of the drive: {doubt}", "warning", link)


def _slowdowns(sections: Sequence[Section]) -> Iterator[Text]:
    """Drives whose rate fell within a run that is a headline."""
    slow: dict[str, str] = {}
    for section in sections:
        for label, headlines in section.headlines.items():
            if any(one.burst for one in headlines):
                slow.setdefault(label, section.id)
    if slow:
        verb = "slow" if len(slow) > 1 else "slows"
        yield Text(
            f"{_names([*slow])} {verb} down", "warning", next(iter(slow.values()))
        )


# Headlines as cards of bars.


def cards(
    tests: Mapping[str, ByLabel],
    labels: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> tuple[Bars, ...]:
    """A card for each headline, the first of each test before the second of any.

    `tests` has all sessions that have the test, also those without a headline.
    """
    columns = []
    for test, by_label in tests.items():
        with_test = [label for label in labels if label in by_label]
        link = (links or {}).get(test, "")
        columns.append([_card(c, with_test, link) for c in contests(test, by_label)])
    found = [card for row in zip_longest(*columns) for card in row if card is not None]
    return tuple(card for card in found if len(labels) == 1 or _has_value(card))


def _has_value(card: Bars) -> bool:
    return any(bar.value is not None for bar in card.bars)


def _card(contest: Contest, labels: Sequence[str], link: str) -> Bars:
    ranked = contest.ranked
    others = [label for label in labels if label not in ranked]
    is_ranked = not any(one.is_shortened for one in contest.headlines.values())
    order = [*ranked, *others] if is_ranked else labels
    best = _best(contest) if is_ranked and len(labels) > 1 else ()
    bars = [_bar(label, contest.headlines.get(label), label in best) for label in order]
    first = contest.any
    return Bars(
        title=", ".join(filter(None, (contest.test, first.kind, contest.where))),
        caption=_caption(first, is_ranked),
        bars=tuple(_folded(bars)),
        unit=first.unit,
        limit=first.limit,
        limit_text=_limit_text(contest),
        notes=tuple(_notes(bars)),
        link=link,
    )


def _limit_text(contest: Contest) -> str:
    """`limit 500k: missed by client, disk`."""
    first = contest.any
    missed = [label for label, one in contest.headlines.items() if one.unmet]
    if first.limit is None:
        return ""
    text = f"limit {metric_text(first.limit, first.unit)}"
    if not missed:
        return text
    return f"{text}: missed" + f" by {_names(missed)}" * (len(contest.headlines) > 1)


def _notes(bars: Sequence[Bar]) -> Iterator[str]:
    """`client, disk: not steady`, the most frequent first, MOST_NOTES at most."""
    labels: dict[str, list[str]] = {}
    for bar in bars:
        if bar.note:
            labels.setdefault(bar.note, []).append(bar.label)
    notes = sorted(labels.items(), key=lambda pair: -len(pair[1]))
    for note, few in notes[:MOST_NOTES]:
        yield f"{_names(few)}: {note}" if len(bars) > 1 else note
    if (left := len(notes) - MOST_NOTES) > 0:
        yield f"and {left} more"


def _names(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) <= MOST_NAMES else f"{len(labels)} drives"


def _best(contest: Contest) -> list[str]:
    """The firm figure that is better than all others, and what equals it."""
    ranked = contest.ranked
    firm = [label for label in ranked if contest.headlines[label].is_firm]
    if not firm or firm[0] != ranked[0]:
        return []
    value = contest.headlines[firm[0]].value
    return [label for label in firm if contest.headlines[label].value == value]


def _caption(headline: Headline, is_ranked: bool) -> str:
    """`4 KiB · p99 latency · lower is better`."""
    better = "higher is better" if headline.more_is_better else "lower is better"
    texts = (headline.size, headline.caption, better if is_ranked else "no ranking")
    return " · ".join(filter(None, texts))


def _bar(label: str, headline: Headline | None, is_best: bool) -> Bar:
    if headline is None:
        return Bar(label, None, "–", is_firm=False)
    error = headline.error_percent or 0.0
    value = headline.value
    is_visible = value is not None and error > VISIBLE_PERCENT
    return Bar(
        label=label,
        value=value,
        text=headline.value_text,
        is_best=is_best,
        is_firm=headline.is_firm,
        low=(value or 0.0) * max(0.0, 1 - error / 100) if is_visible else None,
        high=(value or 0.0) * (1 + error / 100) if is_visible else None,
        note=headline.note,
        definition=headline.definition,
    )


def _folded(bars: Sequence[Bar]) -> Iterable[Bar]:
    """Of many drives the best five and the median stay in sight."""
    if len(bars) <= MOST_BARS:
        return bars
    shown = {*range(FIRST_BARS), len(bars) // 2}
    return [replace(bar, is_folded=at not in shown) for at, bar in enumerate(bars)]
