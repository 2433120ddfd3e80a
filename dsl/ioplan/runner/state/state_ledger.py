"""Which state the target is in, across sessions, and what proves it.

A state is stored once it is reached, and removed before anything writes: whatever
is killed, and whenever, the ledger never claims a state that is not there.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ioplan.backends.backend import JoinedFacts, TargetFacts
from ioplan.drive_account import DriveAccount, account_of, account_text
from ioplan.planner.target_state import TargetState
from ioplan.records.session import KnownState, Session
from ioplan.results.store.store import Store
from ioplan.runner.devices.write_evidence import WriteCounters, write_counters
from ioplan.runner.execute.execute import now
from ioplan.runner.guard.known_content import lasting_identity

UNKNOWN = TargetState()
SIMULATED = "simulated"
MOST_RANGES = 4096
"""Of a file's data: beyond them nothing is said of it."""


def target_key(facts: TargetFacts) -> str:
    """Identifies a target by what it is; by its path, too, where nothing else lasts."""
    if isinstance(facts, JoinedFacts):
        return " and ".join(map(target_key, facts.members.values()))
    return f"{facts.kind} {_described(lasting_identity(facts))} {facts.capacity_bytes}"


def is_session_target(session: Session, facts: TargetFacts) -> bool:
    """Whether these are facts of the target that a session began on."""
    return session.resolved.target_key == target_key(facts)


def _described(facts: dict[str, str]) -> str:
    return " ".join(f"{name}={text}" for name, text in sorted(facts.items()))


def forget_state(store: Store, facts: TargetFacts, session: str) -> None:
    """Have the target prepared again, whatever state it is in."""
    StateLedger(store, facts, session).invalidate()


def proven(store: Store, facts: TargetFacts) -> tuple[TargetState, str]:
    """The state that a target provably is in, and a line on why, or why not."""
    known = store.state(target_key(facts))
    if known is None or not known.path:
        return UNKNOWN, ""
    doubt = _doubt(known.evidence, write_counters(facts))
    if not known.name:
        return UNKNOWN if doubt else TargetState(known.path), ""
    if doubt:
        return UNKNOWN, f"{known.name} is repeated: {doubt} (session {known.session})"
    why = f"nothing has written to the target since session {known.session}"
    return TargetState(known.path), f"{known.name} is not repeated: {why}"


def known_account(store: Store, facts: TargetFacts) -> DriveAccount:
    """What is known of all that was written to a target.

    Where something else may have written to it since, holes tell something of a file
    that has any, and nothing of a device. A simulated drive is new in each session.
    """
    if facts.kind == SIMULATED:
        return DriveAccount.begun(facts.capacity_bytes, "creation")
    known = store.state(target_key(facts))
    if known and not _doubt(known.evidence, write_counters(facts)):
        account = account_of(known.account)
        if account and account.capacity_bytes == facts.capacity_bytes:
            return account
    data = data_ranges(facts) if facts.kind == "file" else None
    if data is None or data == [(0, facts.capacity_bytes)]:
        return DriveAccount.begun(facts.capacity_bytes)
    return DriveAccount.of_file(facts.capacity_bytes, data)


def data_ranges(facts: TargetFacts) -> list[tuple[int, int]] | None:
    """Where a file has data, by its file system; None if that is not known."""
    found, at = list[tuple[int, int]](), 0
    try:
        with Path(facts.path).open("rb") as file:
            while at < facts.capacity_bytes and len(found) < MOST_RANGES:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                found.append((start, at))
            return found
    except OSError as error:
        return found if error.errno == errno.ENXIO else None  # a hole to its end


def _doubt(before: WriteCounters, after: WriteCounters) -> str:
    if not before or not after:
        return "this target has no write counters to check it"
    if before["boot"] != after["boot"]:
        return "the host was rebooted since then"
    if before != after:
        return "the target was changed since then"
    return ""


class StateLedger:
    """The state of one target while a session goes on."""

    def __init__(self, store: Store, facts: TargetFacts, session: str) -> None:
        self.store, self.facts, self.session = store, facts, session
        self.state, self.why = proven(store, facts)
        self.name, self.cleared = "", False

    def invalidate(self) -> None:
        """Something is about to be written: forget the state, if any."""
        self.state = UNKNOWN
        if not self.cleared:
            self._save((), "", {})
            self.cleared = True

    def reached(
        self, path: tuple[str, ...], name: str, account: DriveAccount | None = None
    ) -> None:
        """One more step is done: store the state that it leads to, if it can be proven.

        That of runs has no `name`.
        """
        self.state, self.name = TargetState(path), name
        if write_counters(self.facts):
            self.keep(account)

    def keep(self, account: DriveAccount | None) -> None:
        """Store the account beside the state, with what proves both."""
        text = account_text(account) if account else ""
        name = self.name if self.state.path else ""
        self._save(self.state.path, name, write_counters(self.facts), text)
        self.cleared = False

    def _save(
        self,
        path: tuple[str, ...],
        name: str,
        evidence: WriteCounters,
        account: str = "",
    ) -> None:
        self.store.save_state(
            KnownState(
                target=target_key(self.facts),
                path=path,
                name=name,
                evidence=evidence,
                account=account,
                session=self.session,
                at=now(),
            )
        )
