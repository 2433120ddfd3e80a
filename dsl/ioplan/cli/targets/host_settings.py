"""The host as the lab wants it, while a command does I/O."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ioplan.backends.backend import TargetFacts
from ioplan.cli.targets.choose import Choice
from ioplan.records.session import Session
from ioplan.runner.host.prepared import OnNote, Prepared, prepared_host
from ioplan.runner.telemetry.disk import disk_of
from ioplan.runner.telemetry.procfs import Tree


def prepared_for(
    choice: Choice, facts: TargetFacts, session: str, on_note: OnNote
) -> AbstractContextManager[Prepared]:
    """What the lab sets on this host, for a session. Raises HostError.

    A target in virtual time is on no host.
    """
    if choice.backend.virtual_time:
        return nullcontext({})
    disk = disk_of(Tree(), facts.path)
    return prepared_host(session, choice.lab.prepare, disk, on_note)


def with_prepared(session: Session, prepared: Prepared) -> Session:
    """Its host with what was set on it; of a resumed session, what is set now."""
    if not prepared:
        return session
    host = {**session.host, "prepared": prepared}
    return session.model_copy(update={"host": host})
