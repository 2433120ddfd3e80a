"""What the store's sessions differ by: components of known size are found again."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figures import HOST, measurement, record
from sessions import session

from ioplan.language import Metric
from ioplan.records import BackendFacts
from ioplan.records.setup import setup_of
from ioplan.results.compare import MetricNoise, side_of
from ioplan.results.compare.earlier import Peers, RunFigures, noise_of, others
from ioplan.results.compare.judge import learned_from, peers_of
from ioplan.results.compare.noise import Group, learned, percent
from ioplan.results.report import Reader
from ioplan.results.store import Store

CELLS = range(20)


def group(
    rng: np.random.Generator,
    sessions: int,
    *,
    shared: float = 0.0,
    own: float = 0.0,
    run: float = 0.0,
    drive: float = 0.0,
    name: str = "a",
) -> Group:
    """Deviations are of logarithms."""
    level = 9 + drive * rng.normal()
    found = []
    for _ in range(sessions):
        common = level + shared * rng.normal()
        cells = common + own * rng.normal(size=len(CELLS))
        runs = cells[:, None] + run * rng.normal(size=(len(CELLS), 3))
        found.append({cell: tuple(map(float, runs[cell])) for cell in CELLS})
    return Group(drive=name, model="m", sessions=tuple(found))


def sizes(noise: MetricNoise) -> tuple[float, float, float]:
    assert noise.shared
    own = np.mean([noise.own[cell].value for cell in CELLS])
    run = np.mean([noise.run[cell].value for cell in CELLS])
    return sqrt(noise.shared.value), sqrt(own), sqrt(run)


def test_components_of_known_size_are_found() -> None:
    """The shared mean has a twentieth of the cells' own variance as well."""
    rng = np.random.default_rng(1)
    noise = learned([group(rng, 40, shared=0.02, own=0.01, run=0.002)], CELLS)
    shared, own, run = sizes(noise)
    assert shared == pytest.approx(sqrt(0.02**2 + 0.01**2 / 20), rel=0.25)
    assert own == pytest.approx(0.01, rel=0.1)
    assert run == pytest.approx(0.002, rel=0.05)


def test_a_cell_of_a_session_has_all_of_it() -> None:
    """What is shared has a session's degrees of freedom, whatever the cells."""
    rng = np.random.default_rng(2)
    all_shared = learned([group(rng, 5, shared=0.02, own=1e-5)], CELLS).session(3)
    all_own = learned([group(rng, 5, own=0.02)], CELLS).session(3)
    assert all_shared and all_own
    assert all_shared.degrees == pytest.approx(4, rel=0.01)
    assert all_own.degrees > 10
    assert sqrt(all_own.value) == pytest.approx(0.02, rel=0.5)


def test_a_change_between_groups_is_no_noise() -> None:
    """Two firmwares that differ by much; each is even."""
    rng = np.random.default_rng(3)
    groups = [group(rng, 4, own=0.01, drive=0.5) for _ in range(2)]
    noise = learned(groups, CELLS).session(0)
    assert noise and percent(noise) < 2


def test_drives_of_a_model_differ() -> None:
    rng = np.random.default_rng(4)
    groups = [group(rng, 2, own=0.01, drive=0.1, name=f"d{n}") for n in range(30)]
    noise = learned(groups, CELLS)
    assert noise.drive and noise.drive.degrees == 29
    assert sqrt(noise.drive.value) == pytest.approx(0.1, rel=0.25)
    assert learned(groups[:1], CELLS).drive is None


def test_nothing_is_learned_of_sessions_that_stand_alone() -> None:
    rng = np.random.default_rng(5)
    groups = [group(rng, 1, own=0.01, run=0.01, name=f"d{n}") for n in range(3)]
    noise = learned(groups, CELLS)
    assert noise.shared is None and not noise.own and not noise.source
    assert noise.session(0) is None and noise.run


def test_two_sessions_once_are_too_few_for_a_cell_alone() -> None:
    rng = np.random.default_rng(6)
    lone = [0]
    assert learned([group(rng, 2, own=0.01)], lone).session(0) is None
    assert learned([group(rng, 3, own=0.01)], lone).session(0)


def test_figures_that_never_differ_have_the_floor() -> None:
    even = Group("a", "m", tuple({cell: (9.0,) for cell in CELLS} for _ in range(3)))
    found = learned([even], CELLS, floor=0.01**2).session(0)
    assert found and sqrt(found.value) == pytest.approx(0.012, abs=0.002)


# from a store


Add = Callable[..., None]


@pytest.fixture
def store(store_path: Path) -> Store:
    return Store.open(store_path)


def add(store: Store, number: int, *, status: str = "ok", **more: object) -> None:
    """A session with `run-1`, and another run."""
    id = f"202601{number:02}-000000-aaaa"
    store.begin(session(id, status=status))
    for seq, run_id in enumerate(("run-1", "else"), start=1):
        made = measurement(10 * number + seq)
        one = record(seq, session=id, made=made, run_id=run_id, **more)
        store.add(one, made.detail)


def drive(serial: str, firmware: str = "1") -> dict[str, object]:
    return {"identity": {"model": "m", "serial": serial, "firmware": firmware}}


def id_of(number: int) -> str:
    return f"202601{number:02}-000000-aaaa"


def like(store: Store, number: int = 1, *, but: int | None = None) -> list[Peers]:
    """What is learned from for a session of this number."""
    (first, *_) = store.records(id_of(number))
    left_out = {id_of(but)} if but else set()
    return others(store, ["run-1"], {setup_of(first)}, left_out)


