"""An open target, and how its size is found."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

from ioplan.backends import (
    SECOND_NS,
    BackendError,
    Gap,
    Job,
    ProgressCallback,
    Target,
    TargetError,
    TargetFacts,
    TargetRequest,
    check_drive,
    check_lab,
    ignore_progress,
    open_target,
    purge,
    refusal,
)
from ioplan_fio.run_files import RunFiles
from ioplan_spdk.bdevperf.execution import KeptProcess, SpdkExecution
from ioplan_spdk.bdevperf.session import BdevperfError, Session
from ioplan_spdk.driver import driver_of
from ioplan_spdk.fio_plugin.execution import PluginExecution
from ioplan_spdk.fio_plugin.job import fitting_fio
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.polled_cpus import free_first, polled_cpus, shared_warning
from ioplan_spdk.program import program_path
from ioplan_spdk.rpc.bdev import Bdev, bdev_of
from ioplan_spdk.rpc.client import BadReply, RpcError, RpcFault, number
from ioplan_spdk.target_spec import TargetSpec, fabric_fault, no_namespace

NO_DEVICE = -errno.ENODEV


class SpdkDrive:
    """A target. Each run has devices of its own, so memory is new each time.

    bdevperf is asked what a drive is that the kernel does not have.
    """

    def __init__(
        self, spec: TargetSpec, request: TargetRequest, options: SpdkOptions
    ) -> None:
        """Raises TargetError, BackendError."""
        self.spec, self.options = spec, options
        self.folder = Path(request.folder) / "spdk" if request.folder else None
        self.runs, self._kept = 0, KeptProcess()
        self.target: Target | None = None
        if spec.kind == "kernel":
            self.target = _kernel(request, options)
            self.facts = self.target.facts
        elif spec.in_memory:
            self.facts = memory_facts(spec, options)
        else:
            check_lab(request)
            attached = _attached(spec, program_path(options), options)
            why = check_drive(attached, request)
            self.facts = attached.model_copy(update={"evidence": why})

    def start(self, job: Job) -> SpdkExecution | PluginExecution:
        """Begin a run. Raises BackendError for one that cannot be done at all."""
        driver = driver_of(job, self.options)
        self.check(job, driver.gaps)
        if self.target:
            self.target.check_name()
        self.runs += 1
        polled = polled_cpus()
        job = job.model_copy(update={"cpus": free_first(job.cpus, polled)})
        if driver.name == "fio":
            warning = shared_warning(job.cpus[: job.threads], polled)
            return self._plugin(job, driver.reason, warning)
        warning = shared_warning(self.options.on_cpus(job.cpus).core_list, polled)
        folder = self.folder / f"{self.runs:04d}" if self.folder else None
        program = program_path(self.options)
        return SpdkExecution(program, self.options, job, folder, self._kept, warning)

    def _plugin(self, job: Job, reason: str, warning: str) -> PluginExecution:
        self._kept.close()  # it has hugepages that the plug-in may need
        program, plugin = fitting_fio(self.options)
        files = RunFiles.of(str(self.folder) if self.folder else None, self.runs)
        words = (files, reason, warning)
        return PluginExecution(program, plugin, job, self.options, *words)

    def check(self, job: Job, gaps: list[Gap]) -> None:
        """Raises BackendError for a job that cannot run, before a process is started.

        bdevperf itself would run without an end, and an NVMe drive in it cannot be
        opened read-only: that nothing is written is only sure if it is not asked.
        """
        if refused := refusal(job, self.facts, gaps):
            raise BackendError(refused.message)

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Discard what the kernel has; memory is new in each run."""
        if self.target:
            return purge(self.target, on_progress)
        if self.spec.in_memory:
            return "memory, new in each run"
        raise BackendError(
            f"a drive that SPDK has cannot be purged from here; give it back to the "
            f"kernel, use `nvme format`, and take {self.spec.path} again"
        )

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def check_use(self) -> None:
        """Check that nothing else began to use what the kernel has; TargetError."""
        if self.target:
            self.target.check_use()

    def ignore_openings(self) -> None:
        """Who has opened what the kernel has until now is the session itself."""
        if self.target:
            self.target.ignore_openings()

    def close(self) -> None:
        """Unlock it."""
        self._kept.close()
        if self.target:
            self.target.close()


