"""A job: a plan on several targets, as known on the host where it was started."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from ioplan.core import Model, did_you_mean
from ioplan.results.store import Delivery, StoreError, make_own
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState, initial_state


class Job(Model):
    """`scheduler` is its address, if lanes are on other hosts.

    `known` has the last known state of each lane, by session; `deliveries` how far it
    was stored in `results`, the lab's database, if it names one.
    """

    id: str
    plan: str
    where: str
    scheduler: str | None = None
    results: str | None = None
    delivery_s: float = 60
    calls: tuple[LaneCall, ...]
    known: dict[str, LaneState] = {}
    deliveries: dict[str, Delivery] = {}

    def skip(self, why: Mapping[str, str]) -> None:
        """Leave out the lanes on these hosts; `resume` does them."""
        for call in self.calls:
            if call.host in why:
                change = {"status": "skipped", "message": why[call.host]}
                state = initial_state(call).model_copy(update=change)
                self.known[call.session] = state

    def stop_unseen(self) -> None:
        """A lane that was never begun is not begun any more."""
        for call in self.calls:
            if call.session not in self.known:
                stopped = initial_state(call).model_copy(update={"status": "stopped"})
                self.known[call.session] = stopped

    @property
    def unfinished(self) -> list[LaneCall]:
        """The lanes that are not known to have ended."""
        return [call for call in self.calls if not self.has_ended(call)]

    def states(self, silent_s: Mapping[str, float | None]) -> list[LaneState]:
        """The last known state of each lane; of some hosts nothing was heard for long.

        `silent_s` has these hosts, and for how many seconds, if that is known.
        """
        return [self._state(call, silent_s) for call in self.calls]

    def _state(self, call: LaneCall, silent_s: Mapping[str, float | None]) -> LaneState:
        state = self.known.get(call.session)
        if call.host not in silent_s:
            return state or initial_state(call)
        if state is None:
            text = {"message": f"for {call.host}, which does not report"}
            return initial_state(call).model_copy(update=text)
        own_s = silent_s[call.host]
        return state.unheard(time.time() - state.at_s if own_s is None else own_s)

    def delivery(self, call: LaneCall) -> Delivery:
        """What is known of a lane's results in the shared database."""
        return self.deliveries.get(call.session, Delivery())

    def has_ended(self, call: LaneCall) -> bool:
        """Whether this lane is known to have ended."""
        state = self.known.get(call.session)
        return bool(state and state.ended)


class Jobs:
    """The jobs that were started on this host, in a folder beside the store."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.folder = store.absolute().parent / "jobs"

    def keep(self, job: Job) -> None:
        """Write a job to its file. Raises StoreError."""
        try:
            make_own(self.folder)
            part = self.folder / f".{job.id}"
            part.write_text(job.model_dump_json())
            part.replace(self.folder / f"{job.id}.json")
        except OSError as error:
            raise StoreError(
                f"cannot keep the job in {self.folder}: {error.strerror}"
            ) from error

    def keep_new(self, job: Job) -> None:
        """Keep a job that begins; of two with one id only one is kept.

        Raises StoreError.
        """
        part = self.folder / f".{job.id}.{os.getpid()}"
        try:
            make_own(self.folder)
            part.write_text(job.model_dump_json())
            (self.folder / f"{job.id}.json").hardlink_to(part)
        except FileExistsError:
            raise StoreError(f"there is a job {job.id} already") from None
        except OSError as error:
            raise StoreError(
                f"cannot keep the job in {self.folder}: {error.strerror}"
            ) from error
        finally:
            part.unlink(missing_ok=True)

    def ids(self) -> list[str]:
        """The ids of all jobs, the newest first. Raises StoreError."""
        try:
            if not self.folder.exists():
                return []
            make_own(self.folder)
        except OSError as error:
            raise StoreError(
                f"the jobs in {self.folder} are not believed: {error.strerror}"
            ) from error
        return sorted((file.stem for file in self.folder.glob("*.json")), reverse=True)

    def has(self, id: str) -> bool:
        """Whether a job has this complete id."""
        return id in self.ids()

    def knows(self, key: str) -> bool:
        """Whether an id, or the beginning of one, or "last" is a job of this host."""
        return bool(self.ids()[:1] if key == "last" else self._matching(key))

    def job(self, key: str) -> Job:
        """The job by its id, the beginning of it, or "last". Raises StoreError."""
        ids = self.ids()
        found = ids[:1] if key == "last" else self._matching(key)
        if len(found) != 1:
            several = f"{len(found)} jobs begin with it" if found else "there is none"
            near = did_you_mean(key, ids)
            raise StoreError(f"no job {key!r} in {self.folder}: {several}{near}")
        return self._read(self.folder / f"{found[0]}.json")

    def _matching(self, key: str) -> list[str]:
        ids = self.ids()
        return [key] if key in ids else [one for one in ids if one.startswith(key)]

    def _read(self, file: Path) -> Job:
        try:
            return Job.model_validate_json(file.read_text())
        except (OSError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"cannot read the job {file}: {reason}") from error
