"""What ioplan knows of a target's content: what it left there, or found there.

Kept in the user's state folder, by what identifies the target: a digest of each block
that is not constant, of those at fixed places and of those drawn by a seed that only
this file has, and the target's write counters. What was written since by anybody else
shows in one of them. While a session writes, its own blocks change: one that was
killed is known by its heartbeat.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.runner.content.judge import is_foreign
from ioplan.runner.content.scan import BLOCK, Scan, blocks_at, scan
from ioplan.runner.devices.write_evidence import WriteCounters, write_counters
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.heartbeat import (
    Heartbeat,
    allowed_sectors,
    changed_later,
    last_beat,
)
from ioplan.runner.guard.output import OutputError, rewrite

LASTING = {"serial", "wwid", "backing_file", "inode"}
"""What identifies a target without its path."""
SEED_BITS = 64
LEFT = "its content is what ioplan left there"
KILLED = "its content is what a killed session of ioplan left there"


class Kept(Model):
    """`data` has the offset and the digest of each block that is not constant.

    `why` says how it became known; `writing` that a session began to write, and did
    not end.
    """

    capacity_bytes: int
    seed: int
    data: dict[int, str] = {}
    counters: WriteCounters = {}
    why: str = ""
    writing: bool = False


class KnownContent:
    """What is known of a target's content; `facts` name the target."""

    def __init__(self, facts: TargetFacts, kept: Kept | None = None) -> None:
        self.facts, self.kept = facts, kept
        self.seed = kept.seed if kept else secrets.randbits(SEED_BITS)
        self.seen: Scan | None = None
        self.heartbeat: Heartbeat | None = None

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
        if self.kept is None:
            return ""
        changed = _changed(self.kept, self.look(fd))
        now = write_counters(self.facts)
        if self.kept.writing:
            return KILLED if self._is_of_killed(fd, changed, now) else ""
        if changed or _has_counted(self.kept.counters, now):
            return ""
        return self.kept.why

    def _is_of_killed(
        self, fd: int, changed: Iterable[int], now: WriteCounters
    ) -> bool:
        """Whether all that changed can be the killed session's, and nobody's else.

        Its noise is known by its time: little was written since its last heartbeat.
        """
        assert self.kept
        if not now or now["boot"] != self.kept.counters.get("boot"):
            return False
        path = state_path(self.facts, "beat")
        if self.facts.kind == "block" and not allowed_sectors(last_beat(path), now):
            return False
        if self.facts.kind == "file" and changed_later(path, fd):
            return False
        return not any(map(is_foreign, blocks_at(fd, changed, BLOCK)))

    def has_foreign(self, fd: int) -> bool:
        """Whether something is there that no load generator writes, or was written to
        a file after the last session on it."""
        if changed_later(state_path(self.facts, "beat"), fd):
            return True
        seen = self.look(fd)
        data = sorted((*seen.data, *seen.unreadable))
        return any(map(is_foreign, blocks_at(fd, data, BLOCK)))

    def begin(self, fd: int) -> None:
        """What is there may be overwritten, and a session is about to do it."""
        if self.seen is None:
            self.look(fd)
        self.keep(LEFT, writing=True)
        self.heartbeat = Heartbeat(self.facts, state_path(self.facts, "beat"))

    def learn(self, fd: int, why: str = LEFT) -> None:
        """What is there now is ioplan's, or constant."""
        if self.heartbeat:
            self.heartbeat.stop()
        with suppress(TargetError):  # who cannot read it is asked again
            self.look(fd)
            self.keep(why)

    def withdraw(self) -> None:
        """Nothing was written after all: what was known before holds on."""
        kept = self.kept
        self.forget()
        if kept:
            self._write(kept)

    def forget(self) -> None:
        """What is there is the user's again."""
        if self.heartbeat:
            self.heartbeat.stop()
        with suppress(OSError):
            state_path(self.facts).unlink(missing_ok=True)

    def keep(self, why: str, *, writing: bool = False) -> None:
        """What was seen is known from now on."""
        kept = Kept(
            capacity_bytes=self.facts.capacity_bytes,
            seed=self.seed,
            data=self.seen.data if self.seen else {},
            counters=write_counters(self.facts),
            why=why,
            writing=writing,
        )
        if not writing:
            self.kept = kept
        self._write(kept)

    def _write(self, kept: Kept) -> None:
        """Who cannot keep it is asked again."""
        path = state_path(self.facts)
        with suppress(OSError, OutputError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            rewrite(path, kept.model_dump_json().encode())


def _changed(kept: Kept, seen: Scan) -> list[int]:
    """Offsets of what is there now and was not, or cannot be read."""
    other = [at for at, digest in seen.data.items() if kept.data.get(at) != digest]
    return sorted([*other, *seen.unreadable])


def _has_counted(before: WriteCounters, now: WriteCounters) -> bool:
    """Counters of another start of the machine say nothing."""
    return before.get("boot") == now.get("boot") and before != now


def known_content(facts: TargetFacts) -> KnownContent:
    """What is kept of a target that has these facts."""
    try:
        kept = Kept.model_validate_json(state_path(facts).read_bytes())
    except (OSError, ValueError):
        return KnownContent(facts)
    same = kept.capacity_bytes == facts.capacity_bytes
    return KnownContent(facts, kept if same else None)


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
