"""The calls that make a target's block device inside bdevperf."""

from __future__ import annotations

from typing import Any, NamedTuple

from ioplan_spdk.place import LATENCIES, Place

READS, WRITES = "PT0", "PT1"


class Call(NamedTuple):
    """One request."""

    method: str
    params: dict[str, Any]


class Bdev(NamedTuple):
    """A block device by name, and the calls that make it."""

    name: str
    calls: tuple[Call, ...]


def bdev_of(place: Place, driver: str, block_bytes: int, read_only: bool) -> Bdev:
    """The device that stands for a target."""
    if place.kind == "kernel":
        return _kernel(place, driver, block_bytes, read_only)
    if place.kind in ("pcie", "tcp"):
        return _nvme(place)
    return _memory(place, block_bytes)


def _kernel(place: Place, driver: str, block_bytes: int, read_only: bool) -> Bdev:
    name = f"{driver.capitalize()}0"
    params = {"name": name, "filename": place.path, "block_size": block_bytes}
    # Only when needed: releases that do not know a parameter refuse the call.
    if read_only and driver == "aio":
        params["readonly"] = True
    return Bdev(name, (Call(f"bdev_{driver}_create", params),))


def _nvme(place: Place) -> Bdev:
    params: dict[str, Any] = {"name": "Nvme0"}
    if place.kind == "pcie":
        params |= {"trtype": "PCIe", "traddr": place.address}
    else:
        family = "ipv6" if ":" in place.address else "ipv4"
        params |= {"trtype": "TCP", "adrfam": family, "traddr": place.address}
        params |= {"trsvcid": place.port, "subnqn": place.nqn}
    attach = Call("bdev_nvme_attach_controller", params)
    return Bdev(f"Nvme0n{place.nsid}", (attach,))


def _memory(place: Place, block_bytes: int) -> Bdev:
    kind = "malloc" if place.kind == "malloc" else "null"
    name = f"{kind.capitalize()}0"
    blocks = place.size_bytes // block_bytes
    params = {"name": name, "num_blocks": blocks, "block_size": block_bytes}
    made = Call(f"bdev_{kind}_create", params)
    if place.kind != "delay":
        return Bdev(name, (made,))
    delays = {
        f"{word}_latency": value
        for word, value in zip(LATENCIES, place.latencies_us, strict=True)
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
