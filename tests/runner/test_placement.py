"""The CPUs of a run, chosen once for all backends and kept; and who started it."""

import json
import os

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from made_machine import DISK, PCI, nvme, put

from ioplan import JobStream
from ioplan.backends import BackendError, TargetFacts, find
from ioplan.core.cpu_claims import CpuClaims
from ioplan.job import Job
from ioplan.runner import Tree, login_name
from ioplan.runner.prepare.placement import (
    Placement,
    chosen_cpus,
    node_of,
    placement_of,
)
from ioplan.runner.telemetry.topology import numa_node
from ioplan.workload import SizeShare

ALL = frozenset(range(8))
HERE = sorted(os.sched_getaffinity(0))


def two_nodes(root):
    """CPUs 0 to 3 on node 0, and 4 to 7 on node 1, to which the drive is attached."""
    nvme(root)
    nodes = "sys/devices/system/node"
    put(root, **{f"{nodes}/node0/cpulist": "0-3", f"{nodes}/node1/cpulist": "4-7"})
    link = root / "sys/bus/pci/devices/0000:00:03.0"
    link.parent.mkdir(parents=True)
    link.symlink_to(root / PCI)
    return Tree(root)


def job_of(*threads, cpus=()):
    """A stream for each number of threads."""
    share = (SizeShare(size_bytes=4096, percent=100),)
    streams = tuple(
        JobStream(
            name=f"s{number}", pattern="random", read_percent=100, threads=many,
            read_sizes=share, write_sizes=share,
            region_start_bytes=0, region_end_bytes=1 << 20,
        )
        for number, many in enumerate(threads)
    )  # fmt: skip
    return Job(
        target="t", capacity_bytes=1 << 20, block_bytes=512, streams=streams,
        run_ns=10**9, cpus=cpus,
    )  # fmt: skip


def test_the_drives_node_comes_first_and_the_last_cpu_of_it(tmp_path):
    tree = two_nodes(tmp_path)
    node = numa_node(tree, tmp_path / DISK)
    assert node == 1
    assert chosen_cpus(tree, node, ALL) == (7, 6, 5, 4, 3, 2, 1, 0)
    assert chosen_cpus(tree, 0, ALL) == (3, 2, 1, 0, 7, 6, 5, 4)
    assert chosen_cpus(tree, None, ALL) == (7, 6, 5, 4, 3, 2, 1, 0)
    assert chosen_cpus(tree, 5, frozenset({1, 2})) == (2, 1)
    assert chosen_cpus(tree, 1, frozenset({0, 2, 5})) == (5, 2, 0), "what is allowed"


def test_a_drive_that_the_kernel_does_not_have_is_found_on_the_bus(tmp_path):
    tree = two_nodes(tmp_path)
    assert node_of(tree, "nvme:pcie:0000:00:03.0/1") == 1
    assert node_of(tree, "nvme:pcie:0000:00:04.0/1") is None
    assert node_of(tree, "malloc:64MiB") is None
    put(tmp_path, **{f"{PCI}/numa_node": -1})
    assert node_of(tree, "nvme:pcie:0000:00:03.0/1") is None


def test_ioplan_keeps_off_the_cpus_of_the_run_while_others_are_left():
    cpus = (7, 6, 5, 4, 3, 2, 1, 0)
    by_node = Placement(cpus, ALL)
    assert by_node.own_cpus(job_of(2, cpus=cpus)) == ALL - {7, 6}
    assert by_node.own_cpus(job_of(8, cpus=cpus)) == ALL
    named = Placement((2, 3), ALL)
    assert named.own_cpus(job_of(1, cpus=(2, 3))) == ALL - {2, 3}


def test_it_comes_back_when_the_run_is_over():
    allowed = frozenset(HERE)
    with Placement(tuple(HERE), allowed).placed(job_of(1)) as (job, _):
        meanwhile = os.sched_getaffinity(0)
    assert meanwhile == (allowed - {job.cpus[0]} or allowed)
    assert os.sched_getaffinity(0) == allowed


