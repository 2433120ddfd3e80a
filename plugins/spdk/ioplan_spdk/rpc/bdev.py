"""The calls that make a target's block device inside bdevperf."""

from __future__ import annotations

from typing import Any, NamedTuple

from ioplan_spdk.target_spec import LATENCIES, TargetSpec

READS, WRITES = "PT0", "PT1"


class Call(NamedTuple):
    """One request."""

    method: str
    params: dict[str, Any]


class Bdev(NamedTuple):
    """A block device by name, and the calls that make it."""

    name: str
    calls: tuple[Call, ...]


def bdev_of(target: TargetSpec, driver: str, block_bytes: int, read_only: bool) -> Bdev:
    """The device that stands for a target."""
    if target.kind == "kernel":
        return _kernel(target, driver, block_bytes, read_only)
    if target.kind in ("pcie", "tcp"):
        return _nvme(target)
    return _memory(target, block_bytes)


def _kernel(target: TargetSpec, driver: str, block_bytes: int, read_only: bool) -> Bdev:
    name = f"{driver.capitalize()}0"
    params = {"name": name, "filename": target.path, "block_size": block_bytes}
    # Only when needed: releases that do not know a parameter refuse the call.
    if read_only and driver == "aio":
        params["readonly"] = True
    return Bdev(name, (Call(f"bdev_{driver}_create", params),))


def _nvme(target: TargetSpec) -> Bdev:
    params: dict[str, Any] = {"name": "Nvme0"}
    if target.kind == "pcie":
        params |= {"trtype": "PCIe", "traddr": target.address}
    else:
        family = "ipv6" if ":" in target.address else "ipv4"
        params |= {"trtype": "TCP", "adrfam": family, "traddr": target.address}
        params |= {"trsvcid": target.port, "subnqn": target.nqn}
    attach = Call("bdev_nvme_attach_controller", params)
    return Bdev(f"Nvme0n{target.nsid}", (attach,))


def _memory(target: TargetSpec, block_bytes: int) -> Bdev:
    kind = "malloc" if target.kind == "malloc" else "null"
    name = f"{kind.capitalize()}0"
    blocks = target.size_bytes // block_bytes
    params = {"name": name, "num_blocks": blocks, "block_size": block_bytes}
    made = Call(f"bdev_{kind}_create", params)
    if target.kind != "delay":
        return Bdev(name, (made,))
    delays = {
        f"{word}_latency": value
        for word, value in zip(LATENCIES, target.latencies_us, strict=True)
    }
    params = {"name": "Delay0", "base_bdev_name": name, **delays}
    return Bdev("Delay0", (made, Call("bdev_delay_create", params)))


def split_by_direction(base: str) -> tuple[Call, ...]:
    """Two devices stacked on the base, so that each direction has a histogram.

    A device has one histogram, of all I/O or of one kind. The lowest counts the
    reads, the next the writes. bdevperf must run on a third: of the device that
    it runs on, it sets the histogram back to all I/O when a test starts.
    """
    return (
        Call("bdev_passthru_create", {"name": READS, "base_bdev_name": base}),
        Call("bdev_passthru_create", {"name": WRITES, "base_bdev_name": READS}),
        Call("bdev_enable_histogram", {"name": base, "enable": True, "opc": "read"}),
        Call("bdev_enable_histogram", {"name": READS, "enable": True, "opc": "write"}),
    )
