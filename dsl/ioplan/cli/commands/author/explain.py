"""`ioplan explain`: the reference of a word, from the package."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.core.error_kinds import KINDS
from ioplan.core.text import did_you_mean
from ioplan.language.clause_table import BY_WORD, CLAUSES, Clause
from ioplan.language.foreign_words import ANSWERS, NOT_YET, WRITTEN, answer
from ioplan.language.metric import METRICS, PERCENTILE
from ioplan.language.output_table import (
    CHARTS,
    METRIC_MEANINGS,
    PERCENTILE_MEANING,
)
from ioplan.language.statement_table import BY_WORD as STATEMENTS_BY_WORD
from ioplan.language.statement_table import ITEMS, PREPARES, STATEMENTS, TIMING

PERCENTILES = ("p50", "p99", "p99.9", "p99.99", "p99.999")
WIDTH = 76


class Entry(NamedTuple):
    """What is said of a word: what it is, then lines on it."""

    sort: str
    lines: tuple[str, ...]


def explain(asked: list[str]) -> None:
    """Print what a word means, with an example; without one, all that there are.

    Several are one term, such as `read sizes`, or else each for itself.
    """
    if not asked:
        _print_all()
        return
    term = " ".join(asked)
    terms = [term] if any(entries_of(term)) else list(dict.fromkeys(asked))
    found = [(one, entry) for one in terms for entry in entries_of(one)]
    if not found:
        near = did_you_mean(term, words())
        raise UsageError(f"unknown word {term!r}{near}; ioplan explain lists all")
    for number, (one, entry) in enumerate(found):
        if number:
            print_line("")
        print_line(f"{one}: {entry.sort}")
        for line in entry.lines:
            _print_wrapped(line)


LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def _print_wrapped(line: str) -> None:
    """As text: the reference is written for a page. Examples stay as they are."""
    if line.startswith("  ") or not line:
        print_line(f"  {line}".rstrip())
        return
    plain = LINK.sub(r"\1", line).replace("`", "")
    for row in textwrap.wrap(plain, WIDTH, subsequent_indent="  "):
        print_line(f"  {row}")


def entries_of(word: str) -> Iterator[Entry]:
    """All that a word means, else the statements and clauses that have it in them."""
    found = [*_own_entries(word)]
    yield from found or _entries_with(word)


def _entries_with(word: str) -> Iterator[Entry]:
    """`steady` is a part of `until steady …`, and of `rounds until steady …`."""
    part = re.compile(rf"\b{re.escape(word)}\b")
    for statement in STATEMENTS_BY_WORD.values():
        if any(part.search(form) for form in statement.forms):
            yield _part(word, statement.word)
    for clause in CLAUSES:
        if clause.reference and part.search(clause.reference[0]):
            yield _part(word, clause.word)


def _part(word: str, of: str) -> Entry:
    """What is said of the statement or clause that a word is a part of."""
    first = next(_own_entries(of))
    return Entry(f"a part of {of}, {first.sort}", first.lines)


def _own_entries(word: str) -> Iterator[Entry]:
    """`read` is a clause, `verify` also the name of an error."""
    if statement := STATEMENTS_BY_WORD.get(word):
        lines = [f"{form}: {text}" for form, text in statement.forms.items()]
        yield Entry(_place(word), (*lines, *_example(statement.example)))
    if clause := _clause(word):
        yield Entry("a clause of a workload", tuple(_clause_lines(clause)))
    if word in METRIC_MEANINGS or PERCENTILE.fullmatch(word):
        yield Entry("a metric", tuple(_metric_lines(word)))
    if part := METRIC_PARTS.get(word):
        yield Entry("a part of a metric", (part[0], *_example(part[1])))
    if chart := CHARTS.get(word):
        yield Entry("a chart", (chart.meaning, *_example(chart.example)))
    for kinds in KINDS:
        for kind in kinds:
            if kind == word:
                about = " ".join((kinds.__doc__ or "").split())
                yield Entry("the name of an error", (kind.meaning, "", about))
    if here := answer(word):
        yield Entry("a word of other tools", (here,))


def _place(word: str) -> str:
    places = {
        "an item of a file": ITEMS,
        "a statement of a test": STATEMENTS,
        "a step of a precondition": PREPARES,
        "a clause of a run or a write": TIMING,
    }
    of = [name for name, table in places.items() if any(s.word == word for s in table)]
    return " and ".join(of)


def _clause(word: str) -> Clause | None:
    """The clause of a word, of a form, or of an axis: `data zeros`, `distribution`."""
    forms = (one for one in CLAUSES if word in one.forms or word == one.slot)
    return BY_WORD.get(word) or next(forms, None)


def _clause_lines(clause: Clause) -> Iterator[str]:
    """The reference, which may stand at a clause on the same, then what it allows."""
    alike = (one for one in CLAUSES if one.slot == (clause.slot or clause.word))
    told = next((c.reference for c in (clause, *alike) if c.reference), None)
    if told:
        form, meaning, default = told
        yield f"{form}: {meaning}"
        yield from [f"default: {default}"] if default else []
    if clause.is_axis:
        yield f"axis: vary {clause.word} in …"
    if clause.fio:
        yield f"fio: {', '.join(clause.fio)}"
    if clause.word in ("shaped", "footprint of"):
        yield from _example(f"precondition steady {{\n  write {_workload(clause)}\n}}")
    elif clause.word == "follows":
        yield from _example(BEHIND.format(_workload(clause)))
    elif clause.word in ("starts", "ends"):
        yield from _example(BESIDE.format(_workload(clause)))
    else:
        yield from _example(f"run {_workload(clause)} for 1min")


BESIDE = "workload db {{\n  users = random 8KiB 70/30\n  copy = {}\n}}"
"""What only one of several streams says."""

BEHIND = "workload wal {{\n  log = sequential 4KiB 0/100, fua\n  data = {}\n}}"

WITHOUT = {
    **dict.fromkeys(("pattern", "random share"), "{} 4KiB 70/30"),
    "size": "random 70/30, {}",
    **dict.fromkeys(("replay", "footprint of", "part", "as fast as possible"), "{}"),
    "after completion": "{}",
    **dict.fromkeys(("speed", "offsets", "only", "writes as reads"), "replay web, {}"),
    "mix": "random 4KiB, {}",
    "shaped": "random 4KiB {}",
    "follows": "random 16KiB 0/100, {}",
    "random share": "{} 4KiB 70/30",
}


def _workload(clause: Clause) -> str:
    """A workload that has the clause once."""
    value = "every 64" if clause.is_count else "70%"
    example = next(iter(clause.forms.values()), f"{clause.word} {value}")
    plain = "random 4KiB 70/30, {}"
    around = WITHOUT.get(clause.word) or WITHOUT.get(clause.slot, plain)
    return around.format(example)


DURING = (
    "`METRIC during PHASE`: of the I/Os that were due in a part of the run: a phase "
    "that a burst names, the part of a stream with `starts after` or `ends after`, or "
    "a stretch such as 10s..20s",
    "expect p99 < 5ms during 10s..20s",
)
WORST_SECOND = (
    "`worst_second.METRIC`: the highest of all seconds of the run, of a rate the "
    "lowest",
    "expect worst_second.p99 < 20ms",
)
SHARE = (
    "`intervals of METRIC above QUANTITY`, or `below`: how many of the run's intervals",
    "expect intervals of p99 above 5ms <= 1%",
)
METRIC_PARTS = {
    **{"during": DURING, "phase": DURING, "worst_second": WORST_SECOND},
    **dict.fromkeys(("intervals", "above", "below"), SHARE),
}
"""What stands before or behind a metric, and an example."""

LIMITS = {
    "time": "< 2ms",
    "iops": ">= 100_000 iops",
    "bandwidth": ">= 2GB/s",
    "share": "<= 50%",
    "number": "< 1_000",
    "size": "< 10GB",
}


def _metric_lines(word: str) -> Iterator[str]:
    if word in METRICS:
        unit, kind = METRICS[word]
        yield METRIC_MEANINGS[word] + (f"; in {unit}" if unit else "")
    else:
        kind = "time"
        yield f"{PERCENTILE_MEANING}, here {word[1:]} %"
        yield "It is reported if at least ten I/Os are above it."
    yield from _example(f"expect {word} {LIMITS[kind]}\nchart  lines {word} by qd")


def _example(text: str) -> Iterator[str]:
    yield ""
    yield from (f"  {row}".rstrip() for row in text.splitlines())


def words() -> list[str]:
    """All that can be explained."""
    return [word for _, group in _groups() for word in group] + [*_foreign()]


def _groups() -> Iterator[tuple[str, list[str]]]:
    """The words in the order in which a plan has them."""
    yield "in a file", [one.word for one in ITEMS]
    yield "in a test", [one.word for one in STATEMENTS]
    yield "in a precondition", [one.word for one in PREPARES]
    yield "in a workload", [clause.word for clause in CLAUSES]
    yield "in a run", [one.word for one in TIMING]
    yield "metrics", [*METRICS, *PERCENTILES, *METRIC_PARTS]
    yield "charts", [*CHARTS]
    yield "names of errors", sorted({str(kind) for kinds in KINDS for kind in kinds})


def _foreign() -> list[str]:
    return sorted(w for w in (*WRITTEN, *ANSWERS, *NOT_YET) if w.isidentifier())


def _print_all() -> None:
    for title, group in _groups():
        print_line(f"{title}:")
        for row in textwrap.wrap(", ".join(group), WIDTH, break_on_hyphens=False):
            print_line(f"  {row}")
    print_line("also the words of fio and vdbench, as ioplan explain iodepth")
