"""What ioplan calls: the entry point `ioplan_sim:SimBackend`, and an open drive."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from ioplan.backends import (
    COMMON,
    REPLAYS,
    Availability,
    BackendError,
    Gap,
    Job,
    ProgressCallback,
    Speeds,
    TargetFacts,
    TargetRequest,
    __version__,
    did_you_mean,
    ignore_progress,
    speaking,
    steady_waf,
)
from ioplan_sim.execution import SimExecution
from ioplan_sim.replay.replay_execution import ReplayExecution, gaps_of
from ioplan_sim.spec import DriveSpec, read_spec
from ioplan_sim.speed_range import speeds_of
from ioplan_sim.ssd import Ssd

BLOCK_BYTES = 512
OPTION = "drive"
MIN_BYTES = 1 << 20
DEFAULT_BYTES = 64 << 30


SPEAKS = speaking(
    *COMMON,
    "starts",
    "ends",
    "dedup",
    "fua",
    "shaped",
    "random share",
    "random by direction",
    "rate gamma",
    "burst",
    "ramp",
    "during",
    "interval",
    "errors allowed",
    "retry",
    "hang",
    "over all",
    *(form for form in REPLAYS if form != "replay after completion"),
)
"""The words that it knows; what of them it cannot do exactly, `gaps` says. What is over
all is over its one drive: several are refused."""


class SimBackend:
    """Needs nothing, touches nothing; time is virtual."""

    name = "sim"
    virtual_time = True
    speaks = SPEAKS
    measures_commits = True

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable everywhere."""
        return Availability(usable=True, version=__version__)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """Of replays only: all else of a workload is in the model (see docs/sim.md).
        The drive does not compress, so that data is all alike to it, and it loses
        none. Raises BackendError for an option that it does not have."""
        _drive_file(options)
        return gaps_of(job)

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job itself; there is no other program to tell."""
        return job.model_dump_json(indent=2)

    def open(self, request: TargetRequest) -> SimDrive:
        """A new drive, of `create_bytes` or as large as its file says; `writes`
        needs no leave, as nothing is lost. Raises BackendError."""
        spec = read_spec(_drive_file(request.options))
        size_bytes = request.create_bytes or spec.capacity or DEFAULT_BYTES
        if size_bytes < MIN_BYTES or size_bytes % BLOCK_BYTES:
            raise BackendError(
                f"a simulated drive of {size_bytes} bytes is not a whole number of "
                f"{BLOCK_BYTES}-byte blocks, {MIN_BYTES} bytes at least; make it a "
                f"multiple of {BLOCK_BYTES}"
            )
        return SimDrive(request.path or "sim", size_bytes, spec)


def _drive_file(options: dict[str, Any]) -> str | None:
    unknown = sorted(set(options) - {OPTION})
    if unknown:
        hint = did_you_mean(unknown[0], [OPTION])
        raise BackendError(
            f"the backend 'sim' has no option {unknown[0]!r}{hint}; its only one is "
            f"{OPTION}, the path of a drive file"
        )
    path = options.get(OPTION)
    return None if path is None else str(path)


class SimDrive:
    """One drive. Its state lives here and passes from run to run."""

    def __init__(self, path: str, capacity_bytes: int, spec: DriveSpec) -> None:
        self.ssd = Ssd(spec, capacity_bytes)
        made_of = (
            f"{path} {capacity_bytes} {spec.model_dump_json(exclude_defaults=True)}"
        )
        self.facts = TargetFacts(
            path=path,
            kind="simulated",
            capacity_bytes=capacity_bytes,
            block_bytes=BLOCK_BYTES,
            identity={
                "model": spec.model,
                "serial": f"SIM{crc32(made_of.encode()):08X}",
            },
        )

    def start(self, job: Job) -> SimExecution:
        """Begin a run; virtual time passes as its events are taken."""
        kind = ReplayExecution if any(s.replay for s in job.streams) else SimExecution
        return kind(job, self.facts, self.ssd)

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Make the drive as new."""
        self.ssd.purge()
        return "simulated format: every block erased"

    def idle(self, pause_ns: int) -> None:
        """Let virtual time pass; the drive collects garbage meanwhile."""
        self.ssd.rest(pause_ns)

    def speeds(self) -> Speeds:
        """Between which bounds its speed lies, in whatever state it is."""
        spec = self.ssd.spec
        in_place = spec.flash.in_place
        return speeds_of(spec, 1.0 if in_place else steady_waf(spec.over_provisioning))

    def close(self) -> None:
        """Nothing is held, so nothing is given back."""
