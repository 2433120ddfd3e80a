"""Sessions of figures of known noise, for the tests and benchmarks of `compare`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import exp, log1p, sqrt

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from run_data import measurement, record, session

from ioplan.language import Metric
from ioplan.records import RunDetail, RunRecord
from ioplan.results.compare.call import Calls, calls
from ioplan.results.compare.estimate import MetricPair, MetricSide, MetricTable
from ioplan.results.compare.noise import Group, Logs, learned
from ioplan.results.measure import Measurement
from ioplan.results.store import Store

Floats = npt.NDArray[np.float64]
METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))
DRIFT = 0.8
"""How much of a session's deviation the next one has."""
TAILS = 3.0
"""Degrees of freedom of Student's t: the fewest with a variance."""


class World(Struct, frozen=True):
    """How the same drive scatters; deviations are relative, of one session's figure.

    `shared` is that part of the sessions' variance that all cells have in common.
    """

    kind: str = "independent"
    cells: int = 20
    runs: int = 3
    run: float = 0.002
    session: float = 0.02
    shared: float = 0.0
    uneven: float = 1.0
    metrics: int = 3

    def drawn(self, rng: np.random.Generator, sessions: int, columns: int) -> Floats:
        """Noise of deviation 1, a row for each session in their order."""
        shape = sessions, columns
        if self.kind == "heavy-tailed":
            drawn: Floats = rng.standard_t(TAILS, shape) / sqrt(TAILS / (TAILS - 2))
            return drawn
        fresh: Floats = rng.normal(size=shape)
        if self.kind == "drifting":
            for at in range(1, sessions):
                fresh[at] = DRIFT * fresh[at - 1] + sqrt(1 - DRIFT**2) * fresh[at]
        return fresh

    def sessions(self, rng: np.random.Generator, count: int) -> list[Logs]:
        """As many sessions, one after the other."""
        common = self.drawn(rng, count, 1) * sqrt(self.shared)
        scale = self.uneven ** np.linspace(-0.5, 0.5, self.cells)
        own = self.drawn(rng, count, self.cells) * sqrt(1 - self.shared) * scale
        levels = 9 + self.session * (common + own)
        runs = self.run * rng.normal(size=(count, self.cells, self.runs))
        return [
            {
                cell: tuple(map(float, level[cell] + some[cell]))
                for cell in range(self.cells)
            }
            for level, some in zip(levels, runs, strict=True)
        ]


class Design(Struct, frozen=True):
    """Sessions a side in their order, after so many that the store has already."""

    order: str = "ABABAB"
    earlier: int = 0

    @property
    def units(self) -> tuple[int, int]:
        """Stretches of each side."""
        starts = [
            s
            for s, last in zip(self.order, f" {self.order}", strict=False)
            if s != last
        ]
        return starts.count("A"), starts.count("B")


def alternating(each: int, earlier: int = 0) -> Design:
    """A B A B."""
    return Design("AB" * each, earlier)


def tables(
    world: World, design: Design, rng: np.random.Generator, change: Mapping[int, float]
) -> Iterator[MetricTable]:
    """What a comparison is judged by; `change` is by cell, 0.05 for 5 % more."""
    for metric in METRICS[: world.metrics]:
        found = world.sessions(rng, design.earlier + len(design.order))
        before, asked = found[: design.earlier], found[design.earlier :]
        sides = {
            name: [
                one for one, at in zip(asked, design.order, strict=True) if at == name
            ]
            for name in "AB"
        }
        sides["B"] = [
            {
                k: tuple(v + log1p(change.get(k, 0.0)) for v in logs)
                for k, logs in one.items()
            }
            for one in sides["B"]
        ]
        groups = [Group("x", "m", tuple(sides[name]), compared=True) for name in "AB"]
        groups += [Group("x", "m", tuple(before))] if before else []
        pairs = [
            MetricPair(
                *(
                    MetricSide(cell, tuple(one[cell] for one in sides[name]), units)
                    for name, units in zip("AB", design.units, strict=True)
                )
            )
            for cell in range(world.cells)
        ]
        yield MetricTable(metric, tuple(pairs), learned(groups, range(world.cells)))


def judged(
    world: World,
    design: Design,
    seed: int,
    change: Mapping[int, float] | None = None,
    threshold: float = 0.02,
) -> list[Calls]:
    """One comparison of synthetic sessions, by the real judge."""
    rng = np.random.default_rng(seed)
    return calls(list(tables(world, design, rng, change or {})), threshold)


def alarms(found: list[Calls]) -> bool:
    """Whether anything is called different."""
    return any(
        one.word == "different"
        for metric in found
        for one in (*metric.cells, *([metric.all] if metric.all else []))
    )


def store_session(
    store: Store, number: int, change: Mapping[str, float] | None = None, **more: object
) -> str:
    """A session, the `number`th of its day, of three runs at each of some queue depths.

    Sessions differ by 0.5 % and runs by 0.1 %, beside `change`, by depth. Returns its id.
    """
    rng = np.random.default_rng(number)
    id = f"20260101-{number:06}-aaaa"
    moment = {"started_at": f"2026-01-01T00:{number:02}:00Z"}
    store.begin(session(id, status="ok", **moment))
    for at, qd in enumerate(DEPTHS):
        level = (1 + (change or {}).get(qd, 0.0)) * exp(0.005 * rng.normal())
        for turn in range(3):
            faster = level * exp(0.001 * rng.normal())
            seq = 3 * at + turn + 1
            store.add(_scaled(_run(seq, id, qd, turn, more), faster), RunDetail())
    return id


DEPTHS = ("1", "2", "4", "8")


def _run(
    seq: int, id: str, qd: str, turn: int, more: Mapping[str, object]
) -> RunRecord:
    cell = {"qd": qd}
    one = record(
        seq,
        session=id,
        test="Reads",
        cell=cell,
        run_id=f"run-{qd}",
        made=_made(),
        **more,
    )
    return one.model_copy(
        update={"asked": one.asked.model_copy(update={"iteration": turn + 1})}
    )


@cache
def _made() -> Measurement:
    return measurement(ios=400)


def _scaled(one: RunRecord, faster: float) -> RunRecord:
    """With more I/Os, each of them shorter."""
    total = one.total
    assert total.latency
    kept = [
        each.model_copy(update={"latency_ns": each.latency_ns / faster})
        for each in total.latency.percentiles
    ]
    latency = total.latency.model_copy(
        update={"mean_ns": total.latency.mean_ns / faster, "percentiles": tuple(kept)}
    )
    ios = round(1000 * total.ios * faster)
    done = total.model_copy(
        update={"ios": ios, "iops": ios / one.run_s, "latency": latency}
    )
    return one.model_copy(update={"total": done, "directions": {"read": done}})
