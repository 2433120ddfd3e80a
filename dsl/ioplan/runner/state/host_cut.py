"""A power cut that takes this host along: noted before it, and found after the boot."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.planner.steps import Run
from ioplan.records.record import PowerCutMade
from ioplan.results.measure.measurement import Measurement
from ioplan.results.store.session_folder import make_private
from ioplan.runner.execute.execute import RunOutcome, now
from ioplan.runner.guard.output import rewrite
from ioplan.runner.state.remote_stamps import boot

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
