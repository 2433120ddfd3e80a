"""A job: a plan on several targets, as the host where it was begun knows it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from ioplan.cluster.jobs.lane import LaneCall, LaneState
from ioplan.core.model import Model
from ioplan.core.text import did_you_mean
from ioplan.store.errors import StoreError


class Job(Model):
    """`scheduler` is where lanes on other hosts are dispatched; none without them.

    `known` is how the lanes went when somebody looked last, by session.
    """

    id: str
    plan: str
    where: str
    scheduler: str | None = None
    calls: tuple[LaneCall, ...]
    known: dict[str, LaneState] = Field(default_factory=dict)

    def known_to_end(self, call: LaneCall) -> bool:
        """Whether this lane has ended, as far as is known."""
        state = self.known.get(call.session)
        return bool(state and state.ended)


class Jobs:
    """The jobs that were begun here, beside the store."""

    def __init__(self, store: Path) -> None:
        self.folder = store.absolute().parent / "jobs"

    def keep(self, job: Job) -> None:
        """Write it down. Raises StoreError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = self.folder / f".{job.id}"
            part.write_text(job.model_dump_json())
            part.replace(self.folder / f"{job.id}.json")
        except OSError as error:
            raise StoreError(
                f"cannot keep the job in {self.folder}: {error.strerror}"
            ) from error

    def ids(self) -> list[str]:
        """The newest first."""
        return sorted((file.stem for file in self.folder.glob("*.json")), reverse=True)

    def has(self, id: str) -> bool:
        """Whether it is the id of a job, all of it."""
        return id in self.ids()

    def job(self, key: str) -> Job:
        """The job of an id, of the beginning of one, or "last". Raises StoreError."""
        ids = self.ids()
        found = ids[:1] if key == "last" else self._fitting(key)
        if len(found) != 1:
            several = f"{len(found)} jobs begin with it" if found else "there is none"
            near = did_you_mean(key, ids)
            raise StoreError(f"no job {key!r} in {self.folder}: {several}{near}")
        return self._read(self.folder / f"{found[0]}.json")

    def _fitting(self, key: str) -> list[str]:
        ids = self.ids()
        return [key] if key in ids else [one for one in ids if one.startswith(key)]

    def _read(self, file: Path) -> Job:
        try:
            return Job.model_validate_json(file.read_text())
        except (OSError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"cannot read the job {file}: {reason}") from error
