"""What a report says of two sides: the judgement of `compare`, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.records.session import Session
from ioplan.results.compare.comparison import Comparison, RowVerdict
from ioplan.results.compare.judge import Question, compare
from ioplan.results.compare.side import side_of
from ioplan.results.compare.wording import (
    MAX_NAMED,
    all_cells_text,
    noise_texts,
    summary_text,
)
from ioplan.results.report.document import Judged
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

MOST_RUNS = 3000
"""A report of more is not made to wait for the sessions that noise is learned from."""
OUTCOMES: dict[RowVerdict, str] = {"worse": "failed", "better": "held", "equal": "held"}

Sides = tuple[list[Session], list[Session]]


def compared(store: Store, sessions: Sequence[Session]) -> tuple[Judged, ...]:
    """Lines on the sides that the sessions are of; none if they are not two.

    The first session, or all on the first of two targets, are the base. Raises
    StoreError.
    """
    sides = _sides(sessions)
    if not sides or sum(store.count(one.id) for one in sessions) > MOST_RUNS:
        return ()
    base, new = (side_of(store, side) for side in sides)
    found = compare(Reader(store), base, new, Question())
    return tuple(_lines(found)) if found.rows else ()


def _sides(sessions: Sequence[Session]) -> Sides | None:
    targets = list(dict.fromkeys(one.target for one in sessions))
    if len(targets) == 2:
        base, new = ([s for s in sessions if s.target == target] for target in targets)
        return base, new
    return ([sessions[0]], [sessions[1]]) if len(sessions) == 2 else None


def _lines(found: Comparison) -> Iterator[Judged]:
    drives = found.subject == "drives"
    base, new = (", ".join(side.sessions) for side in (found.base, found.new))
    yield Judged("none", f"{new} compared with {base}: {summary_text(found)}")
    for one in found.all_cells:
        text = f"{one.verdict}: {all_cells_text(one, drives)}"
        yield Judged(OUTCOMES.get(one.verdict, "undecided"), text)
    yield from (Judged("failed", text) for text in found.missing[:MAX_NAMED])
    yield from (Judged("none", text) for text in noise_texts(found))
