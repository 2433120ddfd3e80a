"""What is seen before anything is read: badge, drives, one sentence, chips, bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import (
    MOST_EXACT_PERCENT,
    bytes_text,
    time_text,
    whole_text,
)
from ioplan.language.metric import parse_metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.assessed import last_assessed, settled, unsteady, without_value
from ioplan.records.record import RunRecord
from ioplan.results.report.blocks import (
    Bar,
    Bars,
    Chip,
    Drive,
    FirstScreen,
    Outcome,
    Tone,
)
from ioplan.results.report.charts.charts import ABSENT, is_measured
from ioplan.results.report.charts.request import metric_name
from ioplan.results.report.facts import Reported, how_measured
from ioplan.results.report.headlines.contests import (
    Contest,
    comparison_sentence,
    contests,
    expectation_sentence,
    headline_sentence,
)
from ioplan.results.report.headlines.doubts import caveat_text, gravity, shortened
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.judgements import OPEN, Judgement, outcomes_of
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.remarks import run_remarks, unsteady_text
from ioplan.results.report.section import Section
from ioplan.results.report.sentences import found_at

MOST_CHIPS = 5
MOST_CARDS, MOST_TALL_CARDS = 9, 6
"""Cards before the first test, so that its first chart is near; tall ones have more
than TALL bars."""
TALL = 4
MOST_BARS = 8
"""With more drives a card shows the FIRST_BARS best, and the median."""
FIRST_BARS = 5
MOST_NOTES = MOST_NAMES = 2


def first_screen(parts: Sequence[Reported], sections: Sequence[Section]) -> FirstScreen:
    return _Screen(parts, sections).built()


class _Screen(Struct, frozen=True, dict=True):
    """The sessions of a screen, and what must be known of them, the gravest first."""

    parts: Sequence[Reported]
    sections: Sequence[Section]

    def built(self) -> FirstScreen:
        sources = [part.source for part in self.parts]
        simulated = [source.simulated for source in sources]
        ids = {section.title: section.id for section in self.sections}
        return FirstScreen(
            title=" and ".join(dict.fromkeys(p.session.plan for p in self.parts)),
            line=self._line(),
            outcome=self._outcome(),
            badge=caveat_text(simulated, [source.profile for source in sources]),
            drives=tuple(
                Drive(part.label, _facts(part), is_simulated and not all(simulated))
                for part, is_simulated in zip(self.parts, simulated, strict=True)
            ),
            sentence=self.sentence,
            chips=tuple(self._chips())[:MOST_CHIPS],
            cards=cards(self.contests, [part.label for part in self.parts], ids),
            is_in_chips=bool(self.outcomes["failed"]),
            failures=() if self.failed else tuple(self._failures()),
        )

    @cached_property
    def contests(self) -> dict[str, list[Contest]]:
        models = [part.label for part in self.parts if part.source.simulated]
        return {
            own.title: contests(own.title, own.headlines, models)
            for own in self.sections
        }

    @cached_property
    def records(self) -> list[RunRecord]:
        return [record for part in self.parts for record in part.records]

    @cached_property
    def judged(self) -> dict[str, list[Judgement]]:
        return {part.label: part.judged() for part in self.parts}

    @cached_property
    def outcomes(self) -> Counter[str]:
        return outcomes_of(chain.from_iterable(self.judged.values()))

    @cached_property
    def failed(self) -> list[RunRecord]:
        return [record for record in self.records if record.status == "failed"]

    @cached_property
    def unsteady(self) -> list[RunRecord]:
        return unsteady(self.records)

    @cached_property
    def searches(self) -> list[RunRecord]:
        """Those that found no value."""
        return without_value(self.records)

    @cached_property
    def sentence(self) -> str:
        if failed := expectation_sentence(self.judged):
            return failed
        if len(self.parts) > 1:
            every = [*chain.from_iterable(self.contests.values())]
            return comparison_sentence(every, [part.label for part in self.parts])
        own = {s.title: [*chain(*s.headlines.values())] for s in self.sections}
        return headline_sentence(own)

    @property
    def is_ended(self) -> bool:
        return all(part.session.status == "ok" for part in self.parts)

    @cached_property
    def is_sound(self) -> bool:
        """Whether all has run, after its preconditioning, and is as steady as asked."""
        doubted = shortened(self.records) or self.unsteady or self.searches
        return self.is_ended and not doubted

    def _outcome(self) -> Outcome:
        """`held` stands only where all was measured, prepared, and steady as asked."""
        if self.outcomes["failed"] or self.failed:
            return "failed"
        if not self.is_sound or any(self.outcomes[outcome] for outcome in OPEN):
            return "undecided"
        return "held" if self.outcomes else "none"

    def _line(self) -> str:
        """`2026-11-27 12:38 UTC · 331 runs, 3 h of simulated time · ioplan 0.1.0`."""
        runs = counted(len(self.records), "run")
        spent = time_text(sum(record.run_s for record in self.records))
        simulated = how_measured(self.records) == "simulated"
        spent += " of simulated time" * simulated
        began = min((part.session.started_at for part in self.parts), default="")
        when = f"{began[:16].replace('T', ' ')} UTC" if began else ""
        versions = ", ".join(dict.fromkeys(p.session.ioplan for p in self.parts))
        texts = (when, f"{runs}, {spent}", f"ioplan {versions}")
        return " · ".join(filter(None, texts))

    def _chips(self) -> Iterator[Chip]:
        if self.failed:
            text = f"{counted(len(self.failed), 'run')} failed"
            yield self._of_runs(text, self.failed, self._failures(), "bad")
        yield self._expectations()
        for profile in shortened(self.records):
            yield Chip(f"profile {profile}: no preconditioning", "warning")
        last = len(last_assessed(self.records))
        if missed := self.unsteady:
            text = f"steady state not reached in {len(missed)} of {last} cases"
            yield self._of_runs(text, missed, map(unsteady_text, missed))
        if others := settled(self.records):
            text = f"only settled in {len(others)} of {last} cases"
            yield self._of_runs(text, others)
        yield from self._states()
        warned = [run for run in self.records if run.warnings or run.substitutions]
        if warned:
            text = f"warnings in {counted(len(warned), 'run')}"
            lines = run_remarks(self.records)
            details = (own.text for own in lines if own.outcome == "warning")
            yield replace(self._of_runs(text, warned, details), is_list=True)
        hosts = {w for run in self.records for w in run.host.get("warnings", ())}
        if hosts:
            yield Chip(f"the host distorts: {min(hosts)}", "warning")
        if self.searches:
            count = len(self.searches)
            text = f"{count} search{'es' * (count > 1)} found no value"
            yield self._of_runs(text, self.searches, map(found_at, self.searches))
        missing = sum(len(part.missing) for part in self.parts)
        if missing:
            yield Chip(f"{counted(missing, 'cell')} {NOT_MEASURED}", "warning")
        elif any(map(_is_unfinished, self.parts)):
            yield Chip("the session did not finish", "warning")
        if absent := [name for name in ABSENT if not is_measured(name, self.records)]:
            names = ", ".join(metric_name(parse_metric(name)) for name in absent)
            yield Chip(f"{names}: not measured", "soft")

    def _of_runs(
        self,
        text: str,
        runs: Sequence[RunRecord],
        details: Iterable[str] = (),
        tone: Tone = "warning",
    ) -> Chip:
        """A chip that leads to the first test of runs; several sessions have no
        details."""
        link = self._first(lambda section: section.title == runs[0].asked.test)
        return Chip(text, tone, link, tuple(details) * (len(self.parts) == 1))

    def _first(self, has: Callable[[Section], object]) -> str:
        return next((section.id for section in self.sections if has(section)), "")

    def _failures(self) -> Iterator[str]:
        remarks = (remark for section in self.sections for remark in section.remarks)
        return (remark.text for remark in remarks if remark.outcome == "failed")

    def _expectations(self) -> Chip:
        """`1 of 5 expectations failed, 4 not measured`, `all 5 expectations passed`."""
        total = counted(self.outcomes.total(), "expectation")
        if not self.outcomes:
            known = all(part.is_known for part in self.parts)
            text = "no expectations in the plan" if known else "no expectations judged"
            return Chip(text, "soft")
        unmet = [(o, self.outcomes[o]) for o in ("failed", *OPEN) if self.outcomes[o]]
        if not unmet:
            which = f"all {total}" if self.outcomes.total() > 1 else "the expectation"
            return Chip(f"{which} passed", "good" if self.is_sound else "soft")
        (name, count), *others = unmet
        text = f"{count} of {total} {name}"
        text = ", ".join((text, *(f"{n} {outcome}" for outcome, n in others)))
        link = self._first(lambda section: outcomes_of(section.judgements)[name])
        if name != "failed":
            return Chip(text, "warning", link)
        _, _, worst = self.sentence.rstrip(".").partition(": ")
        return Chip(text, "bad", link, (worst,) if worst else ())

    def _states(self) -> Iterator[Chip]:
        """The state of drives, and those whose rate fell within a headline's run."""
        measured = ((p, s.id) for s in self.sections for p in s.points if p.runs)
        states = ((point.runs[-1].state, link) for point, link in measured)
        doubts = [(s.doubt, link) for s, link in states if s and s.doubt]
        for doubt, link in sorted(doubts, key=lambda pair: gravity(pair[0]))[:1]:
            yield Chip(f"state of the drive: {doubt}", "warning", link)
        links: dict[str, str] = {}
        for section in self.sections:
            for label, own in section.headlines.items():
                if any(headline.burst for headline in own):
                    links.setdefault(label, section.id)
        if slow := [*links]:
            verb = "slow" if len(slow) > 1 else "slows"
            yield Chip(f"{_names(slow)} {verb} down", "warning", links[slow[0]])


