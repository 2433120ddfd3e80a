"""A run and a target by fio with SPDK's plugin; all else is the fio backend's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioplan.backends import Event, Failure, Job
from ioplan_fio.document import Splitter
from ioplan_fio.execution import FioExecution
from ioplan_fio.program import Program
from ioplan_fio.run_files import RunFiles
from ioplan_fio.timeline import Timeline
from ioplan_spdk.fio_plugin.job import config_text, explained, plugin_settings
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.polled_cpus import warned
from ioplan_spdk.target_spec import fabric_fault, target_spec

CONFIG = ".spdk.json"
NOTHING_DONE = Failure(
    cause="no-io",
    message=("no I/O was done; the target does not exist, or ends before the region"),
)
"""fio takes a device that is empty, or too short, and ends well without any I/O."""


class PluginExecution(FioExecution):
    """A running fio with the plugin in it."""

    def __init__(
        self,
        program: Program,
        plugin: Path,
        job: Job,
        options: SpdkOptions,
        files: RunFiles,
        reason: str = "",
        warning: str = "",
    ) -> None:
        """`reason` is why bdevperf does not do it, where that was chosen; `warning` is
        of the CPUs that it gets, for the Result."""
        self.reason, self._warning = reason, warning
        # fio runs in the folder of its files, so that a bare name is enough.
        settings = plugin_settings(job, options, plugin, f"{files.name}{CONFIG}")
        try:
            files.write(CONFIG, config_text(job, options))
        except BaseException:
            files.close()
            raise
        super().__init__(program, job, settings, files)

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure."""
        for event in super().__iter__():
            yield warned(event, self._warning)

    def _failure(
        self, splitter: Splitter, timeline: Timeline, code: int, messages: str
    ) -> Failure | None:
        found = super()._failure(splitter, timeline, code, messages)
        if not (found or self.process.stopped or _has_done(timeline)):
            found = NOTHING_DONE
        if found and (lost := fabric_fault(target_spec(self.job.target), messages)):
            return lost.model_copy(
                update={"message": f"{lost.message} ({found.message})"}
            )
        return found and explained(found, messages, self.program.version_text)

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "driver": "fio"}


def _has_done(timeline: Timeline) -> bool:
    """Whether the last document counts an I/O."""
    jobs = timeline.last.jobs if timeline.last else ()
    return any(part.total_ios for job in jobs for part in job.parts)
