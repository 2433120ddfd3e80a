"""An earlier session that expectations compare with."""

from __future__ import annotations

from collections import defaultdict

from ioplan.language.metric import Metric
from ioplan.measure.metrics import Figure, Sample, figure
from ioplan.records.record import RunRecord
from ioplan.store.store import Store


class BaselineSession:
    """The runs of an earlier session, found by what they did."""

    def __init__(self, store: Store, session: str) -> None:
        self.store, self.session = store, session
        self.runs: dict[str, list[RunRecord]] = defaultdict(list)
        for record in store.records(session):
            if record.asked.kind == "run" and record.status == "ok":
                self.runs[record.run_id].append(record)

    def figure(self, metric: Metric, run_id: str, rounds: int) -> Figure:
        """The metric in the earlier session; of its rounds, the last so many count."""
        records = self.runs.get(run_id, [])
        last = max((record.asked.round for record in records), default=0)
        samples = [
            Sample(record, self.store.detail(self.session, record.seq))
            for record in records
            if record.asked.round > last - rounds
        ]
        if not samples:
            return Figure(None, "the baseline has no such run")
        return figure(metric, samples)