def test_peers_are_sessions_under_the_same_conditions(store: Store) -> None:
    add(store, 1, target=drive("x"))
    add(store, 2, target=drive("x"))
    add(store, 3, target=drive("x", "2"))
    add(store, 4, target=drive("y"))
    add(store, 5, target=drive("x"), host={**HOST, "kernel": "6.2"})
    add(store, 6, target=drive("x"), status="interrupted")
    assert [len(one.sessions) for one in like(store, but=2)] == [1, 1, 1, 1]
    found = like(store)
    assert sorted(len(one.sessions) for one in found) == [1, 1, 1, 2]
    assert {(one.drive, one.speaks) for one in found} == {("m x", True), ("m y", False)}
    assert others(store, ["never"], {one.setup for one in found if one.setup}) == []


def test_noise_of_a_store(store: Store) -> None:
    for number in range(1, 5):
        add(store, number)
    reader = Reader(store)
    noise = noise_of(RunFigures(reader, Metric(name="mean")), like(store))
    assert noise.source == "4 others that did the same runs on :/dev/sim0 by sim"
    found = noise.session(("run-1", 0))
    assert found and found.degrees == 3
    p95 = noise_of(RunFigures(reader, Metric(name="p95")), like(store))
    coarse = p95.session(("run-1", 0))
    assert coarse and coarse.value >= (1 / 128) ** 2 / 12


FILE = {"path": "/srv/a", "kind": "file", "capacity_bytes": 1 << 30, "block_bytes": 512}
REAL = {
    "target": FILE,
    "backend": BackendFacts(name="io_uring", version="1", mode="io_uring"),
    "host": {"hostname": "a", "target": {"scheduler": "none"}},
}
ELSEWHERE: dict[str, dict[str, Any]] = {
    "path": {"target": {**FILE, "path": "/srv/b"}},
    "size": {"target": {**FILE, "capacity_bytes": 1 << 20}},
    "sectors": {"target": {**FILE, "block_bytes": 4096}},
    "backend": {"backend": BackendFacts(name="fio", version="1", mode="io_uring")},
    "mode": {"backend": BackendFacts(name="io_uring", version="1", mode="psync")},
    "host": {"host": {"hostname": "b", "target": {"scheduler": "none"}}},
    "scheduler": {"host": {"hostname": "a", "target": {"scheduler": "bfq"}}},
    "simulated": {"target": {**FILE, "kind": "simulated"}},
}
NOISE = Metric(name="mean")


def learned_by(store: Store, base: int, new: int) -> tuple[MetricNoise, set[str]]:
    sides = [side_of(store, [store.session(id_of(at))]) for at in (base, new)]
    peers = peers_of(store, sides[0], sides[1], parts=False)
    return noise_of(RunFigures(Reader(store), NOISE), peers), {*learned_from(peers)}


@pytest.mark.long_but_first
@pytest.mark.parametrize("other", ELSEWHERE)
def test_another_setup_tells_nothing(store: Store, other: str) -> None:
    """Not even where there is nothing else, and however many newer ones there are."""
    for number in (1, 2):
        add(store, number, **REAL)
    for number in range(5, 31):
        add(store, number, **{**REAL, **ELSEWHERE[other]})
    noise, sessions = learned_by(store, 1, 2)
    assert noise.session(("run-1", 0)) is None and not noise.source and not sessions
    for number in (3, 4):
        add(store, number, **REAL)
    noise, sessions = learned_by(store, 1, 2)
    assert sessions == {id_of(3), id_of(4)}
    assert noise.source == "2 others that did the same runs on a:/srv/a by io_uring"


def test_of_two_setups_both_have_to_be_known(store: Store) -> None:
    """Earlier sessions of one drive do not tell how much another scatters."""
    one, other = ({**REAL, "target": {**FILE, "path": path}} for path in "ab")
    for number in range(1, 5):
        add(store, number, **one)
    add(store, 5, **other)
    assert learned_by(store, 4, 5)[0].session(("run-1", 0)) is None
    for number in (6, 7):
        add(store, number, **other)
    noise, sessions = learned_by(store, 4, 5)
    assert noise.session(("run-1", 0))
    assert sessions == {id_of(at) for at in (1, 2, 3, 6, 7)}


@pytest.mark.promise("compare.simulated")
def test_a_simulated_side_does_not_speak_for_a_real_one(store: Store) -> None:
    """Beside real sessions that differ, a side of simulated ones is silent."""
    for number in (1, 2, 3):
        add(store, number, **REAL)
    for number in (4, 5, 6):
        add(store, number, **{**REAL, **ELSEWHERE["simulated"]})
    noise, sessions = learned_by(store, 1, 4)
    assert sessions == {id_of(2), id_of(3)} and noise.source.endswith("by io_uring")
    sides = [[store.session(id_of(at)) for at in some] for some in ((1,), (4, 5, 6))]
    base, new = (side_of(store, some) for some in sides)
    peers = peers_of(store, base, new, parts=False)
    assert {*learned_from(peers)} == {id_of(2), id_of(3)}
    assert {*learned_from(peers_of(store, new, new, parts=False))} >= {id_of(4)}


def test_figures_that_never_differ_add_no_degrees() -> None:
    """Beside sessions that do, copies of one session leave the noise as it was."""
    rng = np.random.default_rng(8)
    known = group(rng, 4, own=0.01)
    copies = Group("b", "m", (known.sessions[0],) * 5)
    assert not learned([copies], CELLS).own and not learned([copies], CELLS).source
    alone, both = (learned(some, CELLS) for some in ([known], [known, copies]))
    assert both.session(3) == alone.session(3)
