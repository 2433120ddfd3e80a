"""Where the I/O goes: what a target's text means.

/dev/nvme0n1, disk.img       through the kernel: aio, or uring
nvme:pcie:0000:01:00.0       an NVMe drive without the kernel; `/2`: namespace 2
nvme:tcp:HOST:PORT:NQN       NVMe over TCP; an IPv6 address in brackets
malloc:64MiB, null:128MiB    memory, and nothing at all
delay:128MiB:1000:5000:3000:9000
                             null with known latencies in microseconds: mean
                             and 99th percentile of reads, then of writes
"""

from __future__ import annotations

import os
import re
from typing import Literal

from msgspec import Struct

from ioplan.backends import BackendError, Cause, Failure, QuantityError, parse_quantity

Kind = Literal["kernel", "pcie", "tcp", "malloc", "null", "delay"]

PCIE = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.I)
TCP = re.compile(r"(?P<host>\[[^\]]+\]|[^:]+):(?P<port>\d+):(?P<nqn>nqn\..+)")
NAMESPACE = re.compile(r"(?P<rest>.*)/(?P<nsid>[1-9]\d*)")
LATENCIES = ("avg_read", "p99_read", "avg_write", "p99_write")


class TargetSpec(Struct, frozen=True):
    """A target, as named. Only what its kind needs is set."""

    path: str
    kind: Kind
    address: str = ""
    port: str = ""
    nqn: str = ""
    nsid: int = 1
    size_bytes: int = 0
    latencies_us: tuple[int, ...] = ()

    @property
    def in_memory(self) -> bool:
        """Whether it begins and ends with the process that has it."""
        return self.kind in ("malloc", "null", "delay")


def target_spec(path: str) -> TargetSpec:
    """What the text means. Raises BackendError."""
    kind, _, rest = path.partition(":")
    if kind in ("malloc", "null"):
        return TargetSpec(path, kind, size_bytes=_size_bytes(path, rest))  # type: ignore[arg-type]
    if kind == "delay":
        return _delay(path, rest)
    if kind == "nvme":
        return _nvme(path, rest)
    return TargetSpec(path, "kernel")


def _size_bytes(path: str, text: str) -> int:
    try:
        found = parse_quantity(text)
    except QuantityError as error:
        raise BackendError(f"the target {path!r}: {error}") from None
    if found.kind != "size" or not found.value or int(found.value) % 4096:
        raise BackendError(
            f"the target {path!r} needs a size that is a multiple of 4 KiB, for "
            "example malloc:64MiB"
        )
    return int(found.value)


def _delay(path: str, text: str) -> TargetSpec:
    size, *rest = text.split(":")
    if len(rest) != len(LATENCIES) or not all(word.isdecimal() for word in rest):
        raise BackendError(
            f"the target {path!r} needs a size and four latencies in microseconds, "
            "mean and 99th percentile of reads, then of writes: "
            "delay:128MiB:1000:5000:3000:9000"
        )
    latencies_us = tuple(map(int, rest))
    if latencies_us[0] > latencies_us[1] or latencies_us[2] > latencies_us[3]:
        raise BackendError(f"the target {path!r}: a 99th percentile is below its mean")
    size_bytes = _size_bytes(path, size)
    return TargetSpec(path, "delay", size_bytes=size_bytes, latencies_us=latencies_us)


def _nvme(path: str, text: str) -> TargetSpec:
    transport, _, rest = text.partition(":")
    nsid = 1
    if found := NAMESPACE.fullmatch(rest):
        rest, nsid = found["rest"], int(found["nsid"])
    if transport == "pcie" and PCIE.fullmatch(rest):
        address = rest if rest.count(":") == 2 else f"0000:{rest}"
        return TargetSpec(path, "pcie", address=address.lower(), nsid=nsid)
    if transport == "tcp" and (found := TCP.fullmatch(rest)):
        host = found["host"].strip("[]")
        return TargetSpec(path, "tcp", host, found["port"], found["nqn"], nsid)
    raise BackendError(
        f"the target {path!r} is not one that SPDK reaches; write "
        f"nvme:pcie:0000:01:00.0 or nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1"
    )


# What is wrong with a target on the network, by what SPDK wrote of it.

FAULTS: tuple[tuple[str, Cause, str], ...] = (
    (
        # A controller is reset only once it was there.
        r"Resetting controller failed|controller reinitialization failed",
        Cause.TARGET_LOST,
        "the NVMe target at {place} was there, and does not answer any more; see "
        "whether it still runs and its network is up",
    ),
    (
        r"Connect command completed with error: sct 1, sc 130",
        Cause.MISSING_TARGET,
        "the NVMe target at {place} answers, and has no subsystem {nqn}; "
        "`nvme discover -t tcp -a {address} -s {port}` lists those that it has",
    ),
    (
        r"Connect command completed with error: sct 1, sc 132",
        Cause.PERMISSION,
        "the NVMe target at {place} does not permit this host to use {nqn}; add it "
        "to the subsystem's hosts there",
    ),
    (
        r"getaddrinfo failed: (.*) \(",
        Cause.MISSING_TARGET,
        "there is no host {address}: {0}",
    ),
    (
        r"connect\(\) failed, errno = (\d+)",
        Cause.MISSING_TARGET,
        "no NVMe target answers at {place}: {error}; start it, or name another",
    ),
)
"""The first that is found counts: a fault has others in its wake."""


def fabric_fault(target: TargetSpec, messages: str) -> Failure | None:
    """None for a target that is not on the network, and where SPDK says nothing."""
    if target.kind != "tcp":
        return None
    for pattern, cause, text in FAULTS:
        if found := re.search(pattern, messages):
            return Failure(cause=cause, message=_told(text, target, found))
    return None


def no_namespace(target: TargetSpec) -> str:
    """That a controller is there without the namespace."""
    return f"it has no namespace {target.nsid}; the address ends with another as /NSID"


def _told(text: str, target: TargetSpec, found: re.Match[str]) -> str:
    address = f"[{target.address}]" if ":" in target.address else target.address
    groups = found.groups()
    number = int(groups[0]) if groups and groups[0].isdecimal() else 0
    return text.format(
        *groups,
        place=f"{address}:{target.port}",
        address=target.address,
        port=target.port,
        nqn=target.nqn,
        error=os.strerror(number),
    )
