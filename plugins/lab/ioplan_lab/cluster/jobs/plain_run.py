"""A plain `ioplan run` on this host: the lab's database is told of it as of a lane.

So its drive is busy for each desk and shell, and any of them can cancel it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ioplan.backends import JoinedFacts, TargetFacts
from ioplan.records.session import Session
from ioplan.runner.execute.observer import SessionObserver
from ioplan.runner.lab.cross_references import expanded
from ioplan.runner.lab.lab import Lab
from ioplan_lab.cluster.jobs.lane import EXIT, SEVERAL, LaneCall
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder, lanes_root
from ioplan_lab.cluster.jobs.lane_observer import LaneObserver
from ioplan_lab.cluster.jobs.reporting import start_reporter

CODES = {"ok": EXIT["ok"], "failed": EXIT["failed"], "interrupted": EXIT["stopped"]}


class _Watcher(LaneObserver):
    """Writes the run's state, and knows how it ends."""

    code = CODES["failed"]

    def failed(self, kind: str, text: str) -> None:
        self._change(message=f"error: {text}")

    def session_finished(self, status: str) -> None:
        self.code = CODES[status] or (EXIT["unmet"] if self.state.unmet else 0)


@contextmanager
def told_of(
    session: Session, facts: TargetFacts, lab: Lab, store: Path
) -> Iterator[SessionObserver]:
    """Tell of a session that this process runs, for this block.

    Raises OSError where its state cannot be kept, as on a full disk.
    """
    call = _call(session, facts, lab, store)
    folder = LaneFolder.of(call)
    with folder.held():
        watcher = _Watcher(folder.path)
        start_reporter(lanes_root(call.store))
        try:
            yield watcher
        finally:
            folder.finish(watcher.state, watcher.code)
            with suppress(OSError):
                start_reporter(lanes_root(call.store))


def _call(session: Session, facts: TargetFacts, lab: Lab, store: Path) -> LaneCall:
    targets = SEVERAL.join(expanded(lab, session.request.targets))
    members = facts.members.values() if isinstance(facts, JoinedFacts) else [facts]
    return LaneCall(
        job=session.id,
        session=session.id,
        target=targets,
        plan="",
        files={},
        lab="",
        request=session.request.model_copy(update={"person": session.person}),
        store=str(store.absolute()),
        title=session.plan,
        where=targets,
        drive=SEVERAL.join(map(_drive, members)),
        results=lab.results,
    )


def _drive(facts: TargetFacts) -> str:
    """All that a lab may call it by; a file by its path."""
    named = [facts.identity.get(key) for key in ("serial", "wwid", "backing_file")]
    return SEVERAL.join(filter(None, named)) or facts.path
