"""What ioplan calls: the entry point `ioplan_spdk:SpdkBackend`."""

from __future__ import annotations

from typing import Any

from ioplan.backends import Availability, BackendError, Gap, TargetRequest
from ioplan.job import Job
from ioplan_spdk.drive import SpdkDrive
from ioplan_spdk.gaps import gaps
from ioplan_spdk.options import SpdkOptions, options_of
from ioplan_spdk.place import place_of
from ioplan_spdk.program import no_hugepages, program_path, version
from ioplan_spdk.script import native


class SpdkBackend:
    """SPDK's bdevperf."""

    name = "spdk"
    virtual_time = False

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable wherever bdevperf runs; without hugepages, only for trying out."""
        try:
            chosen = options_of(options)
            found = version(program_path(chosen))
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        missing = "" if chosen.no_huge else no_hugepages()
        return Availability(usable=not missing, version=found, reason=missing)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """What bdevperf cannot express exactly."""
        return gaps(job, options_of(options))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """bdevperf's command line, and the dialogue over its socket."""
        return native(job, options_of(options))

    def open(self, request: TargetRequest) -> SpdkDrive:
        """Open a target. Raises TargetError, BackendError."""
        options = options_of(request.options)
        _check_driver(options)
        place = place_of(request.path or "")
        program = program_path(options)
        if not options.no_huge and (missing := no_hugepages()):
            raise BackendError(missing)
        return SpdkDrive(place, request, program, options)


def _check_driver(options: SpdkOptions) -> None:
    """The place for SPDK's fio plugin: a drive that starts fio with its engine."""
    if options.driver == "fio":
        raise BackendError(
            "driver=fio is not there yet; for what bdevperf cannot say, use the "
            "backend 'fio' on the kernel's device"
        )
