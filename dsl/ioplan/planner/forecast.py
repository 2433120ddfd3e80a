"""What state of the drive each test of a plan will meet, before anything runs."""

from __future__ import annotations

from ioplan.drive_account import DriveAccount, Moved
from ioplan.drive_needs import standing
from ioplan.language.lints.forecast import after_step, streams_on
from ioplan.planner.steps import Prepare, Run, SingleStep

MOST_RUNS = 500
"""So many runs of a plan are followed."""


class StateForecast:
    """Follows the steps of a plan, with what each is estimated to write."""

    def __init__(self, account: DriveAccount) -> None:
        self.account, self.runs = account, 0
        self.met = self.doubt = ""

    def begin(self) -> None:
        """A test begins."""
        self.met = self.doubt = ""

    def add(self, step: SingleStep, written_bytes: float) -> None:
        """A step, with all of its repetitions."""
        if isinstance(step, Prepare):
            self.account = after_step(self.account, step.step)
        elif isinstance(step, Run) and self.runs < MOST_RUNS:
            self.runs += 1
            self._add_run(step, written_bytes)

    def _add_run(self, run: Run, written_bytes: float) -> None:
        streams = streams_on(self.account, run.workload)
        self.met = self.met or standing(self.account, streams).evidence
        writers = [one for one in streams if one.writes]
        for one in writers:
            moved = Moved(written=written_bytes / len(writers))
            self.account = self.account.after(one, moved)
        self.doubt = standing(self.account, streams).doubt or self.doubt

    @property
    def line(self) -> str:
        """`state: 1.00 × capacity written since the purge, 100 % of it`."""
        if not self.met:
            return ""
        known = "" if self.account.since else "what it held before is not known; "
        doubt = f"; in its runs: {self.doubt}" if self.doubt else ""
        return f"state of the drive: {known}{self.met}{doubt}"

    def as_json(self) -> dict[str, str]:
        """The same for programs; both empty where a test runs nothing."""
        return {"state": self.met, "doubt": self.doubt}
