"""What the store's sessions differ by: components of known size are found again."""

from math import sqrt

import numpy as np
import pytest
from figures import HOST, measurement, run
from sessions import put
from synthetic_comparisons import setup_on

from ioplan.language import Metric
from ioplan.records import BackendFacts
from ioplan.records.setup import setup_of
from ioplan.results.compare import side_of
from ioplan.results.compare.noise import (
    Group,
    RunFigures,
    estimate_noise,
    noise_of,
    other_sessions,
    peers_of,
    percent,
    reference_sessions,
)
from ioplan.results.report import Reader
from ioplan.results.store import Store

CELLS = range(20)


def group(rng, sessions, name="a", **of):
    """Deviations are of logarithms: `shared`, `own` of a cell, of a `run`, of a `drive`."""

    def drawn(what, *shape):
        return of.get(what, 0.0) * rng.normal(size=shape)

    level, found = 9 + drawn("drive"), []
    for _ in range(sessions):
        cells = level + drawn("shared") + drawn("own", len(CELLS))
        runs = cells[:, None] + drawn("run", len(CELLS), 3)
        found.append({cell: tuple(map(float, runs[cell])) for cell in CELLS})
    return Group(setup_on(name), found)


def sizes(noise):
    own = np.mean([noise.own[cell].value for cell in CELLS])
    run = np.mean([noise.run[cell].value for cell in CELLS])
    return sqrt(noise.shared.value), sqrt(own), sqrt(run)


def test_components_of_known_size_are_found():
    """The shared mean has a twentieth of the cells' own variance as well."""
    rng = np.random.default_rng(1)
    noise = estimate_noise([group(rng, 40, shared=0.02, own=0.01, run=0.002)], CELLS)
    shared, own, run = sizes(noise)
    assert shared == pytest.approx(sqrt(0.02**2 + 0.01**2 / 20), rel=0.25)
    assert own == pytest.approx(0.01, rel=0.1)
    assert run == pytest.approx(0.002, rel=0.05)


def test_a_cell_of_a_session_has_all_of_it():
    """What is shared has a session's degrees of freedom, whatever the cells."""
    rng = np.random.default_rng(2)
    all_shared, all_own = (
        estimate_noise([group(rng, 5, **of)], CELLS).session(3)
        for of in ({"shared": 0.02, "own": 1e-5}, {"own": 0.02})
    )
    assert all_shared.degrees == pytest.approx(4, rel=0.01)
    assert all_own.degrees > 10
    assert sqrt(all_own.value) == pytest.approx(0.02, rel=0.5)


def test_drives_of_a_model_differ():
    """A change between groups is no noise: two firmwares that differ by much are even."""
    rng = np.random.default_rng(4)
    groups = [group(rng, 2, f"d{n}", own=0.01, drive=0.1) for n in range(30)]
    noise = estimate_noise(groups, CELLS)
    assert noise.drive.degrees == 29
    assert sqrt(noise.drive.value) == pytest.approx(0.1, rel=0.25)
    assert estimate_noise(groups[:1], CELLS).drive is None
    firmwares = [group(rng, 4, own=0.01, drive=0.5) for _ in range(2)]
    even = estimate_noise(firmwares, CELLS).session(0)
    assert percent(even) < 2


def test_nothing_is_learned_of_sessions_that_stand_alone():
    rng = np.random.default_rng(5)
    noise = estimate_noise([group(rng, 1, n, own=0.01, run=0.01) for n in "abc"], CELLS)
    assert noise.shared is None and not noise.own and not noise.source
    assert noise.session(0) is None and noise.run
    for sessions, known in ((2, False), (3, True)):  # of one cell alone
        few = estimate_noise([group(rng, sessions, own=0.01)], [0]).session(0)
        assert bool(few) is known


def test_figures_that_never_differ_have_the_floor_and_no_degrees():
    """Beside sessions that do, copies of one session leave the noise as it was."""
    even = Group(setup_on("a"), [{cell: (9.0,) for cell in CELLS} for _ in range(3)])
    found = estimate_noise([even], CELLS, floor=0.01**2).session(0)
    assert sqrt(found.value) == pytest.approx(0.012, abs=0.002)
    known = group(np.random.default_rng(8), 4, own=0.01)
    copies = Group(setup_on("b"), [known.sessions[0]] * 5)
    alone = estimate_noise([copies], CELLS)
    assert not alone.own and not alone.source
    alone, both = (estimate_noise(some, CELLS) for some in ([known], [known, copies]))
    assert both.session(3) == alone.session(3)


@pytest.fixture
def store(store_path):
    return Store.open(store_path)


def add(store, *numbers, status="ok", **more):
    """Sessions with `run-1`, and another run."""
    for number in numbers:
        runs = (
            run(seq, measurement(10 * number + seq), run_id=run_id, **more)
            for seq, run_id in enumerate(("run-1", "else"), start=1)
        )
        put(store, *runs, id=id_of(number), status=status)


