"""What sessions came to, in two figures each, for a list of them: one query a page."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.core import bytes_text, iops_text
from ioplan.results.store import Store

RUN = '%"kind":"run"%'
"""In `place`, see `ioplan.results.store.briefs`; runs of stores of old have none."""


def key_figures(store: Store, sessions: Sequence[str]) -> dict[str, str]:
    """The most IOPS and the most bandwidth of any run, by session: `812k, 3.3 GB/s`.

    Preparations are left out. Raises StoreError.
    """
    if not sessions:
        return {}
    names = {f"session{at}": one for at, one in enumerate(sessions)}
    query = f"""
        SELECT session, max(iops) AS iops, max(bandwidth_bytes_per_s) AS bandwidth
        FROM run WHERE session IN ({", ".join(f":{one}" for one in names)})
        AND status = 'ok' AND iops > 0 AND (place IS NULL OR place LIKE :kind)
        GROUP BY session"""
    with store.reading() as connection:
        rows = connection.rows(query, kind=RUN, **names)
    return {
        row["session"]: f"{iops_text(row['iops'])}, {bytes_text(row['bandwidth'])}/s"
        for row in rows
    }
