"""What `ioplan plan` foretells, against what was done: bounds hold, and it plans for the
profile, the capacity and the simulated drive that will run."""

import json

import pytest
from command import ioplan, plan_file, succeed
from paths import ROOT

DRIVES = ("client", "crosspoint", "datacentre")
SMALL = ("--capacity", "4GiB")
FILLED = "precondition filled { purge write sequential 128KiB, qd 32, 1 pass }\n"
STEADY = (
    "precondition steady { purge write sequential 128KiB, qd 32, 2 passes\n"
    "  write random 4KiB, qd 32, until steady iops every 1s, at least 1 pass,\n"
    "  at most 4 passes }\n"
)
DUO = (
    "workload duo {\n a = random 4KiB 100/0, qd 8\n"
    " b = sequential 128KiB 0/100, qd 4, starts after 2s, ends after 6s\n"
    " c = random 4KiB 0/100, rate 1_000 iops }\n"
)
PLANS = {
    "timed": 'test "T" { run random 0/100, qd 32 for 2s, warmup 1s\n'
    "vary size in 4KiB, 64KiB, 1MiB }",
    "poisson": 'test "T" { run random 4KiB 50/50, qd 32, rate 1_000 iops poisson for '
    "10s }",
    "burst": 'test "T" { run random 4KiB 0/100, qd 64, burst 1s of 50_000 iops, then 3s '
    "of 500 iops for 6s }",
    "mixed": f'{FILLED}test "T" {{ after filled run random 4KiB 70/30 for 2s\n'
    'vary qd in 1, 8, 64 }\ntest "W" { run random 4KiB 0/100, qd 16, 1 pass }',
    "rounds": f'{STEADY}test "T" {{ after steady run random 4KiB 30/70, qd 16 for 1s\n'
    "rounds until steady iops, at most 8 }",
    "each": f'{FILLED}test "T" {{ after filled before each round\n'
    "run random 4KiB 0/100, qd 16 for 1s\nrounds until steady iops, at most 6 }",
    "cells": f'{FILLED}test "T" {{ after filled run random 4KiB 0/100 for 1s\n'
    "vary qd in 1, 4\nrounds until every cell within 3%, at most 8 }",
    "seek": f'{FILLED}test "T" {{ after filled run random 4KiB 50/50, qd 64 for 1s\n'
    "seek highest rate in 1_000 iops..50_000 iops where p99 <= 5ms }",
    "read_share": f'{FILLED}test "T" {{ after filled run random 4KiB, qd 8 for 1s\n'
    "seek highest read in 1%..100% where mean <= 2ms }",
    "knee": f'{FILLED}test "T" {{ after filled run random 4KiB 0/100 for 1s\n'
    "seek knee qd in 1..16 }",
    "duo": f'{DUO}{FILLED}test "T" {{ after filled run duo for 8s }}',
    "pauses": 'test "T" { run random 16KiB 30/70, qd 8 each, threads 2, '
    "pause 2ms every 16 for 5s }",
    "hot": f'{FILLED}test "T" {{ after filled run random 512B 0/100, qd 16, '
    "hotspots { 90% in 10%, 10% in 90% } for 5s }",
    "trim": f'{FILLED}test "T" {{ after filled run random 64KiB 50/50, qd 8, trim 20% '
    "for 5s }",
    "sizes": f'{FILLED}test "T" {{ after filled run random sizes {{ 4KiB 75%, 64KiB '
    "25% } 50/50, qd 8 for 1GiB }",
    "flushes": 'test "T" { run random 4KiB 0/100, flush every 1 for 2s }',
    "rests": f'{FILLED}test "T" {{ after filled repeat 3 {{ run random 4KiB 0/100, '
    "qd 32 for 2s\nidle 5s } }",
    "until": f'{FILLED}test "T" {{ after filled run random 4KiB 0/100, qd 32, '
    "until steady iops every 2s, at most 2min }",
}
SUITES = (
    *("ai/checkpoint", "ai/kv_cache", "app/web", "pts/pts_cross_stimulus"),
    *("pts/pts_iops", "pts/pts_write_saturation", "quick/capacity", "quick/laptop"),
)


def on_drives(names):
    """Each on one drive, in turn; on the others it takes long."""
    return [
        pytest.param(name, drive, marks=[pytest.mark.long] * ((n + m) % 3 > 0))
        for n, name in enumerate(names)
        for m, drive in enumerate(DRIVES)
    ]


def drive(name):
    return "--sim", str(ROOT / f"examples/sim/{name}.toml")


def total(*call):
    done = succeed("plan", *call, "--json")
    return json.loads(done.out)["total"]


def refute(bounds, done):
    """What was done outside the bounds, but for one I/O that is over the end."""
    least, most = bounds["at_least"], bounds["at_most"]
    over = {"run_s": 1e-3, "written_bytes": 2 << 20, "drive_writes": 1e-3}
    return [
        f"{name}: {least[name]} to {most[name]}, and {value} done"
        for name, value in done.items()
        if not least[name] - over[name] <= value <= most[name] + over[name]
    ]