def test_two_sessions_take_other_cpus_while_there_are_enough():
    cpus = (9002, 9001, 9000)  # of no machine, and so of no other test
    with CpuClaims(cpus, 1) as first, CpuClaims(cpus, 2) as second:
        assert first.order == cpus and second.order == (9001, 9000, 9002)
        assert not (first.shared or second.shared)
        with CpuClaims(cpus, 1) as third:
            assert third.order == cpus and third.shared == (9002,)
    with CpuClaims(cpus, 3) as later:
        assert later.order == cpus and not later.shared


def test_a_cpu_that_another_session_uses_is_named():
    allowed = frozenset(HERE)
    with CpuClaims([9003], 1), Placement((9003,), allowed).placed(job_of(1)) as placed:
        (warning,) = placed.warnings
    assert "another session of ioplan used CPU 9003" in warning
    assert placed.job.cpus == (9003,)


def test_cpus_that_are_held_stay_the_same_between_runs():
    """Another session that comes between two runs gets none of them."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    both = Placement((900, 901, 902), frozenset(cpus))
    with both.held(2) as held:
        for job in (job_of(1), job_of(2)):
            with held.placed(job) as (placed, warnings):
                assert placed.cpus == (900, 901, 902) and warnings == ()
            with CpuClaims((900, 901, 902), 1) as other:
                assert other.order[0] == 902 and other.shared == ()
    with CpuClaims((900, 901, 902), 1) as other, both.held(3) as held:
        assert held.shared == (900,)
        with held.placed(job_of(3)) as (_, warnings):
            assert len(warnings) == 1 and "CPU 900" in warnings[0]
        with held.placed(job_of(1)) as (_, warnings):
            assert warnings == ()


def test_a_backend_that_takes_no_cpus_is_given_none():
    facts = TargetFacts(path="t", kind="file", capacity_bytes=1, block_bytes=512)
    assert placement_of(find("sim"), facts, "0") == Placement()
    for name in ("io_uring", "fio", "spdk"):
        assert set(placement_of(find(name), facts, None).cpus) == set(HERE)
        assert placement_of(find(name), facts, str(HERE[0])).cpus == (HERE[0],)


def test_a_lab_cannot_name_what_the_process_may_not_use():
    facts = TargetFacts(path="t", kind="file", capacity_bytes=1, block_bytes=512)
    with pytest.raises(
        BackendError, match=r"CPU 4095, which ioplan may not use on this host"
    ):
        placement_of(find("fio"), facts, f"{HERE[0]},4095")
    with pytest.raises(BackendError, match="cpus 3-2 are an empty range"):
        placement_of(find("fio"), facts, "3-2")


def test_fio_is_told_in_its_own_words():
    fio = find("fio")
    pinned = fio.native(job_of(2, 1, cpus=(7, 6, 5, 4)), {})
    first, second = pinned.split("[s1]")
    assert "cpus_allowed=7,6\ncpus_allowed_policy=split\n" in first
    assert "cpus_allowed=5\ncpus_allowed_policy=split\n" in second
    shared = fio.native(job_of(2, 2, cpus=(7, 6, 5)), {})
    assert shared.count("cpus_allowed=7,6,5\n") == 2 and "policy" not in shared
    assert "cpus_allowed" not in fio.native(job_of(1), {})


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
def test_the_record_has_the_cpus_that_the_lab_names(backend, tmp_path, store_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(f'cpus = "{HERE[0]}"\n')
    plan = plan_file(tmp_path, 'test "R" { run random 4KiB 100/0 for 100ms }')
    done = ioplan(
        "run", plan, "--lab", lab, "--backend", backend,
        "--target", tmp_path / "s.bin", "--create", "16MiB",
    )  # fmt: skip
    assert done.code == 0, done.err
    (record,) = json.loads(ioplan("export", "last").out)["runs"]
    assert record["asked"]["job"]["cpus"] == [HERE[0]]
    assert record["backend"]["facts"]["cpus"] == [HERE[0]]
    assert record["substitutions"] == []


# who started a session


@pytest.mark.parametrize("user, found", [(0, "ada"), (1000, "eve")])
def test_under_sudo_it_is_the_caller(user, found, monkeypatch):
    """Who is not root may say anything there."""
    monkeypatch.setenv("SUDO_USER", "ada")
    monkeypatch.setenv("LOGNAME", "eve")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert login_name() == found
