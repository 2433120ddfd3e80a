"""A power cut in the midst of a run: the lab's commands, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ioplan.backends.backend import BackendError, Drive, TargetFacts
from ioplan.core.error_kinds import Cause, ExplainedError
from ioplan.core.units import bytes_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.quantity import parse_quantity
from ioplan.records.record import PowerCutMade
from ioplan.runner.events.lab_command import run_command
from ioplan.runner.events.lab_events import Timed, drawn_s
from ioplan.runner.execute.execute import RunOutcome
from ioplan.runner.execute.outcome import TargetUnusable
from ioplan.runner.guard.errors import ConsentError
from ioplan.target_entry import PowerControl

LOOK_S = 0.1
LOST = (
    *(Cause.DEVICE_ERROR, Cause.TARGET_LOST, Cause.MISSING_TARGET, Cause.OPEN),
    *(Cause.HUNG, Cause.SHORT, Cause.ENDED_EARLY, Cause.BACKEND_DIED),
    *(Cause.BACKEND_ERROR, Cause.NO_RESULT, Cause.READ_ONLY),
)
"""How a run may end whose target has lost its power."""


class PowerSupply(Struct, frozen=True):
    """The lab's `power_control` of the target, and how it is opened again."""

    control: PowerControl
    reopen: Callable[[], Drive]


class PowerCut(Timed):
    """One cut, `at_s` after `begin`; it is done by a thread while the run goes on."""

    def __init__(self, supply: PowerSupply, at_s: float) -> None:
        super().__init__(at_s, self._cut)
        self.supply = supply
        self.cut_s = self.off_s = self.back_s = self.over_s = 0.0
        self.error = ""

    @classmethod
    def drawn(
        cls, supply: PowerSupply, cut_ns: tuple[int, int], *seeds: object
    ) -> PowerCut:
        """At a moment of the range: the same for the same run, another for each."""
        return cls(supply, drawn_s(cut_ns, *seeds))

    def _cut(self) -> None:
        begun_s = time.monotonic()
        self.error = self._told(self.supply.control.off)
        self.cut_s, self.off_s = begun_s, time.monotonic()

    def end(self) -> None:
        """The run is over; a command that is under way is waited for."""
        self.over_s = time.monotonic()
        super().end()

    @property
    def made(self) -> PowerCutMade | None:
        """What the record says; None of a cut that was not made."""
        if not self.cut_s:
            return None
        at_s = self.cut_s - self.begun_s
        off_s = self.back_s - self.cut_s if self.back_s else None
        return PowerCutMade(at_s=at_s, off_s=off_s)

    def judged(self, outcome: RunOutcome, lost: TargetUnusable | None) -> RunOutcome:
        """A run that ended as its power was cut is the one that was asked for."""
        if outcome.cause in (Cause.STUCK, Cause.INTERRUPTED):
            return outcome
        if lost:
            return _changed(
                outcome, status="failed", cause=lost.kind, message=str(lost)
            )
        if self.error:
            return _failed(outcome, f"power_control.off: {self.error}")
        if not self.cut_s:
            return outcome if outcome.status == "failed" else _failed(outcome, NEVER)
        if outcome.status == "ok":
            late = self.off_s > self.over_s
            return _failed(outcome, TOO_SLOW if late else STILL_THERE)
        if outcome.cause not in LOST or self._failed_before(outcome):
            return outcome
        return _changed(outcome, status="ok", cause="", message="")

    def _failed_before(self, outcome: RunOutcome) -> bool:
        """Whether an I/O failed while the target still had its power."""
        first = outcome.measurement.facts.get("first_error")
        at_ns = first.get("at_ns") if isinstance(first, dict) else None
        return isinstance(at_ns, int) and at_ns < self.cut_s * SECOND_NS

    def back(self, before: TargetFacts, old: Drive) -> Drive:
        """Give the power back, and open what comes back. Raises TargetUnusable."""
        old.close()
        if error := self._told(self.supply.control.on):
            raise TargetUnusable(f"power_control.on: {error}", Cause.NOT_CUT)
        time.sleep(_seconds(self.supply.control.settle))
        drive = self._reopened()
        self.back_s = time.monotonic()
        if wrong := _difference(before, drive.facts):
            drive.close()
            text = f"after the power cut the target is another one: {wrong}"
            raise TargetUnusable(text, Cause.TARGET_LOST)
        return drive

    def _told(self, command: tuple[str, ...]) -> str:
        """Run one of the lab's commands; what went wrong, empty if nothing did."""
        return run_command(command, _seconds(self.supply.control.timeout)).error

    def _reopened(self) -> Drive:
        within_s = _seconds(self.supply.control.back)
        until_s = time.monotonic() + within_s
        while True:
            try:
                return self.supply.reopen()
            except (ExplainedError, BackendError, OSError) as error:
                if time.monotonic() > until_s:
                    text = f"{time_text(within_s)} after its power came back "
                    text += _why_not_opened(error)
                    raise TargetUnusable(text, Cause.TARGET_LOST) from error
            time.sleep(LOOK_S)


NEVER = "the run ended before its power was cut"
TOO_SLOW = (
    "the run ended while power_control.off was still under way: let the run last "
    "longer, or cut the power earlier in it"
)
STILL_THERE = (
    "the target still did I/O to the end of the run, after its power was cut: "
    "power_control.off cuts the power of something else"
)


def _failed(outcome: RunOutcome, message: str) -> RunOutcome:
    return _changed(outcome, status="failed", cause=Cause.NOT_CUT, message=message)


def _changed(outcome: RunOutcome, **change: Any) -> RunOutcome:
    fields = {name: getattr(outcome, name) for name in outcome.__struct_fields__}
    return RunOutcome(**fields | change)


def _seconds(duration: str) -> float:
    return parse_quantity(duration).value / SECOND_NS


def _why_not_opened(error: Exception) -> str:
    """The target had the user's consent: who lacks it is not the target."""
    if isinstance(error, ConsentError):
        return (
            f"another device is in the target's place: {error.id}; nothing was written "
            "to it; connect the target again, and start the plan anew"
        )
    return f"the target cannot be opened: {error}"


def _difference(before: TargetFacts, after: TargetFacts) -> str:
    """How capacity or identity differ; empty if it is the same device."""
    if after.capacity_bytes != before.capacity_bytes:
        sizes = (before.capacity_bytes, after.capacity_bytes)
        return "it had {}, and has {}".format(*map(bytes_text, sizes))
    for key in ("serial", "wwid", "model", "backing_file"):
        old, new = before.identity.get(key), after.identity.get(key)
        if old and new != old:
            return f"its {key} was {old}, and is {new or 'unknown'}"
    return ""
