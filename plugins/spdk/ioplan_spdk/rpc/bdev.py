"""The calls that make a target's block device inside bdevperf."""

from __future__ import annotations

from typing import Any, NamedTuple

from ioplan.backends import Direction
from ioplan_spdk.target_spec import LATENCIES, TargetSpec

BETWEEN = "PT0"
"""A device between the one that bdevperf runs on and the target's own."""


class Call(NamedTuple):
    """One request."""

    method: str
    params: dict[str, Any]


class Bdev(NamedTuple):
    """A block device by name, and the calls that make it."""

    name: str
    calls: tuple[Call, ...]


def bdev_of(
    target: TargetSpec, driver: str, block_bytes: int, read_only: bool, number: int = 0
) -> Bdev:
    """The device that stands for a target; its name ends with the number."""
    if target.kind == "kernel":
        return _kernel(target, driver, block_bytes, read_only, number)
    if target.kind in ("pcie", "tcp"):
        return _nvme(target, number)
    return _memory(target, block_bytes, number)


def _kernel(
    target: TargetSpec, driver: str, block_bytes: int, read_only: bool, number: int
) -> Bdev:
    name = f"{driver.capitalize()}{number}"
    params = {"name": name, "filename": target.path, "block_size": block_bytes}
    # Only when needed: releases that do not know a parameter refuse the call.
    if read_only and driver == "aio":
        params["readonly"] = True
    return Bdev(name, (Call(f"bdev_{driver}_create", params),))


def _nvme(target: TargetSpec, number: int) -> Bdev:
    name = f"Nvme{number}"
    params: dict[str, Any] = {"name": name}
    if target.kind == "pcie":
        params |= {"trtype": "PCIe", "traddr": target.address}
    else:
        family = "ipv6" if ":" in target.address else "ipv4"
        params |= {"trtype": "TCP", "adrfam": family, "traddr": target.address}
        params |= {"trsvcid": target.port, "subnqn": target.nqn}
    attach = Call("bdev_nvme_attach_controller", params)
    return Bdev(f"{name}n{target.nsid}", (attach,))


def _memory(target: TargetSpec, block_bytes: int, number: int) -> Bdev:
    kind = "malloc" if target.kind == "malloc" else "null"
    name = f"{kind.capitalize()}{number}"
    blocks = target.size_bytes // block_bytes
    params = {"name": name, "num_blocks": blocks, "block_size": block_bytes}
    made = Call(f"bdev_{kind}_create", params)
    if target.kind != "delay":
        return Bdev(name, (made,))
    delays = {
        f"{word}_latency": value
        for word, value in zip(LATENCIES, target.latencies_us, strict=True)
    }
    delay = f"Delay{number}"
    params = {"name": delay, "base_bdev_name": name, **delays}
    return Bdev(delay, (made, Call("bdev_delay_create", params)))


def stacked(name: str, base: str) -> Call:
    """A device on top of another, which passes all on."""
    return Call("bdev_passthru_create", {"name": name, "base_bdev_name": base})


def histogram_of(name: str, direction: Direction) -> Call:
    """Have a device's one histogram count one direction only."""
    word = "unmap" if direction == "trim" else direction
    return Call("bdev_enable_histogram", {"name": name, "enable": True, "opc": word})
