"""Which program does a run: bdevperf, or fio with SPDK's plug-in.

With `driver` auto, the default, it is bdevperf where that does the run exactly, else
the plug-in where that does and is here. On a machine with neither, as where a plan is
written, both are believed to be there.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ioplan.backends import BackendError, Gap, Job
from ioplan_spdk.bdevperf.gaps import gaps as bdevperf_gaps
from ioplan_spdk.fio_plugin.gaps import plugin_gaps
from ioplan_spdk.fio_plugin.job import fitting_fio
from ioplan_spdk.options import DriverName, SpdkOptions
from ioplan_spdk.program import program_path
from ioplan_spdk.target_spec import target_spec

PLUGIN = "SPDK's fio plug-in"


class Driver(NamedTuple):
    """A program, what it cannot do of a job, and why it was chosen over bdevperf."""

    name: DriverName
    gaps: list[Gap]
    reason: str = ""

    @property
    def rank(self) -> tuple[int, int, int, bool]:
        """The lower the better: what it cannot do at all, what only by leave, and what
        not exactly.

        Of two rates fio's is nearer: bdevperf has whole thousands of IOPS.
        """
        impossible = sum(not gap.instead for gap in self.gaps)
        by_leave = sum(not gap.mild for gap in self.gaps)
        is_paced = any(gap.field == "rate" for gap in self.gaps)
        rounds = is_paced and self.name == "bdevperf"
        return impossible, by_leave, len(self.gaps), rounds


def driver_of(job: Job, options: SpdkOptions) -> Driver:
    """What does a job, by its options; looks for programs where that matters."""
    if options.driver == "fio":
        return Driver("fio", plugin_gaps(job, options))
    bdevperf = Driver("bdevperf", bdevperf_gaps(job, options))
    if options.driver == "bdevperf":
        return Driver("bdevperf", _hinted(bdevperf.gaps, job, options))
    no_bdevperf = bdevperf_fault(options)
    if not (bdevperf.gaps or no_bdevperf):
        return bdevperf
    why = bdevperf.gaps[0].reason if bdevperf.gaps else "bdevperf is not installed"
    return _better(
        bdevperf, Driver("fio", plugin_gaps(job, options), why), job, options
    )


def _better(bdevperf: Driver, plugin: Driver, job: Job, options: SpdkOptions) -> Driver:
    """The one that does more of the job, of those that are here."""
    no_bdevperf, no_plugin = bdevperf_fault(options), plugin_fault(job, options)
    if no_plugin and not no_bdevperf:
        return Driver("bdevperf", _unhelped(bdevperf.gaps, plugin.gaps, no_plugin))
    if no_bdevperf and not no_plugin:
        return plugin
    if plugin.rank < bdevperf.rank:
        return plugin._replace(gaps=_of_both(plugin.gaps, bdevperf.gaps, "bdevperf"))
    return bdevperf._replace(gaps=_of_both(bdevperf.gaps, plugin.gaps, PLUGIN))


def _of_both(gaps: list[Gap], others: list[Gap], other: str) -> list[Gap]:
    """The gaps of the one, with what the other says in the same place."""
    known = {(gap.stream, gap.field): gap for gap in others}

    def told(gap: Gap) -> Gap:
        found = known.get((gap.stream, gap.field))
        if found is None or found.reason == gap.reason:
            return gap
        named = "" if found.reason.startswith(other) else f"{other}: "
        reason = f"{gap.reason} ({named}{found.reason})"
        return gap.model_copy(update={"reason": reason})

    return [told(gap) for gap in gaps]


def _unhelped(gaps: list[Gap], left: list[Gap], fault: str) -> list[Gap]:
    """bdevperf's gaps; where the plug-in has none, why it cannot be used here."""
    return _edited(gaps, left, f"{PLUGIN}, which cannot be used here: {fault}")


def _hinted(gaps: list[Gap], job: Job, options: SpdkOptions) -> list[Gap]:
    """bdevperf's gaps; where the plug-in has none, it is the way to do it exactly."""
    return (
        _edited(gaps, plugin_gaps(job, options), "--option driver=auto") if gaps else []
    )


def _edited(gaps: list[Gap], left: list[Gap], edit: str) -> list[Gap]:
    fields = {(gap.stream, gap.field) for gap in left}
    return [
        gap
        if (gap.stream, gap.field) in fields
        else gap.model_copy(update={"edit": edit})
        for gap in gaps
    ]


def bdevperf_fault(options: SpdkOptions) -> str:
    """Why there is no bdevperf; empty where there is one."""
    try:
        program_path(options)
    except BackendError as error:
        return str(error)
    return ""


def plugin_fault(job: Job, options: SpdkOptions) -> str:
    """Why the plug-in cannot be used for a job; empty where it can."""
    if job.read_only and opens_for_writing(job.target):
        return f"it opens {job.target} for writing, although the plan only reads"
    try:
        fitting_fio(options)
    except BackendError as error:
        return str(error)
    return ""


def opens_for_writing(path: str) -> bool:
    """Whether the plug-in must not have a target that is only read: a device."""
    return target_spec(path).kind == "kernel" and Path(path).is_block_device()
