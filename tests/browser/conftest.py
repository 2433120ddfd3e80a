"""One browser for a test file, and reports to open in it."""

import fcntl
import os
from pathlib import Path

import pytest
from chromium import Report, browser, left_out
from command import ioplan
from sessions import failed_sweep, put, put_drives
from sim_batches import rough

from ioplan.results.store import Store

PLAN = Path(__file__).parent / "every_chart.ioplan"


@pytest.fixture(scope="module")
def chromium(simulated, tmp_path_factory):
    """It begins after the runs, each of which looks at all processes of this one."""
    if why := left_out():
        pytest.skip(why)
    with browser(tmp_path_factory.mktemp("downloads")) as found:
        yield found


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """The plan with every chart on two simulated drives; one worker makes it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    page, store = folder / "both.html", folder / "results.db"
    with (folder / "both.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not page.exists():  # it is there when all is done
            for size in ("256MiB", "512MiB"):
                call = ("--backend", "sim", "--create", size, "--store", store, "-q")
                with rough():
                    done = ioplan("run", PLAN, *call)
                assert done.code == 1, done.err  # one expectation is there to fail
            page_of(store, page, *ids_of(store))
    return Report(page, store, ids_of(store))


def page_of(store, page, *ids):
    done = ioplan("report", *ids, "--store", store, "-o", page)
    assert done.code == 0, done.err
    return Report(page, store, [*ids])


def ids_of(store):
    with Store.open(store) as opened:
        return [session.id for session in opened.sessions()]


@pytest.fixture(scope="session")
def single(simulated, tmp_path_factory):
    """The newest session alone."""
    page = tmp_path_factory.mktemp("single") / "single.html"
    return page_of(simulated.store, page, simulated.sessions[0])


@pytest.fixture(scope="session")
def failed(tmp_path_factory):
    """A session in which two of four cells failed."""
    store = tmp_path_factory.mktemp("failed") / "results.db"
    id = put(store, *failed_sweep(), ended="failed")
    return page_of(store, store.with_name("failed.html"), id)


@pytest.fixture(scope="session")
def drives(tmp_path_factory):
    """Thirty drives on one page."""
    store = tmp_path_factory.mktemp("drives") / "results.db"
    with Store.open(store) as opened:
        ids = put_drives(opened, 30)
    return page_of(store, store.with_name("drives.html"), *ids)
