"""Links that are cut, and a PostgreSQL that forgets, cannot write, or is full."""

import time

import pytest
from lab_faults import FAULTS, tried
from lab_links import NEEDS_NETNS
from postgres import NEEDS_POSTGRES
from small_lab import each_once, small_lab

pytestmark = [*NEEDS_NETNS, *NEEDS_POSTGRES, pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    with small_lab(folder, "io_uring", linked=True, disks=True, clock=True) as made:
        yield made


def test_what_status_says_of_a_host_whose_link_is_cut(lab):
    """The total does not shrink, and what was last seen is said to be that; a job that
    is submitted meanwhile begins when the host is back."""
    assert lab.links
    job = lab.submit("4s")
    lab.wait(lambda: lab.statuses(job) == {"running"})
    lab.links.cut("h1")
    try:
        later = lab.submit("1s")
        until_s = time.monotonic() + 70
        while time.monotonic() < until_s:
            assert " of 8 runs stored in" in lab.ada.ioplan("lab", "status", job).out
        out = lab.ada.ioplan("lab", "status", job).out
        assert "unknown" in out
        assert "last seen running" in out
        out = lab.ada.ioplan("lab", "status", later).out
        assert "for h1, which does not report" in out
    finally:
        lab.links.mend("h1")
    for one in (job, later):
        lab.wait(lambda one=one: lab.all_stored(one), 120)
        each_once(lab, one, 8)


HERE = [name for name, fault in FAULTS.items() if fault.needs and "5 min" not in name]


@pytest.mark.parametrize("name", HERE)
@pytest.mark.promise("labs.faults")
def test_each_cell_is_stored_once(lab, name):
    print(f"{name}: {tried(lab, FAULTS[name], 180)}")