@pytest.mark.parametrize(("plan", "name"), on_drives(PLANS))
@pytest.mark.promise("plans.bounds")
def test_what_is_done_lies_within_the_bounds(tmp_path, plan, name):
    """By the rehearsal, which adds up each probe and each preparation."""
    call = plan_file(tmp_path, PLANS[plan]), *drive(name), *SMALL
    assert not refute(total(*call), total(*call, "--rehearse"))


@pytest.mark.parametrize(("suite", "name"), on_drives(SUITES))
def test_of_suites_too(suite, name):
    call = suite, "--profile", "smoke", *drive(name), *SMALL
    assert not refute(total(*call), total(*call, "--rehearse"))


@pytest.mark.long_but_first
@pytest.mark.parametrize("plan", ["mixed", "rests", "duo"])
def test_the_drive_itself_has_written_no_more_and_no_less(tmp_path, plan):
    """By what `run` reports of the drive's life."""
    path = plan_file(tmp_path, PLANS[plan])
    call = "--create", "4GiB", "--json", "--store", tmp_path / "s.db"
    run = succeed("run", path, *drive("datacentre"), *call)
    facts = [line["record"]["backend"]["facts"] for line in run.of("record")]
    written = max(one["host_written_bytes"] for one in facts)
    bounds = total(path, *drive("datacentre"), *SMALL)
    assert not refute(bounds, {"written_bytes": written})


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("run random 4KiB 100/0 for 10s", "1 step, 10 s, 0 B written"),
        ("run random 4KiB 0/100 for 10s", "1 step, 10 s, at least 0 B written"),
        (
            "run random 4KiB 0/100, qd 8, rate 1_000 iops for 10s",
            "1 step, 10 s, at most 41.0 MB written",
        ),
        (
            "run random 4KiB 100/0 for 10s\nrounds until steady iops, at most 25",
            "1 step, 50 s to 4 min 10 s, 0 B written",
        ),
        ("run sequential 1MiB 0/100, 1 pass", "at least 0 s, 1.00 TB written"),
        ("run sequential 1MiB 0/100, 1 pass", "~ on a drive of 1.00 GB/s, 200k IOPS"),
        ("run random 4KiB 100/0 for 10s\nseek knee qd in 1..64", "2 steps, 2.5 s to "),
    ],
)
def test_bounds_of_any_drive_are_told_as_such(tmp_path, test, line):
    """Beside them what an assumed drive would do, said to be so; nothing is "about"."""
    done = ioplan("plan", plan_file(tmp_path, f'test "T" {{\n{test}\n}}'))
    text = " ".join(done.out.split())
    assert line in text and "about" not in text, done.out + done.err
    assert all(len(one) <= 80 for one in done.out.splitlines())


def test_a_known_drive_has_bounds_of_its_own(tmp_path):
    path = plan_file(tmp_path, PLANS["mixed"])
    text = " ".join(ioplan("plan", path, *drive("crosspoint")).out.split())
    assert "on a drive of" not in text and "~" not in text
    assert "about 752 GB written" in text and "≤" in text
    assert "assumed" not in total(path, *drive("crosspoint"))
    assert "assumed" in total(path, *SMALL)


def test_each_profile_has_its_figures():
    """Those of `quick` differ in their least: fewer rounds may do."""
    found = [
        total("pts/pts_iops", "--profile", name, *drive("datacentre"))
        for name in ("full", "quick", "short", "smoke")
    ]
    assert found[0]["at_most"] == found[1]["at_most"]
    least_s = [one["at_least"]["run_s"] for one in found]
    assert sorted(set(least_s), reverse=True) == least_s
    text = ioplan("plan", "pts/pts_iops", "--profile", "quick", *SMALL).out
    assert text != ioplan("plan", "pts/pts_iops", *SMALL).out


def test_a_plan_has_the_capacity_of_the_simulated_drive(tmp_path):
    path = plan_file(tmp_path, PLANS["mixed"])
    for name, size in zip(DRIVES, (512, 375, 1000), strict=True):
        assert total(path, *drive(name))["capacity_bytes"] == size * 10**9
    assert total(path, *drive("client"), *SMALL)["capacity_bytes"] == 4 << 30
    by_name = "--backend", "sim"
    assert total(path, *by_name)["capacity_bytes"] == 64 << 30  # without a file


REFUSED = {
    "beyond": ", region 0%..600GB",
    "small": ", region 0%..1%, size 512KiB",
    "odd": ", align 1000B",
    "fine": ", region 0%..300GB",
}


@pytest.mark.parametrize("clauses", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("capacity", ["", "64MiB", "1000KiB"])
def test_what_run_refuses_plan_refuses_alike(tmp_path, clauses, capacity):
    """With the same words, or neither does."""
    path = plan_file(tmp_path, f'test "T" {{ run random 100/0{clauses} for 10ms }}')
    store = "--store", tmp_path / "s.db"
    sizes = [
        [option, capacity] * bool(capacity) for option in ("--capacity", "--create")
    ]
    plan = ioplan("plan", path, *drive("client"), *sizes[0])
    run = ioplan("run", path, *drive("client"), *sizes[1], *store, "--quiet")
    texts = [
        one.err.split("refused")[-1].replace("--create", "--capacity")
        for one in (plan, run)
    ]
    assert (plan.code, texts[0]) == (run.code, texts[1])