def drive(serial, firmware="1"):
    return {"identity": {"model": "m", "serial": serial, "firmware": firmware}}


def id_of(number):
    return f"202601{number:02}-000000-aaaa"


def like(store, number=1, *, but=None):
    """What is learned from for a session of this number."""
    (first, *_) = store.records(id_of(number))
    left_out = {id_of(but)} if but else set()
    return other_sessions(store, ["run-1"], {setup_of(first)}, left_out)


def test_peers_are_sessions_under_the_same_conditions(store):
    add(store, 1, 2, target=drive("x"))
    add(store, 3, target=drive("x", "2"))
    add(store, 4, target=drive("y"))
    add(store, 5, target=drive("x"), host={**HOST, "kernel": "6.2"})
    add(store, 6, target=drive("x"), status="interrupted")
    assert [len(one.sessions) for one in like(store, but=2)] == [1, 1, 1, 1]
    found = like(store)
    assert sorted(len(one.sessions) for one in found) == [1, 1, 1, 2]
    known = {(one.setup and one.setup.drive, one.is_reference) for one in found}
    assert known == {("m x", True), ("m y", False)}
    setups = {one.setup for one in found if one.setup}
    assert other_sessions(store, ["never"], setups) == []


def test_noise_of_a_store(store):
    add(store, 1, 2, 3, 4)
    of = {
        name: noise_of(RunFigures(Reader(store), Metric(name=name)), like(store))
        for name in ("mean", "p95")
    }
    source = "4 other sessions with the same runs (drive /dev/sim0, backend sim)"
    assert of["mean"].source == source
    found, coarse = (one.session(("run-1", 0)) for one in of.values())
    assert found.degrees == 3
    assert coarse.value >= (1 / 128) ** 2 / 12


FILE = {"path": "/srv/a", "kind": "file", "capacity_bytes": 1 << 30, "block_bytes": 512}
REAL = {
    "target": FILE,
    "backend": BackendFacts(name="io_uring", version="1", mode="io_uring"),
    "host": {"hostname": "a", "target": {"scheduler": "none"}},
}
ELSEWHERE = {
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


def learned_by(store, base, new):
    sides = [side_of(store, [store.session(id_of(at))]) for at in (base, new)]
    peers = peers_of(store, sides[0], sides[1], parts=False)
    noise = noise_of(RunFigures(Reader(store), NOISE), peers)
    return noise, {*reference_sessions(peers)}


@pytest.mark.long_but_first
@pytest.mark.parametrize("other", ELSEWHERE)
def test_another_setup_tells_nothing(store, other):
    """Not even where there is nothing else, and however many newer ones there are."""
    add(store, 1, 2, **REAL)
    add(store, *range(5, 31), **{**REAL, **ELSEWHERE[other]})
    noise, sessions = learned_by(store, 1, 2)
    assert noise.session(("run-1", 0)) is None and not noise.source and not sessions
    add(store, 3, 4, **REAL)
    noise, sessions = learned_by(store, 1, 2)
    assert sessions == {id_of(3), id_of(4)}
    source = "2 other sessions with the same runs (drive a:/srv/a, backend io_uring)"
    assert noise.source == source


def test_of_two_setups_both_have_to_be_known(store):
    """Earlier sessions of one drive do not tell how much another scatters."""
    one, other = ({**REAL, "target": {**FILE, "path": path}} for path in "ab")
    add(store, 1, 2, 3, 4, **one)
    add(store, 5, **other)
    assert learned_by(store, 4, 5)[0].session(("run-1", 0)) is None
    add(store, 6, 7, **other)
    noise, sessions = learned_by(store, 4, 5)
    assert noise.session(("run-1", 0))
    assert sessions == {id_of(at) for at in (1, 2, 3, 6, 7)}


@pytest.mark.promise("compare.simulated")
def test_a_simulated_side_does_not_speak_for_a_real_one(store):
    """Beside real sessions that differ, a side of simulated ones is silent."""
    add(store, 1, 2, 3, **REAL)
    add(store, 4, 5, 6, **{**REAL, **ELSEWHERE["simulated"]})
    noise, sessions = learned_by(store, 1, 4)
    assert sessions == {id_of(2), id_of(3)}
    assert noise.source.endswith("backend io_uring)")
    sides = [[store.session(id_of(at)) for at in some] for some in ((1,), (4, 5, 6))]
    base, new = (side_of(store, some) for some in sides)
    peers = peers_of(store, base, new, parts=False)
    assert {*reference_sessions(peers)} == {id_of(2), id_of(3)}
    assert {*reference_sessions(peers_of(store, new, new, parts=False))} >= {id_of(4)}
