"""Which state the target is in, across sessions, and what proves it.

A state is stored once it is reached, and removed before anything writes: whatever
is killed, and whenever, the ledger never claims a state that is not there.
"""

from __future__ import annotations

from ioplan.backends import JoinedFacts, TargetFacts
from ioplan.planner.target_state import TargetState
from ioplan.records.session import KnownState, Session
from ioplan.results.store.store import Store
from ioplan.runner.devices.write_evidence import WriteCounters, write_counters
from ioplan.runner.execute.execute import now
from ioplan.runner.guard.known_content import lasting_identity

UNKNOWN = TargetState()


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
    if doubt:
        return UNKNOWN, f"{known.name} is repeated: {doubt} (session {known.session})"
    why = f"nothing has written to the target since session {known.session}"
    return TargetState(known.path), f"{known.name} is not repeated: {why}"


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
        self.cleared = False

    def invalidate(self) -> None:
        """Something is about to be written: forget the state, if any."""
        self.state = UNKNOWN
        if not self.cleared:
            self._save((), "", {})
            self.cleared = True

    def reached(self, path: tuple[str, ...], name: str) -> None:
        """One more step of a precondition is done: store the state that it leads to."""
        self.state = TargetState(path)
        self._save(path, name, write_counters(self.facts))
        self.cleared = False

    def _save(self, path: tuple[str, ...], name: str, evidence: WriteCounters) -> None:
        self.store.save_state(
            KnownState(
                target=target_key(self.facts),
                path=path,
                name=name,
                evidence=evidence,
                session=self.session,
                at=now(),
            )
        )
