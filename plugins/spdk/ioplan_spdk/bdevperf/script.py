"""A run as bdevperf is told it: a command line, the calls before, and the test."""

from __future__ import annotations

import json
import os
from math import ceil
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.backends import SECOND_NS, Direction, Job, JobStream
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.rpc.bdev import (
    BETWEEN,
    Bdev,
    Call,
    bdev_of,
    histogram_of,
    stacked,
)
from ioplan_spdk.target_spec import TargetSpec, target_spec

LONGEST_S = 7 * 24 * 3600
"""For a run that its bytes end: bdevperf knows seconds only, so it is ended."""
MIB = 1 << 20
DELETED_BY = {
    "bdev_nvme_attach_controller": "bdev_nvme_detach_controller",
    **{
        f"bdev_{kind}_create": f"bdev_{kind}_delete"
        for kind in ("aio", "uring", "malloc", "null", "delay", "passthru")
    },
}
QOS_IOPS = 1000
"""bdevperf's limits are of whole thousands."""


class Script(Struct, frozen=True):
    """What is done, in order. `probes` are the devices with the statistics of each
    direction; `limit_bytes` is where the test is ended, if its time does not.
    """

    target: TargetSpec
    bdev: Bdev
    stream: str
    size_bytes: int
    calls: tuple[Call, ...]
    probes: dict[Direction, str]
    run_on: str
    test: dict[str, Any]
    warmup_s: int
    limit_bytes: int | None
    extra: tuple[str, ...]

    @property
    def pci(self) -> str:
        """The drive's address on PCI Express; empty for all else."""
        return self.target.address if self.target.kind == "pcie" else ""

    @property
    def layers(self) -> int:
        """How many devices are stacked on the target's own, to measure with."""
        return sum(call.method == "bdev_passthru_create" for call in self.calls)

    @property
    def printed(self) -> Direction | None:
        """The direction of the histogram that bdevperf prints: that of the device
        which it runs on. None where nothing is measured there."""
        return next((d for d, name in self.probes.items() if name == self.run_on), None)

    @property
    def switched(self) -> Call | None:
        """What the device that bdevperf runs on is told once a mix has begun: a test
        that starts sets its histogram back to all I/O."""
        if self.printed is None or len(self.probes) == 1:
            return None
        return histogram_of(self.run_on, self.printed)

    @property
    def shares(self) -> dict[Direction, int]:
        """What is asked of each direction, in percent."""
        reads = self.test.get("rw_percentage")
        if reads is None:
            return dict.fromkeys(self.probes, 100)
        return {"read": reads, "write": 100 - reads}

    @property
    def warmup(self) -> dict[str, Any]:
        """The test that comes before, and is not counted."""
        return {**self.test, "time_in_sec": self.warmup_s}


def script_of(job: Job, options: SpdkOptions) -> Script:
    """The script of a job; where there are gaps, of what would be done instead."""
    target, stream = target_spec(job.target), job.streams[0]
    run_on = _bdev(job, options).name
    bdev, above, probes = _measured(job, options, run_on)
    return Script(
        target=target,
        bdev=bdev,
        stream=stream.name,
        size_bytes=size_of(stream),
        calls=bdev.calls + above + _limits(stream, run_on),
        probes=probes,
        run_on=run_on,
        test=_test(job, stream),
        warmup_s=ceil(job.warmup_ns / SECOND_NS),
        limit_bytes=_limit_bytes(job, stream),
        extra=_extra(job, stream, target),
    )


def _bdev(job: Job, options: SpdkOptions, number: int = 0) -> Bdev:
    target = target_spec(job.target)
    return bdev_of(target, options.bdev, job.block_bytes, job.read_only, number)


def _measured(
    job: Job, options: SpdkOptions, run_on: str
) -> tuple[Bdev, tuple[Call, ...], dict[Direction, str]]:
    """The target's device, what is stacked on it, and where each direction is measured.

    A device has one histogram, of all I/O or of one kind. So a mix takes two devices:
    the upper one, which bdevperf runs on, has the direction with most I/O, as its
    histogram is printed to the last I/O. The wait for a rate's limit says nothing of
    the target, so that is measured below the device that has it.
    """
    stream = job.streams[0]
    directions = directions_of(stream)
    is_paced = stream.rate is not None and directions != ("trim",)
    if len(directions) == 1 and not is_paced:
        return _bdev(job, options), (), {directions[0]: run_on}
    base = _bdev(job, options, number=1)
    if len(directions) == 1:
        (only,) = directions
        calls = (stacked(run_on, base.name), histogram_of(base.name, only))
        return base, calls, {only: base.name}
    if not is_paced:
        more, less = _by_share(stream)
        both = (stacked(run_on, base.name), histogram_of(base.name, less))
        at = {more: run_on, less: base.name}
        return base, both, {d: at[d] for d in directions}
    paced = (
        *(stacked(BETWEEN, base.name), stacked(run_on, BETWEEN)),
        *(histogram_of(base.name, "read"), histogram_of(BETWEEN, "write")),
    )
    return base, paced, {"read": base.name, "write": BETWEEN}


def _by_share(stream: JobStream) -> tuple[Direction, Direction]:
    return ("read", "write") if stream.read_percent >= 50 else ("write", "read")


def directions_of(stream: JobStream) -> tuple[Direction, ...]:
    """What the stream does, reads first."""
    if stream.trim_percent:
        return ("trim",)
    reads: tuple[Direction, ...] = ("read",) if stream.read_percent > 0 else ()
    return (*reads, "write") if stream.read_percent < 100 else reads


