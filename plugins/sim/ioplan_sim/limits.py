"""What the parts of the drive can do in a time: streams do no more, whatever chance
says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ioplan_sim.load import IoKind, StreamLoad
from ioplan_sim.placement import Floats
from ioplan_sim.queue_model import Condition
from ioplan_sim.spec import MAP_BYTES, DriveSpec

Ints = npt.NDArray[np.int64]
ROUNDS = 50
"""Streams that keep a rate leave less to the others: how much, so many steps tell."""
PARTS = 5
"""The command processor, the link in each direction, the channels, the dies."""


class Limits:
    """How long the parts of the drive are busy. Time that one has not used is lost, but
    for that of a single I/O, which may have begun before."""

    def __init__(self, spec: DriveSpec) -> None:
        self.spec = spec
        self.spare_ns = np.zeros(PARTS)

    def set_costs(self, load: StreamLoad, condition: Condition, stored: float) -> None:
        """How long each part is busy with an I/O of each kind."""
        load.costs_ns = costs_ns(self.spec, load.kinds, condition, stored)

    def slow(self, loads: Sequence[StreamLoad]) -> None:
        """Slow streams down until no part is to be busy for longer than time passes."""
        for _ in range(ROUNDS):
            over = self._use([load.pace_per_ns * load.shares for load in loads], loads)
            if over.max() <= 1 + 1e-9:
                return
            for load in loads:
                load.set_pace(load.pace, load.factor * float(over.max()))

    def bound(
        self, drawn: Sequence[Ints], loads: Sequence[StreamLoad], time_ns: float
    ) -> list[Ints]:
        """Of the I/Os that chance has drawn, those that the parts can do by now."""
        able_ns = self.spare_ns + time_ns
        over = float((self._use(drawn, loads) / np.maximum(able_ns, 1e-3)).max())
        done = drawn
        if over > 1 + 1e-9:
            done = [(ios / over).astype(np.int64) for ios in drawn]
        largest_ns = np.max([load.costs_ns.max(axis=0) for load in loads], axis=0)
        left_ns = able_ns - self._use(done, loads)
        self.spare_ns = np.minimum(left_ns, largest_ns)
        return list(done)

    def _use(
        self, ios: Sequence[Floats] | Sequence[Ints], loads: Sequence[StreamLoad]
    ) -> Floats:
        return np.asarray(
            sum(one @ load.costs_ns for one, load in zip(ios, loads, strict=True))
        )


def costs_ns(
    spec: DriveSpec, kinds: Sequence[IoKind], condition: Condition, stored: float
) -> Floats:
    """How long each part of a drive is busy with an I/O of each kind."""
    flash, host = spec.flash, spec.host
    wire = flash.channel_bandwidth * flash.channels
    page_ns = spec.program_ns(spec.cache.program * condition.cached)
    page_ns += condition.copies * spec.copy_ns()
    costs = np.zeros((len(kinds), PARTS))
    costs[:, 0] = 1e9 / host.commands
    for kind, row in zip(kinds, costs, strict=True):
        link_ns = 1e9 * kind.size_bytes / host.bandwidth
        if kind.direction == "write":
            row[1], row[4] = link_ns, kind.pages * page_ns
        elif kind.direction == "read":
            row[2] = link_ns
            row[3] = 1e9 * stored * max(kind.size_bytes, MAP_BYTES) / wire
    return costs
