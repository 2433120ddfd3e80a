"""A plain `ioplan run` on a host of the lab: its drives are busy for everybody.

It has a folder as a drive job has, which the worker reports, and by which the run can
be cancelled. Nobody starts it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.records import Session
from ioplan.results.store import default_path, make_own
from ioplan.runner import Lab, SessionObserver, expanded
from ioplan_lab.host.drive_job import BY_EXIT, SCHEMA, DriveJob, Status
from ioplan_lab.host.folder import PLAIN, JobFolder, drive_jobs_root
from ioplan_lab.host.observer import JobObserver

CODES: dict[Status, int] = {status: code for code, status in BY_EXIT.items()}
ENDED: dict[str, Status] = {"ok": "ok", "failed": "failed", "interrupted": "stopped"}
UNMET = ("failed", "undecided")


class PlainObserver(JobObserver):
    """Writes the state, and knows how the run ends."""

    code = CODES["failed"]

    def failed(self, kind: str, text: str) -> None:
        self.note(f"error: {text}")

    def session_finished(self, status: str, verdict: str) -> None:
        super().session_finished(status, verdict)
        is_unmet = status == "ok" and verdict in UNMET
        self.code = CODES["unmet" if is_unmet else ENDED[status]]


@contextmanager
def told_of(session: Session, lab: Lab) -> Iterator[SessionObserver]:
    """Watch a session that this process runs, for this block. Raises OSError."""
    drives = [
        name for name in expanded(lab, session.request.targets) if name in lab.here
    ]
    root = drive_jobs_root(default_path())
    if not drives or not root.exists():  # no worker has ever been here
        yield SessionObserver()
        return
    folder = JobFolder.of(call_of(session, drives), root)
    with folder.held():
        observer = PlainObserver(folder.path)
        try:
            yield observer
        finally:
            folder.finish(observer.state, observer.code)


def call_of(session: Session, drives: list[str]) -> DriveJob:
    return DriveJob(
        schema_version=SCHEMA,
        session=session.id,
        job=PLAIN,
        person=session.person,
        host="",
        drives=tuple(drives),
        plan="",
        files={},
        title=session.plan,
    )


def plain_folders(root: Path) -> Iterator[JobFolder]:
    """Those of which the database has yet to hear the end."""
    make_own(root)
    for file in (root / PLAIN).glob("*/call.json"):
        yield JobFolder(file.parent)
