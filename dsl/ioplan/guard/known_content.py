"""The data on a target that the user gave up, or that ioplan left there.

Kept in the user's state folder: a target's size, how its blocks are drawn, and a digest
of each sampled block that looks like data. A block that differs, or was not there, is
somebody's, and the user is asked again. Where no such block was seen nothing is kept.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.guard.content import NOTHING, Content, content_of
from ioplan.guard.errors import TargetError, os_reason
from ioplan.guard.output import OutputError, rewrite

LASTING = {"serial", "wwid", "backing_file", "inode"}
"""What identifies a target without its path."""
SEED_BITS = 32


class Sampled(Model):
    """What is kept: `structured` has the offset and the digest of each block."""

    capacity_bytes: int
    seed: int
    structured: dict[int, str]


class KnownContent:
    """What is known of a target's content; `facts` name the target."""

    def __init__(
        self,
        facts: TargetFacts,
        seed: int | None = None,
        structured: dict[int, str] | None = None,
    ) -> None:
        self.facts, self.structured = facts, structured or {}
        self.seed = secrets.randbits(SEED_BITS) if seed is None else seed
        self.seen = NOTHING

    def foreign(self, fd: int) -> Content:
        """What is there now and is not known. Raises TargetError."""
        self.seen = self._content(fd)
        return self.seen.without(self.structured)

    def agree(self) -> None:
        """What was seen may be overwritten."""
        self.structured = self.seen.structured
        self._save()

    def forget(self) -> None:
        """What is there is the user's again."""
        self.structured = {}
        self._save()

    def learn(self, fd: int) -> None:
        """What is there now was written by ioplan."""
        with suppress(TargetError):  # who cannot read it is asked again
            self.foreign(fd)
            self.agree()

    def _content(self, fd: int) -> Content:
        try:
            return content_of(fd, self.facts.capacity_bytes, self.seed)
        except OSError as error:
            raise TargetError(
                f"{self.facts.path} may contain data: its first or last MiB cannot be "
                f"read ({os_reason(error)}), so its content is unknown; to destroy "
                "it, make it readable with blkdiscard or nvme format",
                TargetFault.CONTENT_UNKNOWN,
            ) from None

    def _save(self) -> None:
        """Who cannot keep it is asked again."""
        path = _path(self.facts)
        with suppress(OSError, OutputError):
            if not self.structured:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept = Sampled(
                capacity_bytes=self.facts.capacity_bytes,
                seed=self.seed,
                structured=self.structured,
            )
            rewrite(path, kept.model_dump_json().encode())


def known_content(facts: TargetFacts) -> KnownContent:
    """What is kept of a target that has these facts."""
    try:
        kept = Sampled.model_validate_json(_path(facts).read_bytes())
    except (OSError, ValueError):
        return KnownContent(facts)
    if kept.capacity_bytes != facts.capacity_bytes:
        return KnownContent(facts)
    return KnownContent(facts, kept.seed, kept.structured)


def lasting_identity(facts: TargetFacts) -> dict[str, str]:
    """What names a target beyond a restart; its path where nothing else lasts.

    It stays the same target with other firmware.
    """
    path = {} if LASTING & facts.identity.keys() else {"path": facts.path}
    named = {n: text for n, text in facts.identity.items() if n != "firmware"}
    return named | path


def _path(facts: TargetFacts) -> Path:
    name = json.dumps([facts.kind, lasting_identity(facts)], sort_keys=True)
    digest = blake2b(name.encode(), digest_size=16).hexdigest()
    return state_folder() / "content" / f"{digest}.json"
