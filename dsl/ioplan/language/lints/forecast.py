"""The account of a drive's state as a plan would leave it, as far as the plan tells."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.drive_account import DriveAccount
from ioplan.drive_needs import after_passes
from ioplan.job_stream import JobStream, job_streams
from ioplan.language.plan import PrepareStep, PurgeStep, WriteStep
from ioplan.workload import Workload

MANY = 8.0
"""Passes of what goes on for a time: as many as matter, to raise no false alarm."""
BLOCK_BYTES = 4096


def streams_on(account: DriveAccount, workload: Workload) -> tuple[JobStream, ...]:
    """The streams with their regions on a drive of that size."""
    return job_streams(workload, account.capacity_bytes, BLOCK_BYTES)


def after_step(account: DriveAccount, step: PrepareStep) -> DriveAccount:
    """With a step of a precondition done; of `until steady`, the most it may take."""
    if isinstance(step, PurgeStep):
        return DriveAccount.begun(account.capacity_bytes, "purge")
    if not isinstance(step, WriteStep):
        return account
    return after_writes(account, streams_of_step(account, step), step.passes or MANY)


def streams_of_step(account: DriveAccount, step: WriteStep) -> list[JobStream]:
    """Without `until steady`, passes are permuted, as `planner.jobs` has it."""
    once = step.passes is not None and not step.rule
    return [
        one.model_copy(update={"permuted": one.permuted or (once and one.can_permute)})
        for one in streams_on(account, step.workload)
    ]


def after_writes(
    account: DriveAccount, streams: Sequence[JobStream], passes: float
) -> DriveAccount:
    """With so many passes of each stream."""
    return after_passes(account, streams, passes)
