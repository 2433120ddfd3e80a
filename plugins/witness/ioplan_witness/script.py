"""What a device is told to be: the script, in TOML, in the quantities of plans."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ioplan.core import Model
from ioplan.language import SIZE, TIME, Bandwidth, Iops, Size, SomeSize, SomeTime, Time

Direction = Literal["read", "write", "flush", "discard"]
Nth = Annotated[int, Field(ge=1, strict=True)]
Weight = Annotated[float, Field(gt=0)]
Sizes = tuple[Annotated[int, SIZE], Annotated[int, SIZE]]
Times = tuple[Annotated[int, TIME], Annotated[int, TIME]]


class When(Model):
    """Which I/Os a rule is for: all that is given must hold.

    `size` and `depth` include both ends, `range` and `time` the first. `depth` counts
    the I/Os outstanding with this one, `time` goes from the start of the device.
    """

    direction: Direction | None = None
    size: Sizes | None = None
    depth: tuple[Nth, Nth] | None = None
    range: Sizes | None = None
    time: Times | None = None

    @model_validator(mode="after")
    def _ends_are_in_order(self) -> Self:
        for name in ("size", "depth", "range", "time"):
            ends = getattr(self, name)
            if ends and ends[0] > ends[1]:
                raise ValueError(f"{name}: its first end is beyond its second")
        return self

    def native(self) -> dict[str, Any]:
        """For the server."""
        return self.model_dump(include=set(When.model_fields), exclude_none=True)


SHAPES: dict[str, tuple[str, ...]] = {
    "fixed": ("value",),
    "uniform": ("low", "high"),
    "normal": ("mean", "deviation"),
    "lognormal": ("median", "sigma"),
    "exponential": ("mean",),
    "values": ("values", "weights"),
}
"""The keys that each shape of a latency needs."""
NUMBERS = ("sigma", "weights")
"""Keys whose values are no times."""
ALL_KEYS = sorted({key for keys in SHAPES.values() for key in keys})


class Latency(When):
    """How long I/Os take; the first rule that holds counts.

    `bandwidth` adds the time of the transfer.
    """

    shape: Literal[
        "fixed", "uniform", "normal", "lognormal", "exponential", "values"
    ] = "fixed"
    value: Time | None = None
    low: Time | None = None
    high: Time | None = None
    mean: Time | None = None
    deviation: Time | None = None
    median: SomeTime | None = None
    sigma: Annotated[float, Field(gt=0, le=5)] | None = None
    values: tuple[Time, ...] | None = None
    weights: tuple[Weight, ...] | None = None
    bandwidth: Bandwidth | None = None

    @model_validator(mode="after")
    def _has_the_keys_of_its_shape(self) -> Self:
        needs = SHAPES[self.shape]
        for key in ALL_KEYS:
            if (getattr(self, key) is None) == (key in needs):
                what = "needs" if key in needs else "has no"
                raise ValueError(f"shape {self.shape!r} {what} {key!r}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low is above high")
        if len(self.values or ()) != len(self.weights or ()) or self.values == ():
            raise ValueError("values and weights: as many of one as of the other")
        return self

    def native_rule(self) -> dict[str, Any]:
        """For the server."""
        units = {key: key if key in NUMBERS else f"{key}_ns" for key in ALL_KEYS}
        keys = {units[key]: getattr(self, key) for key in SHAPES[self.shape]}
        return {
            "when": self.native(),
            "shape": {"shape": self.shape, **keys},
            "bytes_per_s": self.bandwidth,
        }


class Fault(When):
    """What goes wrong: of the I/Os that it is for, from the `nth` on each `every`-th.

    One of `error`, the name of an errno, `short`, how much is moved, and `corrupt`, a
    wrong bit in what is read. Without `every` and `times` it happens once.
    """

    error: str | None = None
    short: Size | None = None
    corrupt: Annotated[bool, Field(strict=True)] = False
    nth: Nth = 1
    every: Nth | None = None
    times: Nth | None = None

    @model_validator(mode="after")
    def _is_one_fault(self) -> Self:
        if (self.error is not None) + (self.short is not None) + self.corrupt != 1:
            raise ValueError("a fault has one of error, short, corrupt")
        if self.error is not None and not hasattr(errno, self.error):
            raise ValueError(f"error: {self.error!r} is no errno, such as 'EIO'")
        if self.corrupt and self.direction not in (None, "read"):
            raise ValueError("corrupt: only reads return wrong data")
        return self

    def native_rule(self) -> dict[str, Any]:
        """For the server."""
        effect: dict[str, Any] = {"corrupt": True}
        if self.error is not None:
            effect = {"error": getattr(errno, self.error)}
        elif self.short is not None:
            effect = {"short": self.short}
        once = None if self.every else 1
        return {
            "when": self.native(),
            "effect": effect,
            "nth": self.nth,
            "every": self.every,
            "times": self.times or once,
        }


class Stall(Model):
    """I/Os that arrive within `length` of `at` wait for its end; perhaps `every` so."""

    at: Time
    length: SomeTime
    every: SomeTime | None = None

    @model_validator(mode="after")
    def _ends_before_the_next(self) -> Self:
        if self.every is not None and self.every <= self.length:
            raise ValueError("every: the next stall begins before this one ends")
        return self


class Throttle(Model):
    """Reads and writes above a rate wait; a burst is what may come at once."""

    iops: Iops | None = None
    burst_ios: Nth | None = None
    bandwidth: Bandwidth | None = None
    burst: SomeSize | None = None

    @model_validator(mode="after")
    def _bursts_have_rates(self) -> Self:
        if self.burst_ios and not self.iops:
            raise ValueError("burst_ios: there is no rate; set iops")
        if self.burst and not self.bandwidth:
            raise ValueError("burst: there is no rate; set bandwidth")
        return self

    def native(self) -> dict[str, Any]:
        """For the server."""
        found = {}
        if self.iops:
            found["ios"] = {"per_s": self.iops, "burst": self.burst_ios or 1}
        if self.bandwidth:
            found["bytes"] = {"per_s": self.bandwidth, "burst": self.burst or 0}
        return found


class Cache(Model):
    """What `cut` takes back: nothing of `write-through`.

    `volatile` keeps up to `size` of writes until a flush; `lying` says that it flushed;
    `capacitor` writes all down that it holds. What a flush covers is kept `flush_delay`
    after its answer.
    `torn` writes survive in part, in whole units; `reordered` ones survive by chance.
    """

    mode: Literal["write-through", "volatile", "lying", "capacitor"] = "write-through"
    size: SomeSize = 16 << 20
    fua_ignored: Annotated[bool, Field(strict=True)] = False
    flush_delay: Time = 0
    torn: SomeSize | None = None
    reordered: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _only_caches_lose(self) -> Self:
        loses = self.fua_ignored or self.flush_delay or self.torn or self.reordered
        if loses and self.mode in ("write-through", "capacitor"):
            raise ValueError(f"a {self.mode} cache loses nothing: set another mode")
        return self

    def native(self) -> dict[str, Any]:
        """For the server."""
        return {
            "volatile": self.mode != "write-through",
            "size_bytes": self.size,
            "flush_lies": self.mode == "lying",
            "flush_delay_ns": self.flush_delay,
            "capacitor": self.mode == "capacitor",
            "fua_ignored": self.fua_ignored,
            "torn_bytes": self.torn,
            "reordered": self.reordered,
        }


class Script(Model):
    """A device. `reported_size` is what it says to have; data beyond `size` fails.

    Its data is in memory, or in the sparse file `backing`. Times count from its start.
    """

    size: SomeSize
    reported_size: SomeSize | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 1
    backing: str | None = None
    read_only_after: Time | None = None
    vanish_after: Time | None = None
    latency: tuple[Latency, ...] = ()
    fault: tuple[Fault, ...] = ()
    stall: tuple[Stall, ...] = ()
    throttle: Throttle = Throttle.model_construct()
    cache: Cache = Cache.model_construct()

    def native(self) -> dict[str, Any]:
        """For the server: nanoseconds, bytes and the numbers of errors."""
        return {
            "size_bytes": self.size,
            "reported_bytes": self.reported_size or self.size,
            "seed": self.seed,
            "backing": str(Path(self.backing).absolute()) if self.backing else None,
            "latency": [one.native_rule() for one in self.latency],
            "fault": [one.native_rule() for one in self.fault],
            "stall": [
                {"at_ns": s.at, "length_ns": s.length, "every_ns": s.every}
                for s in self.stall
            ],
            "throttle": self.throttle.native(),
            "cache": self.cache.native(),
            "read_only_after_ns": self.read_only_after,
            "vanish_after_ns": self.vanish_after,
        }