def size_of(stream: JobStream) -> int:
    """The one size; of several, the most frequent."""
    sizes = stream.read_sizes if stream.read_percent else stream.write_sizes
    return max(sizes, key=lambda share: share.percent).size_bytes


def depth_of(stream: JobStream) -> int:
    """All threads' outstanding I/Os, as one core issues them."""
    return stream.qd * stream.threads


def _test(job: Job, stream: JobStream) -> dict[str, Any]:
    """The parameters, as bdevperf takes them: the size as text, above all."""
    seconds = ceil(job.run_ns / SECOND_NS) if job.run_ns else LONGEST_S
    return {
        "queue_depth": depth_of(stream),
        "io_size": str(size_of(stream)),
        "time_in_sec": seconds,
        **_kind(stream),
    }


def _kind(stream: JobStream) -> dict[str, Any]:
    """A share of 0 would be ignored, so a workload of one direction is named."""
    directions = directions_of(stream)
    prefix = "rand" if stream.pattern == "random" else ""
    if directions == ("trim",):
        return {"workload_type": "unmap"}
    if len(directions) == 1:
        return {"workload_type": f"{prefix}{directions[0]}"}
    share = min(99, max(1, round(stream.read_percent)))
    return {"workload_type": f"{prefix}rw", "rw_percentage": share}


def _limits(stream: JobStream, bdev: str) -> tuple[Call, ...]:
    """A rate as a limit of the device; both units are rounded up by SPDK."""
    if not stream.rate:
        return ()
    if stream.rate.iops:
        thousands = ceil(stream.rate.iops / QOS_IOPS)
        limit = {"rw_ios_per_sec": thousands * QOS_IOPS}
    else:
        limit = {"rw_mbytes_per_sec": ceil((stream.rate.bytes_per_s or 0) / MIB)}
    return (Call("bdev_set_qos_limit", {**limit, "name": bdev}),)


def _limit_bytes(job: Job, stream: JobStream) -> int | None:
    if job.limit_bytes:
        return job.limit_bytes
    if job.passes:
        region = stream.region_bytes
        return ceil(job.passes * region)
    return None


def _extra(job: Job, stream: JobStream, target: TargetSpec) -> tuple[str, ...]:
    extra = []
    if stream.permuted:
        extra.append("-D")  # a map of the blocks visited: each once per pass
    if stream.distribution.kind == "zipf":
        extra += ["-F", f"{stream.distribution.theta:g}"]
    if "write" in directions_of(stream) and stream.data.kind != "zeros":
        extra += [] if target.in_memory else ["-U"]
    return tuple(extra)


def command(
    program: str | Path,
    socket: str | Path,
    options: SpdkOptions,
    bdev: str,
    pci: str = "",
    extra: tuple[str, ...] = (),
) -> list[str]:
    """Wait for RPC (-z), print the whole histogram (-ll), run on one bdev (-T).

    `pci` is the address of the one drive that it may touch.
    """
    arguments = ["-z", "-r", str(socket), "-m", options.cores]
    arguments += ["-s", str(options.memory_mib), *_memory_arguments(options)]
    arguments += ["-A", pci] if pci else ["-u"]
    # Neither a core dump of all hugepages, nor a trace buffer in /dev/shm.
    arguments += ["-d", "--num-trace-entries", "0"]
    return [str(program), *arguments, "-ll", "-T", bdev, *extra]


def _memory_arguments(options: SpdkOptions) -> list[str]:
    if options.no_huge:
        # Trying things out must not fail on locks that root left in /var/tmp.
        return ["--no-huge", "--disable-cpumask-locks"]
    return [] if os.geteuid() == 0 else ["--iova-mode=va"]


def native(job: Job, options: SpdkOptions) -> str:
    """The command and the dialogue, as text."""
    script = script_of(job, options)
    words = command(
        "bdevperf", "SOCKET", options, script.run_on, script.pci, script.extra
    )
    lines = [f"$ {' '.join(words)}"]
    lines += [_request(call) for call in script.calls]
    if script.warmup_s:
        lines += ["# the warm-up, not counted"]
        lines += [_request(Call("perform_tests", script.warmup))]
    lines += [_request(reset) for reset in reset_calls(script)]
    lines += [_request(Call("perform_tests", script.test))]
    if script.switched:
        lines += ["# once it does I/O", _request(script.switched)]
    lines += [f"# meanwhile, every {job.interval_ns / SECOND_NS:g} s, and at its end"]
    lines += [_request(probe) for probe in statistics_calls(script)]
    if script.limit_bytes:
        lines += [f"# SIGTERM once {script.limit_bytes} bytes are moved"]
    return "\n".join(lines)


def _request(call: Call) -> str:
    return f"> {call.method} {json.dumps(call.params)}"


def reset_calls(script: Script) -> list[Call]:
    """Forget what was done before the test, by the examination of the device too."""
    names = dict.fromkeys((*script.probes.values(), script.run_on, script.bdev.name))
    return [Call("bdev_reset_iostat", {"name": n, "mode": "all"}) for n in names]


def delete_calls(script: Script) -> list[Call]:
    """Remove all devices that were made, the upper ones first."""
    made = (call for call in reversed(script.calls) if call.method in DELETED_BY)
    return [Call(DELETED_BY[c.method], {"name": c.params["name"]}) for c in made]


def statistics_calls(script: Script) -> list[Call]:
    """What is asked for the statistics of an interval, at once: of each direction
    its counters and its histogram."""
    return [
        Call(method, {"name": name})
        for name in script.probes.values()
        for method in ("bdev_get_iostat", "bdev_get_histogram")
    ]
