"""A power cut that takes this host along: noted before it, and found after the boot."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.planner.run_id import digest
from ioplan.planner.steps import Run
from ioplan.records.record import PowerCutMade
from ioplan.results.measure.measurement import Measurement
from ioplan.results.store.session_folder import make_private
from ioplan.runner.execute.execute import RunOutcome, now
from ioplan.runner.guard.output import rewrite
from ioplan.runner.journal.client import JournalLink
from ioplan.target_entry import JournalPlace

# The stamps of a target on another host: what is done to the file here is done there.
#
# What is there counts: this host may have lost its power with what it had written
# here.

HEADER = struct.Struct("<8Q")
"""As the engine lays it out: magic, version, bytes of a block, capacity, key, boot in
which it is in use, power cuts, writes issued."""
HEADER_BYTES, ENTRY_BYTES = 4096, 12
IN_USE_AT = 40
UNSEEN_WRITES = 1 << 20
"""More than can have been issued without the other host's knowing."""
MACHINE, BOOT = Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")


class RemoteStamps:
    """The journal of one target of this host."""

    def __init__(self, place: JournalPlace, path: Path) -> None:
        self.place, self.path = place, path
        self.name = digest(path.name, _text(MACHINE))
        self.link: JournalLink | None = None
        self.is_known = False

    def opened(self) -> JournalLink:
        """A new link; the earlier one ends. Raises JournalError."""
        if self.link:
            self.link.close()
        self.link = JournalLink(self.place, self.name)
        return self.link

    def fetch(self) -> None:
        """The file here becomes what is there, once. Raises JournalError, OSError."""
        if self.is_known:
            return
        part = self.path.with_suffix(".part")
        link = self.opened()
        link.fetch(part)
        if part.stat().st_size < HEADER.size:
            part.unlink()
            self.path.unlink(missing_ok=True)
        else:
            self._recover(part, link)
            part.replace(self.path)
        self.is_known = True

    def _recover(self, part: Path, link: JournalLink) -> None:
        """If this host has gone down with it in use, that was a power cut."""
        with part.open("rb+") as file:
            header = HEADER.unpack(file.read(HEADER.size))
            *_, block_bytes, capacity_bytes, key, in_use, cuts, writes = header
            if in_use not in (0, boot()):
                cuts, writes = cuts + 1, writes + UNSEEN_WRITES
            known = struct.pack("<3Q", 0, max(cuts, self._cuts_here(key)), writes)
            link.write(IN_USE_AT, known)
            os.pwrite(file.fileno(), known, IN_USE_AT)
            blocks = capacity_bytes // max(1, block_bytes)
            file.truncate(HEADER_BYTES + blocks * ENTRY_BYTES)

    def _cuts_here(self, key: int) -> int:
        """Those that were noted in the file of this host alone."""
        with suppress(OSError, struct.error):
            header = HEADER.unpack(_head(self.path))
            return header[6] if header[4] == key else 0
        return 0


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADER.size)


def boot() -> int:
    """Identifies this boot of the host as the engine does."""
    return int("0" + _text(BOOT).replace("-", "")[:16], 16) or 1


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


LOST = (
    "this host lost its power with the target, as was asked for; what the run had "
    "measured until then is lost"
)


class HostCut(Model):
    """The run in which this host was about to lose its power, and the boot it was."""

    session: str
    run_id: str
    round: int
    iteration: int
    at_s: float
    cut_at: str
    boot: int

    @classmethod
    def of(cls, session: str, run: Run, at_s: float) -> HostCut:
        """The one that is made now."""
        return cls(
            session=session,
            run_id=run.run_id,
            round=run.round,
            iteration=run.iteration,
            at_s=at_s,
            cut_at=now(),
            boot=boot(),
        )

    def is_of(self, session: str, run: Run) -> bool:
        """Whether that run is over: the host has gone down since, and come back."""
        of = self.session, self.run_id, self.round, self.iteration
        asked = session, run.run_id, run.round, run.iteration
        return of == asked and self.boot != boot()

    @property
    def outcome(self) -> RunOutcome:
        """All that is known of the run."""
        at = self.cut_at
        return RunOutcome(Measurement(), "ok", "", "", at, at, warnings=(LOST,))

    @property
    def made(self) -> PowerCutMade:
        """Until now, by the wall clock: no other goes on without power."""
        off = datetime.fromisoformat(now()) - datetime.fromisoformat(self.cut_at)
        return PowerCutMade(at_s=self.at_s, off_s=max(0.0, off.total_seconds()))

    def keep(self) -> None:
        """Durably: the power goes next. Raises OSError, OutputError."""
        make_private(_file().parent)
        rewrite(_file(), self.model_dump_json().encode())


def keep_for_resume(*files: str | Path | None) -> None:
    """Make what `ioplan resume` reads durable: it may just have been written.

    Raises OSError.
    """
    for file in files:
        if file:
            with Path(file).open("rb") as opened:
                os.fsync(opened.fileno())


def last_host_cut() -> HostCut | None:
    """The last that was noted, if any."""
    try:
        return HostCut.model_validate_json(_file().read_bytes())
    except (OSError, ValidationError):
        return None


def forget_host_cut() -> None:
    """The host has not gone down."""
    _file().unlink(missing_ok=True)


def _file() -> Path:
    return state_folder() / "power" / "host_cut.json"
