"""The account of a drive's state, against the exact set of blocks that were written."""

import os
import re
import time
import tracemalloc
from itertools import pairwise
from math import exp

import pytest
from cases import marked
from command import ioplan, plan_file
from fooled import last_records
from hypothesis import given
from hypothesis import strategies as st

from ioplan import DriveAccount, job_streams
from ioplan.drive_account import MOST_EXTENTS, Extent, Moved, account_of, account_text
from ioplan.drive_needs import MOST_BLANK, passes_needed, standing
from ioplan.results.measure import steady_waf
from ioplan.workload import Region, SizeShare, Stream, Workload

CAPACITY = 1 << 30
FILE_BYTES = 64 << 20
SIZE = (SizeShare(size_bytes=4096, percent=100),)


def stream(**fields):
    usual = {"pattern": "random", "read_percent": 0.0}
    made = Stream(**usual | {"read_sizes": SIZE, "write_sizes": SIZE} | fields)
    return job_streams(Workload(streams=(made,)), CAPACITY, 4096)[0]


def last_state(store_path):
    """Of the last run."""
    last = last_records(store_path)[-1]
    assert last.state
    return last, last.state


PURGED = DriveAccount.begun(CAPACITY, "purge")
IN_ORDER = stream(pattern="sequential")

# Against the blocks of a file, and against the drive's own map.
WORKLOADS = {
    "drawn": "random 4KiB 0/100, qd 8 for 24MiB",
    "drawn_in_two_parts": "random 16KiB 0/100, qd 8, region 10%..60% for 40MiB",
    "permuted": "random 4KiB 0/100, permuted, qd 8 for 40MiB",
    "in_order": "sequential 64KiB 0/100, qd 4 for 20MiB",
    "in_order_by_threads": "sequential 64KiB 0/100, qd 4 each, threads 3 for 20MiB",
    "mixed": "random 4KiB 70/30, qd 8 for 80MiB",
    "mixed_in_order": "sequential 16KiB 50/50, qd 4 for 90MiB",
    "zipf": "random 4KiB 0/100, qd 8, zipf 0.9 for 40MiB",
    "pareto": "random 4KiB 0/100, qd 8, pareto 0.2 for 40MiB",
    "normal": "random 4KiB 0/100, qd 8, normal 20% for 40MiB",
    "hotspots": "random 4KiB 0/100, qd 8, hotspots { 80% in 20%, 20% in 80% } for 40MiB",
}


