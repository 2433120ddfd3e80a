"""One browser for a test file, and reports to open in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Report, browser, left_out
from command import ioplan
from failed_cells import add_failed_cells
from many_drives import add_many_drives
from run_data import session
from sim_batches import rough

from ioplan.store.store import Store

PLAN = Path(__file__).parent / "every_chart.ioplan"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if why := left_out():
        pytest.skip(why)
    with browser(tmp_path_factory.mktemp("downloads")) as found:
        yield found


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The plan with every chart on two simulated drives, each with a page too."""
    folder = tmp_path_factory.mktemp("report")
    store = folder / "results.db"
    for size in ("256MiB", "512MiB"):
        call = ("run", PLAN, "--backend", "sim", "--create", size, "--store", store)
        with rough():
            done = ioplan(*call, "-q")
        assert done.code == 1, done.err  # one expectation is there to fail
    with Store.open(store) as opened:
        sessions = [session.id for session in opened.sessions()]
    page = folder / "both.html"
    done = ioplan("report", *sessions, "--store", store, "-o", page)
    assert done.code == 0, done.err
    return Report(page, store, sessions)


@pytest.fixture(scope="session")
def single(simulated: Report) -> Report:
    """The newest session alone."""
    page = simulated.page.with_name("single.html")
    call = ("report", simulated.sessions[0], "--store", simulated.store, "-o", page)
    done = ioplan(*call)
    assert done.code == 0, done.err
    return Report(page, simulated.store, simulated.sessions[:1])


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A session in which two of four cells failed."""
    folder = tmp_path_factory.mktemp("failed")
    store = folder / "results.db"
    one = session()
    with Store.open(store) as opened:
        opened.begin(one)
        add_failed_cells(opened)
        opened.finish(one.id, "failed", "2026-11-21T05:46:12Z")
    page = folder / "failed.html"
    assert ioplan("report", one.id, "--store", store, "-o", page).code == 0
    return Report(page, store, [one.id])


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Thirty drives on one page."""
    folder = tmp_path_factory.mktemp("drives")
    store = folder / "results.db"
    with Store.open(store) as opened:
        ids = add_many_drives(opened, 30)
    page = folder / "drives.html"
    assert ioplan("report", *ids, "--store", store, "-o", page).code == 0
    return Report(page, store, ids)
