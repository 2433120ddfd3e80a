"""What ioplan calls: the entry point `ioplan_spdk:SpdkBackend`."""

from __future__ import annotations

from typing import Any

from ioplan.backends import (
    COMMON,
    Availability,
    BackendError,
    Gap,
    Job,
    TargetFacts,
    TargetRequest,
    speaking,
)
from ioplan_spdk.bdevperf.script import native
from ioplan_spdk.drive import SpdkDrive, memory_facts
from ioplan_spdk.driver import PLUGIN, driver_of
from ioplan_spdk.fio_plugin.job import fitting_fio
from ioplan_spdk.fio_plugin.job import native as plugin_native
from ioplan_spdk.options import SpdkOptions, parse_options
from ioplan_spdk.program import no_hugepages, program_path, version
from ioplan_spdk.target_spec import target_spec

SPEAKS = speaking(
    *COMMON, "starts", "ends", "fua", "random share", "random by direction"
)
"""The words that it knows; what of them it cannot do exactly, `gaps` says."""


class SpdkBackend:
    """SPDK: its bdevperf, or fio with its plug-in."""

    name = "spdk"
    virtual_time = False
    takes_cpus = True
    speaks = SPEAKS

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable where its program runs; without hugepages, only for trying out."""
        try:
            chosen = parse_options(options)
            found, lacks = VERSIONS[chosen.driver](chosen)
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        missing = "" if chosen.no_huge else no_hugepages()
        return Availability(usable=not missing, version=found, reason=missing or lacks)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """What the program that would do it cannot express exactly."""
        return driver_of(job, parse_options(options)).gaps

    def done_by(self, job: Job, options: dict[str, Any]) -> str:
        """The program that would do it, and why it is not bdevperf."""
        driver = driver_of(job, parse_options(options))
        name = PLUGIN if driver.name == "fio" else driver.name
        return f"{name}: {driver.reason}" if driver.reason else name

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """bdevperf's command line and dialogue, or fio's job file."""
        chosen = parse_options(options)
        if driver_of(job, chosen).name == "fio":
            return plugin_native(job, chosen)
        return native(job, chosen)

    def addressed(self, path: str, options: dict[str, Any]) -> TargetFacts | None:
        """The facts of a target in memory; of a drive of SPDK's, not its size."""
        chosen, spec = parse_options(options), target_spec(path)
        if spec.kind == "kernel":
            return None
        if spec.in_memory:
            return memory_facts(spec, chosen)
        block_bytes = chosen.block_bytes
        return TargetFacts(
            path=path, kind="nvme", capacity_bytes=0, block_bytes=block_bytes
        )

    def open(self, request: TargetRequest) -> SpdkDrive:
        """Open a target. Raises TargetError, BackendError."""
        options = parse_options(request.options)
        target = target_spec(request.path or "")
        if not options.no_huge and (missing := no_hugepages()):
            raise BackendError(missing)
        if options.driver == "fio":
            fitting_fio(options)
        elif options.driver == "bdevperf":
            program_path(options)
        return SpdkDrive(target, request, options)


def _bdevperf(options: SpdkOptions) -> tuple[str, str]:
    """Its version; and what is lacking beside it, nothing."""
    return version(program_path(options)), ""


def _plugin(options: SpdkOptions) -> tuple[str, str]:
    return f"fio {fitting_fio(options)[0].version_text}", ""


def _either(options: SpdkOptions) -> tuple[str, str]:
    """The versions of what is here, and why the other is not. Raises BackendError where
    neither is."""
    found, faults = [], []
    for name, version_of in (("bdevperf", _bdevperf), (PLUGIN, _plugin)):
        try:
            found.append(version_of(options)[0])
        except BackendError as error:
            faults.append(f"without {name}: {error}")
    if not found:
        raise BackendError("; ".join(faults))
    return ", ".join(found), "; ".join(faults)


VERSIONS = {"bdevperf": _bdevperf, "fio": _plugin, "auto": _either}