def unwritten_percent(path):
    with path.open("rb") as file:
        blocks = [any(file.read(4096)) for _ in range(path.stat().st_size // 4096)]
    return 100 * blocks.count(False) / len(blocks)


QUICK = ("drawn", "in_order_by_threads", "mixed", "hotspots")
"""Those that say most; a simulated drive tells of all of them sooner."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", marked(WORKLOADS, pytest.mark.long, *(WORKLOADS.keys() - QUICK))
)
@pytest.mark.promise("steady.account_exact")
def test_the_account_is_of_a_file(name, tmp_path, store_path):
    """Which has blocks that were written, and others."""
    target = tmp_path / "file"
    path = plan_file(tmp_path, f'test "T" {{ run {WORKLOADS[name]} }}')
    target.touch()
    os.truncate(target, FILE_BYTES)
    done = ioplan("run", path, "--target", target, "--overwrite", target)
    assert done.code == 0, done.err
    exact = unwritten_percent(target)
    assert 1 < exact < 99
    assert abs(last_state(store_path)[1].unwritten_percent - exact) < 1


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.promise("steady.account_exact")
def test_the_account_is_of_a_map(name, tmp_path, store_path):
    """The simulated drive does the reads and the writes of a mix in stretches: how those
    of two passes overlap is chance, of few stretches."""
    drive = plan_file(tmp_path, 'capacity = "1GiB"\n', "drive.toml")
    text = re.sub(r"(\d+)MiB$", lambda m: f"{int(m[1]) * 16}MiB", WORKLOADS[name])
    path = plan_file(tmp_path, f'test "T" {{ run {text} }}')
    assert ioplan("run", path, "--backend", "sim", "--sim", drive).code == 0
    record, state = last_state(store_path)
    unmapped = 100 * (1 - float(record.backend.facts["mapped_share"]))
    limit = 3 if name == "mixed_in_order" else 1
    assert abs(state.unwritten_percent - unmapped) < limit


def test_a_pass_in_order_is_exact_and_ends_random_order():
    account = PURGED.after(stream(), Moved(written=2 * CAPACITY))
    assert account.drive.blank == pytest.approx(exp(-2))
    assert account.drive.turns == pytest.approx(2)
    account = account.after(IN_ORDER, Moved(written=CAPACITY / 2))
    first = account.part(0, CAPACITY // 2)
    assert first.blank == first.turns == 0
    assert account.drive.turns == pytest.approx(1)
    assert account.drive.passes == pytest.approx(2.5)


def test_trims_come_to_a_balance_with_writes():
    both = stream(trim_percent=25.0)
    account = PURGED.after(both, Moved(written=6 * CAPACITY, trimmed=2 * CAPACITY))
    assert account.drive.blank == pytest.approx(0.25, abs=0.001)
    found = standing(account, [both])
    assert found.lacks == "" and "empty" in found.limits


PARTS = st.lists(
    st.tuples(st.integers(0, 98), st.integers(1, 99), st.booleans(), st.floats(0, 3)),
    max_size=30,
)


@given(PARTS)
def test_it_is_consistent_whatever_is_written(parts):
    account, moved = PURGED, 0.0
    for at, length, in_order, passes in parts:
        region = Region(start_percent=at, end_percent=min(100, at + length))
        pattern = "sequential" if in_order else "random"
        one = stream(pattern=pattern, region=region)
        before, written = account.drive.blank, passes * one.region_bytes
        account = account.after(one, Moved(written=written))
        moved += written
        assert account.drive.blank <= before + 1e-9
    ends = [0, *(one.end_bytes for one in account.extents)]
    assert ends[-1] == CAPACITY and all(a < b for a, b in pairwise(ends))
    assert all(0 <= one.blank <= 1 and one.turns >= 0 for one in account.extents)
    assert account.drive.passes == pytest.approx(moved / CAPACITY, abs=1e-6)
    assert account_of(account_text(account)) == account


def test_memory_is_constant_and_a_run_costs_next_to_nothing():
    """A run is accounted in less than 2 % of one that lasts a second."""
    one = 4096
    many = [Extent(one * n, n % 7 / 7) for n in range(1, 3 * MOST_EXTENTS)]
    tracemalloc.start()
    account = DriveAccount(CAPACITY, (*many, Extent(CAPACITY)), "purge")
    account = account.after(stream(), Moved(written=one))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(account.extents) <= MOST_EXTENTS and peak_bytes < 8 << 20
    usual, begin = PURGED, time.process_time()
    for _ in range(100):
        usual = usual.after(stream(), Moved(written=one))
    assert (time.process_time() - begin) / 100 < 0.02


def test_draws_alone_need_as_many_passes_as_the_theory_says():
    assert passes_needed(PURGED, [stream()]) == pytest.approx(6.2, abs=0.1)
    filled = PURGED.after(IN_ORDER, Moved(written=CAPACITY))
    assert passes_needed(filled, [stream()]) == 0  # an amplification may show it
    for passes, lacks in ((2.9, True), (3.0, False)):
        after = filled.after(stream(), Moved(written=passes * CAPACITY))
        assert bool(standing(after, [stream()]).lacks) == lacks
    assert passes_needed(filled, [IN_ORDER]) == 0
    for spare in (5, 7, 9, 15, 28):  # what may be unwritten changes a rate by less
        assert steady_waf(spare) / steady_waf(spare + 100 * MOST_BLANK) < 1.04


@pytest.mark.promise("steady.unknown")
def test_what_nobody_knows_is_no_evidence():
    account = DriveAccount.begun(CAPACITY)
    assert standing(account, [stream()]).lacks
    found = standing(account.after(stream(), Moved(written=3 * CAPACITY)), [stream()])
    assert (
        found.lacks == ""
        and found.limits == "the history of 5 % of the drive is unknown"
    )


FILL = """precondition full { write sequential 64KiB, qd 4, 1 pass }
test "T" { after full run random 4KiB 100/0 for 100ms }
"""


@pytest.mark.slow
@pytest.mark.promise("steady.unknown")
def test_it_holds_until_somebody_else_writes(tmp_path, store_path):
    """Over sessions."""
    target, fill = tmp_path / "file", plan_file(tmp_path, FILL)
    write = 'test "T" { run random 4KiB 0/100, qd 8 for 8MiB }'
    again = plan_file(tmp_path, write, "again.ioplan")

    def state_after(path, *more):
        done = ioplan("run", path, "--target", target, *more)
        assert done.code == 0, done.err
        return last_state(store_path)[1]

    state_after(fill, "--create", "16MiB")
    state_after(again)
    found = state_after(again)
    assert found.written_capacities == pytest.approx(2, abs=0.01)
    assert found.random_capacities == pytest.approx(1, abs=0.01)
    with target.open("r+b") as file:
        file.write(os.urandom(4096))
    found = state_after(again, "--overwrite-data", target)
    assert found.written_capacities == pytest.approx(0.5, abs=0.01)
    assert (found.since, bool(found.lacks)) == ("", True)
