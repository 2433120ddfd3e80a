"""What ioplan knows of a target's content: what it left there, or found there.

Kept in the user's state folder, by what identifies the target: a digest of each block
that is not constant, of those at fixed places and of those drawn by a seed that only
this file has, and the target's write counters, which are a file's time of last change.
What was written since by anybody else shows in one of them. While a session writes,
nothing is known; a session that was killed has left it to its survivor to look.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_ISBLK
from typing import Any

from ioplan.backends.backend import TargetFacts
from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.runner.content.scan import Scan, scan
from ioplan.runner.devices.write_evidence import WriteCounters, tick_s, write_counters
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.output import OutputError, rewrite

LASTING = {"serial", "wwid", "backing_file", "inode"}
"""What identifies a target without its path."""
SEED_BITS = 64
SCRATCH = "it is a scratch file that only ioplan has written to"
LEFT = "its content is what ioplan left there"
KILLED = "its content is what a killed session of ioplan left there"

DISCARDED = "; a part of that was discarded since then"


class Kept(Model):
    """`data` has the offset and the digest of each block that is not constant.

    `why` says how it became known; `writing` that a session began to write, and did
    not end; `scratch` that ioplan made it, and nobody else's data was in it since.
    """

    capacity_bytes: int
    seed: int
    data: dict[int, str] = {}
    counters: WriteCounters = {}
    why: str = ""
    writing: bool = False
    scratch: bool = False


class KnownContent:
    """What is known of a target's content; `facts` name the target."""

    def __init__(
        self, facts: TargetFacts, kept: Kept | None = None, *, scratch: bool = False
    ) -> None:
        self.facts, self.kept = facts, kept
        self.seed = kept.seed if kept else secrets.randbits(SEED_BITS)
        self.scratch = kept.scratch if kept else scratch
        self.seen: Scan | None = None

    def look(self, fd: int) -> Scan:
        """What is there now. Raises TargetError where it cannot be read."""
        self.seen = scan(fd, self.facts.capacity_bytes, self.seed)
        if self.seen.ends_unreadable:
            raise TargetError(
                f"{self.facts.path} may contain data: its first or last MiB cannot be "
                "read, so its content is unknown; to destroy it, make it readable "
                "with blkdiscard or nvme format",
                TargetFault.CONTENT_UNKNOWN,
            )
        return self.seen

    def proof(self, fd: int) -> str:
        """Why nothing on it is anybody else's; empty where that is not known."""
        if self.kept is None or self.kept.writing:
            return ""
        if self.kept.capacity_bytes != self.facts.capacity_bytes:
            return ""
        _flush_device(fd)
        if _has_counted(self.kept.counters, write_counters(self.facts)):
            return ""
        if _has_changed(self.kept, self.look(fd)):
            return ""
        has_less = self.seen and self.kept.data.keys() - self.seen.data.keys()
        return f"{self.kept.why}{DISCARDED if has_less else ''}"

    def begin(self) -> None:
        """What is there may be overwritten, and a session is about to do it."""
        self._write(self._noted(writing=True))

    def learn(self, fd: int, why: str = "") -> None:
        """What is there now is ioplan's, or constant; unknown where it just changes."""
        with suppress(TargetError):  # who cannot read it is asked again
            _flush_device(fd)
            # A change from then on has another time.
            time.sleep(tick_s(write_counters(self.facts)))
            counters = write_counters(self.facts)
            self.look(fd)
            if write_counters(self.facts) == counters:
                self.keep(why or (SCRATCH if self.scratch else LEFT), counters)

    def withdraw(self) -> None:
        """Nothing was written after all: what was known before holds on."""
        self._write(self.kept) if self.kept else self.forget()

    def disown(self) -> None:
        """What is there may be anybody's."""
        self._write(self._noted())

    def forget(self) -> None:
        """As if no session had ever been on it."""
        with suppress(OSError):
            state_path(self.facts).unlink(missing_ok=True)

    def keep(self, why: str, counters: WriteCounters) -> None:
        """What was seen, at these counters, is known from now on."""
        data = self.seen.data if self.seen else {}
        self.kept = self._noted(data=data, counters=counters, why=why)
        self._write(self.kept)

    def _noted(self, **noted: Any) -> Kept:
        return Kept(
            capacity_bytes=self.facts.capacity_bytes,
            seed=self.seed,
            scratch=self.scratch,
            **noted,
        )

    def _write(self, kept: Kept) -> None:
        """Who cannot keep it is asked again."""
        path = state_path(self.facts)
        with suppress(OSError, OutputError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            rewrite(path, kept.model_dump_json().encode())


def _has_changed(kept: Kept, seen: Scan) -> bool:
    """Whether something is there now that was not, or cannot be read."""
    known = all(kept.data.get(at) == digest for at, digest in seen.data.items())
    return not known or bool(seen.unreadable)


def _has_counted(before: WriteCounters, now: WriteCounters) -> bool:
    """Counters of a device begin anew with the machine; a file's change lasts."""
    if not before or not now:
        return True
    if "changed" in before:
        return before["changed"] != now.get("changed")
    return before["boot"] == now["boot"] and before != now


def known_content(facts: TargetFacts) -> KnownContent:
    """What is kept of a target that has these facts."""
    try:
        kept = Kept.model_validate_json(state_path(facts).read_bytes())
    except (OSError, ValueError):
        return KnownContent(facts)
    return KnownContent(facts, kept)


def lasting_identity(facts: TargetFacts) -> dict[str, str]:
    """What names a target beyond a restart; its path where nothing else lasts.

    It stays the same target with other firmware.
    """
    path = {} if LASTING & facts.identity.keys() else {"path": facts.path}
    named = {n: text for n, text in facts.identity.items() if n != "firmware"}
    return named | path


def state_path(facts: TargetFacts, kind: str = "json") -> Path:
    """The file of a kind that is kept of a target."""
    name = json.dumps([facts.kind, lasting_identity(facts)], sort_keys=True)
    digest = blake2b(name.encode(), digest_size=16).hexdigest()
    return state_folder() / "content" / f"{digest}.{kind}"


def _flush_device(fd: int) -> None:
    """Let a device count what is in the page cache; a file keeps its cache as it is,
    so that nothing becomes durable that a power cut is to ask for."""
    if S_ISBLK(os.fstat(fd).st_mode):
        os.fsync(fd)
