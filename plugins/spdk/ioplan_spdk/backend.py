"""What ioplan calls: the entry point `ioplan_spdk:SpdkBackend`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioplan.backends import (
    Availability,
    BackendError,
    Gap,
    TargetFacts,
    TargetRequest,
)
from ioplan.job import Job
from ioplan_fio.program import Program, find_program
from ioplan_spdk.bdevperf.gaps import gaps
from ioplan_spdk.bdevperf.script import native
from ioplan_spdk.drive import SpdkDrive, memory_facts
from ioplan_spdk.fio_plugin.execution import PluginDrive
from ioplan_spdk.fio_plugin.gaps import plugin_gaps, with_hints
from ioplan_spdk.fio_plugin.job import check_fit, plugin_path
from ioplan_spdk.fio_plugin.job import native as plugin_native
from ioplan_spdk.options import SpdkOptions, parse_options
from ioplan_spdk.program import NAME, no_hugepages, program_path, version
from ioplan_spdk.target_spec import target_spec

SPEAKS = frozenset(
    (
        *("random", "sequential", "size", "sizes", "mix", "qd", "threads", "streams"),
        *("rate", "rate poisson", "region", "hotspots", "zipf", "pareto", "normal"),
        *("align", "data zeros", "data compressible", "trim", "sync", "verify"),
        *("permuted", "for", "bytes", "passes", "warmup"),
    )
)
"""The words that it knows; what of them it cannot do exactly, `gaps` says."""


class SpdkBackend:
    """SPDK: its bdevperf, or fio with its plugin."""

    name = "spdk"
    virtual_time = False
    takes_cpus = True
    speaks = SPEAKS

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable where its program runs; without hugepages, only for trying out."""
        try:
            chosen = parse_options(options)
            found = _fio(chosen)[2] if chosen.driver == "fio" else _bdevperf(chosen)
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        missing = "" if chosen.no_huge else no_hugepages()
        return Availability(usable=not missing, version=found, reason=missing)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """What bdevperf, or fio with the plugin, cannot express exactly."""
        chosen = parse_options(options)
        if chosen.driver == "fio":
            return plugin_gaps(job, chosen)
        return with_hints(gaps(job, chosen), job, chosen)

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """bdevperf's command line and dialogue, or fio's job file."""
        chosen = parse_options(options)
        return (
            plugin_native(job, chosen)
            if chosen.driver == "fio"
            else native(job, chosen)
        )

    def addressed(self, path: str, options: dict[str, Any]) -> TargetFacts | None:
        """Of memory all; of a drive that SPDK has, not how large it is."""
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
        if options.driver == "bdevperf":
            return SpdkDrive(target, request, program_path(options), options)
        fio, plugin, _ = _fio(options)
        asks = target.kind in ("pcie", "tcp")
        bdevperf = program_path(options) if asks else Path(NAME)
        return PluginDrive(target, request, bdevperf, options, fio, plugin)


def _bdevperf(options: SpdkOptions) -> str:
    return version(program_path(options))


def _fio(options: SpdkOptions) -> tuple[Program, Path, str]:
    """fio, the plugin, and the version to show. Raises BackendError."""
    program, plugin = find_program(options.fio), plugin_path(options)
    check_fit(program, plugin)
    return program, plugin, f"fio {program.version_text}"
