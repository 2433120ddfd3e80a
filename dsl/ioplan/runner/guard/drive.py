"""What backends' drives on files and block devices of this host have in common."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Generic, TypeVar

from ioplan.backends.backend import (
    JoinedFacts,
    ProgressCallback,
    TargetFacts,
    ignore_progress,
)
from ioplan.job import SECOND_NS
from ioplan.runner.guard.purge.purge import purge
from ioplan.runner.guard.target import Target


class FileDrive:
    """A file or block device, locked until it is closed; a backend adds `start`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.facts: TargetFacts = target.facts

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Erase it; returns how. Raises BackendError."""
        return purge(self.target, on_progress)

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def check_use(self) -> None:
        """Check that nothing else began to use it. Raises TargetError."""
        self.target.check_use()

    def ignore_openings(self) -> None:
        """Who has opened it until now is the session itself."""
        self.target.ignore_openings()

    def close(self) -> None:
        """Unlock it."""
        self.target.close()


AnyDrive = TypeVar("AnyDrive", bound=FileDrive)


class JoinedDrive(Generic[AnyDrive]):
    """Several files or block devices as one; a backend adds `start`."""

    def __init__(self, drives: Mapping[str, AnyDrive]) -> None:
        self.drives = dict(drives)
        self.facts = joined_facts({name: one.facts for name, one in drives.items()})

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Erase one after the other; returns how. Raises BackendError."""
        done = [f"{n}: {one.purge(on_progress)}" for n, one in self.drives.items()]
        return "; ".join(done)

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def check_use(self) -> None:
        """Check that nothing else began to use one. Raises TargetError."""
        for drive in self.drives.values():
            drive.check_use()

    def ignore_openings(self) -> None:
        """Who has opened them until now is the session itself."""
        for drive in self.drives.values():
            drive.ignore_openings()

    def close(self) -> None:
        """Unlock them, each whatever becomes of the others."""
        with ExitStack() as stack:
            for drive in self.drives.values():
                stack.callback(drive.close)


def joined_facts(members: dict[str, TargetFacts]) -> JoinedFacts:
    """What all have in common: regions are those of the smallest."""
    all = members.values()
    return JoinedFacts(
        path=", ".join(one.path for one in all),
        kind="targets",
        capacity_bytes=min(one.capacity_bytes for one in all),
        block_bytes=max(one.block_bytes for one in all),
        evidence="; ".join(dict.fromkeys(one.evidence for one in all if one.evidence)),
        members=members,
    )
