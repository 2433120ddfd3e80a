"""The runs of some ids in many sessions, a page of sessions for each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.results.store.connection import Row
from ioplan.results.store.database import Database
from ioplan.results.store.queries import sessions_of_runs

PAGE_RUNS = 2000
"""So many runs, by the number of ids, are read at once."""


def sessions_that_did(store: Database, run_ids: Sequence[str]) -> list[str]:
    """The ids of the sessions, which sort by time. Raises StoreError."""
    query = sessions_of_runs(len(run_ids))
    with store.reading() as connection:
        rows = connection.rows(query, **_named("run", run_ids))
    return sorted(row["session"] for row in rows)


def pages_of_runs(
    store: Database, sessions: Sequence[str], run_ids: Sequence[str], whole: bool
) -> Iterator[list[Row]]:
    """These runs, in order: session, seq, run id, status, place and figures, and the
    record and the host's facts, of all or of those without a place. Raises StoreError.
    """
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    for first in range(0, len(sessions), size):
        page = sessions[first : first + size]
        with store.reading() as connection:
            yield connection.rows(
                _page(len(page), len(run_ids), whole),
                **_named("session", page),
                **_named("run", run_ids),
            )


def whole_runs(store: Database, keys: Sequence[tuple[str, int]]) -> Iterator[Row]:
    """Session, seq, record and host of these runs, by session and seq, in their order.
    Raises StoreError."""
    if not keys:
        return
    sessions = list(dict.fromkeys(session for session, _ in keys))
    places = ", ".join(sorted({str(int(seq)) for _, seq in keys}))
    query = f"""
        SELECT run.session, run.seq, run.record, env.facts
        FROM run JOIN env ON run.env = env.digest
        WHERE run.session IN ({_marks("session", len(sessions))})
        AND run.seq IN ({places})"""
    with store.reading() as connection:
        rows = connection.rows(query, **_named("session", sessions))
    found = {(row["session"], row["seq"]): row for row in rows}
    yield from (found[key] for key in keys)


def _page(sessions: int, runs: int, whole: bool) -> str:
    own = "TRUE" if whole else "run.place IS NULL"
    return f"""
        SELECT run.session, run.seq, run.run_id, run.status, run.place, run.figures,
          CASE WHEN {own} THEN run.record END AS record,
          CASE WHEN {own} THEN env.facts END AS facts
        FROM run JOIN env ON run.env = env.digest
        WHERE run.session IN ({_marks("session", sessions)})
        AND run.run_id IN ({_marks("run", runs)})
        ORDER BY run.session, run.seq"""


def _marks(name: str, count: int) -> str:
    return ", ".join(f":{name}{at}" for at in range(count))


def _named(name: str, values: Sequence[str]) -> dict[str, str]:
    return {f"{name}{at}": value for at, value in enumerate(values)}