def _is_unfinished(part: Reported) -> bool:
    """Not where all of its runs were made and some of them failed."""
    failed = any(record.status == "failed" for record in part.records)
    is_complete = part.session.status == "failed" and failed and part.plan is not None
    return part.session.status != "ok" and not is_complete


def _facts(part: Reported) -> str:
    """`375 GB, firmware E201`."""
    capacity, firmware = part.target.get("capacity_bytes"), part.source.firmware
    texts = capacity and bytes_text(capacity), firmware and f"firmware {firmware}"
    return ", ".join(filter(None, texts))


# Headlines as cards of bars.


def cards(
    tests: Mapping[str, Sequence[Contest]],
    labels: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> tuple[Bars, ...]:
    """A card for each headline, the first of each test before the second of any."""
    columns = [
        [_card(contest, (links or {}).get(test, "")) for contest in entries]
        for test, entries in tests.items()
    ]
    every = filter(None, chain.from_iterable(zip_longest(*columns)))
    return tuple(
        card
        for card in every
        if len(labels) == 1 or any(bar.value is not None for bar in card.bars)
    )


def _card(contest: Contest, link: str) -> Bars:
    """The bars of all sessions that have the test, also of those without a headline."""
    first = contest.any
    is_prepared = not any(own.is_shortened for own in contest.headlines.values())
    is_ranked = is_prepared and contest.has_one_name
    entered = contest.in_order if is_prepared else contest.entered
    best = _best(contest) if is_ranked and len(entered) > 1 else ()
    bars = [_bar(k, contest.headlines.get(k), k in best) for k in entered]
    if not contest.has_one_name:
        names = {k: f"{k}, {own.word}" for k, own in contest.headlines.items()}
        bars = [replace(bar, title=names.get(bar.label, "")) for bar in bars]
    if len(bars) > MOST_BARS:  # the best and the median stay in sight
        middle = len(contest.ranked) // 2 if is_ranked else 0
        shown = {*range(FIRST_BARS), middle}
        bars = [replace(bar, is_folded=at not in shown) for at, bar in enumerate(bars)]
        if middle >= FIRST_BARS:
            bars[middle] = replace(bars[middle], title=f"median: {bars[middle].label}")
    better = "higher is better" if first.more_is_better else "lower is better"
    texts = (first.size, contest.caption, better if is_ranked else "no ranking")
    return Bars(
        title=contest.title,
        caption=" · ".join(filter(None, texts)),
        bars=tuple(bars),
        unit=first.unit,
        limit=first.limit,
        limit_text=_limit_text(contest),
        notes=_notes(bars),
        link=link,
    )


def _limit_text(contest: Contest) -> str:
    """`limit 500k: missed by client, disk`."""
    first = contest.any
    missed = [label for label, own in contest.headlines.items() if own.unmet]
    if first.limit is None:
        return ""
    by = f" by {_names(missed)}" * (len(contest.headlines) > 1)
    text = f"limit {whole_text(first.limit, first.unit)}"
    return text + f": missed{by}" * bool(missed)


def _notes(bars: Sequence[Bar]) -> tuple[str, ...]:
    """`client, disk: not steady`, the most frequent first, MOST_NOTES at most."""
    noted = grouped((bar for bar in bars if bar.note), key=lambda bar: bar.note)
    notes = sorted(noted.items(), key=lambda pair: -len(pair[1]))
    several = len(bars) > 1
    texts = [
        f"{_names([bar.label for bar in about])}: " * several + note
        for note, about in notes
    ]
    return first_lines(texts, MOST_NOTES)


def _names(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) <= MOST_NAMES else f"{len(labels)} drives"


def _best(contest: Contest) -> list[str]:
    """The firm figure that is better than all others, and what equals it."""
    ranked = [(contest.headlines[label], label) for label in contest.ranked]
    if not ranked or not ranked[0][0].is_firm:
        return []
    best = ranked[0][0].value
    return [label for own, label in ranked if own.is_firm and own.value == best]


def _bar(label: str, headline: Headline | None, is_best: bool) -> Bar:
    if headline is None:
        return Bar(label, None, "–", is_firm=False)
    value, low, high = headline.value, None, None
    error = headline.error_percent or 0.0
    if value is not None and error > MOST_EXACT_PERCENT:
        low, high = value * max(0.0, 1 - error / 100), value * (1 + error / 100)
    return Bar(
        label=label,
        value=value,
        text=headline.value_text,
        is_best=is_best,
        is_firm=headline.is_firm,
        low=low,
        high=high,
        note=headline.note,
        definition=headline.definition,
    )