def _kernel(request: TargetRequest, options: SpdkOptions) -> Target:
    target = open_target(request)
    if why := _unfit(target.facts, request.writes, options):
        target.close()
        raise TargetError(why)
    return target


def _unfit(facts: TargetFacts, writes: bool, options: SpdkOptions) -> str:
    """Why SPDK must not open it so; empty if it may."""
    uring, is_block = options.bdev == "uring", facts.kind == "block"
    if uring and not is_block:
        return (
            f"SPDK's uring supports only block devices, and {facts.path} is a file; "
            "use --option bdev=aio"
        )
    if is_block and not writes and (uring or options.driver == "fio"):
        opener = "uring" if uring else "fio plugin"
        return (
            f"SPDK's {opener} opens {facts.path} for writing, although the plan only "
            f"reads; use --option bdev=aio, and bdevperf as the driver"
        )
    return ""


def memory_facts(spec: TargetSpec, options: SpdkOptions) -> TargetFacts:
    """The facts of a target in memory, by its address alone. Raises TargetError."""
    if spec.kind == "malloc" and spec.size_bytes > options.memory_mib << 19:
        least = spec.size_bytes >> 19
        raise TargetError(
            f"{spec.path} needs more memory; add --option memory_mib={least}"
        )
    return TargetFacts(
        path=spec.path,
        kind="memory",
        capacity_bytes=spec.size_bytes,
        block_bytes=options.block_bytes,
        identity={"model": f"SPDK {spec.kind}"},
    )


def _attached(spec: TargetSpec, program: Path, options: SpdkOptions) -> TargetFacts:
    """Attach the drive once, to see what it is. Raises TargetError."""
    bdev = bdev_of(spec, options.bdev, options.block_bytes, read_only=True)
    pci = spec.address if spec.kind == "pcie" else ""
    try:
        with Session(program, options, bdev.name, pci) as session:
            try:
                return _facts(spec, _asked(session, bdev))
            except BdevperfError as error:
                messages = session.process.messages()
                if found := fabric_fault(spec, messages):
                    raise BdevperfError(found.cause, found.message) from error
                raise
    except (BdevperfError, BadReply) as error:
        raise TargetError(f"cannot use {spec.path}: {error}") from error


def _asked(session: Session, bdev: Bdev) -> Any:
    """What SPDK knows of the device. Raises BdevperfError."""
    client = session.connect()
    session.configure(client, bdev.calls)
    try:
        return client.call("bdev_get_bdevs", {"name": bdev.name})
    except RpcError as error:
        if error.code == NO_DEVICE:
            return []
        raise session.fault(error) from error
    except RpcFault as fault:
        raise session.fault(fault) from fault


def _facts(spec: TargetSpec, reply: Any) -> TargetFacts:
    if reply == []:
        raise BadReply(no_namespace(spec))
    if not isinstance(reply, list) or len(reply) != 1:
        raise BadReply("it does not show exactly one device")
    (bdev,) = reply
    block_bytes = int(number(bdev, "block_size"))
    return TargetFacts(
        path=spec.path,
        kind="nvme",
        capacity_bytes=int(number(bdev, "num_blocks")) * block_bytes,
        block_bytes=block_bytes,
        identity=_identity(bdev) | {"nsid": str(spec.nsid)},
    )


def _identity(bdev: dict[str, Any]) -> dict[str, str]:
    """What names the drive: the controller's own words."""
    special = bdev.get("driver_specific")
    drives = special.get("nvme") if isinstance(special, dict) else None
    drive = drives[0] if isinstance(drives, list) and drives else {}
    data = drive.get("ctrlr_data", {}) if isinstance(drive, dict) else {}
    found = {
        "model": data.get("model_number"),
        "serial": data.get("serial_number"),
        "wwid": bdev.get("uuid"),
        "firmware": data.get("firmware_revision"),
    }
    return {key: str(value).strip() for key, value in found.items() if value}
