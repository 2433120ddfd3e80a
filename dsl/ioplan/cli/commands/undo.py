"""`ioplan undo`: put back the ends of a target that a session overwrote."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ioplan.backends.backend import TargetRequest
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import HELD, USAGE
from ioplan.cli.targets.choose import with_consent
from ioplan.core.error_kinds import TargetFault
from ioplan.records.session import Session
from ioplan.results.store.session_folder import session_folder, session_lock
from ioplan.results.store.store import Store, default_path
from ioplan.runner.guard.errors import ConsentError, TargetError, in_use_of
from ioplan.runner.guard.kept_ends import KeptEnds, kept_ends, put_back
from ioplan.runner.guard.known_content import lasting_identity
from ioplan.runner.guard.resolve import resolve_target
from ioplan.runner.guard.target import Target, open_target
from ioplan.runner.lab.lab_file import default_path as default_lab
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.state.stamps import StampFile


def undo(
    session: str,
    target: str | None,
    lab: Path | None,
    overwrite: list[str],
    overwrite_data: list[str],
    cannot_see_users: bool,
    store: Path | None,
) -> int:
    """Say what it would do; do it with consent. Raises TargetError, StoreError."""
    console = Terminal(highlight=False, soft_wrap=True)
    place = store or default_path()
    with Store.open(place) as opened:
        found = opened.session(session)
    folder = session_folder(place, found.id)
    ends = kept_ends(folder)
    if ends is None:
        raise TargetError(
            f"session {found.id} saved nothing of its target: it used a scratch file "
            "or a drive without a kernel device, or only read",
            TargetFault.NOT_KEPT,
        )
    consent = {
        "overwrite": tuple(overwrite),
        "overwrite_data": tuple(overwrite_data),
        "cannot_see_users": cannot_see_users,
    }
    with session_lock(folder):
        request = _request(found, ends, target, lab).model_copy(update=consent)
        console.print(_described(found, ends, request))
        return _undone(console, ends, request)


def _request(
    session: Session, ends: KeptEnds, target: str | None, lab: Path | None
) -> TargetRequest:
    file = lab or session.request.lab or default_lab()
    path, entry = resolve_target(target or ends.facts.path, read_lab(file))
    return TargetRequest(
        path=path, entry=entry, lab=str(file) if file else None, writes=True
    )


def _described(session: Session, ends: KeptEnds, request: TargetRequest) -> str:
    held = ", ".join(ends.signatures()) or "no partition table or file system"
    size = f"{len(ends.first):,} B"
    return (
        f"session {session.id} saved the first and the last {size} of {request.path}, "
        f"as they were before it wrote: {held}.\nRestoring them restores the "
        "partition tables and the beginning of the previous data. Everything that "
        "the session overwrote between them is lost."
    )


def _undone(console: Terminal, ends: KeptEnds, request: TargetRequest) -> int:
    try:
        target, _ = with_consent(open_target, request)
    except ConsentError as error:
        words = f"{error.option} {error.id}"
        console.print(f"Nothing was changed yet; to restore, add {words}")
        return USAGE
    with closing(target):
        target.give_back()  # what is there, or is put back, is the user's
        _check_same(ends, target)
        with in_use_of(request.path or ""):
            put_back(target.fd, ends)
        StampFile(target.facts).forget()
    console.print(
        f"restored. Reread the partition table: blockdev --rereadpt {request.path}"
    )
    return HELD


def _check_same(ends: KeptEnds, target: Target) -> None:
    kept, found = ends.facts, target.facts
    same = lasting_identity(kept) == lasting_identity(found)
    if same and kept.capacity_bytes == found.capacity_bytes:
        return
    raise TargetError(
        f"{found.path} is not the target of that session, which was {kept.path} "
        f"({kept.capacity_bytes} B); name it with --target",
        TargetFault.IDENTITY_MISMATCH,
    )
