"""Claims of io_uring on a scripted device that is fast until a budget is spent, as a
drive with a cache and erased blocks is."""

import os
import re
import time

import pytest
from command import ioplan, plan_file
from device_parts import short_first
from fooled import claims, interrupted, last_records

pytestmark = pytest.mark.slow

BLOCKS, SUSTAINED, BURST = 1024, 2_000, 1_500
"""A device of 4 MiB: one and a half capacities come at once."""
HEAD = "on unsteady continue\n"
ERASED = "precondition p { purge }\n"
FILLED = "precondition p { purge write sequential 64KiB, qd 4, 1 pass\n"
WRITE = "run random 4KiB 0/100, qd 4"
UNTIL = ", until steady iops every 100ms, at most %s passes }\n"
WAYS = {
    "erased": f'{ERASED}test "T" {{ after p {WRITE}{UNTIL % 8}',
    "erased, and two passes": f'{ERASED}test "T" {{ after p {WRITE}'
    + UNTIL.replace("at most", "at least 2 passes, at most") % 8,
    "half full": (
        "precondition p { purge write sequential 64KiB, qd 4, region 0%..50%, 1 pass }\n"
        f'test "T" {{ after p {WRITE}, region 0%..50%{UNTIL % 10}'
    ),
    "a small region": (
        "precondition p { purge write random 4KiB, qd 4, region 0%..10%, 4 passes }\n"
        f'test "T" {{ after p {WRITE}, region 0%..10%{UNTIL % 60}'
    ),
    "two regions": (
        f"{FILLED} write random 4KiB, qd 4, region 0%..50%, 1 pass }}\n"
        f'test "T" {{ after p {WRITE}, region 50%..100%{UNTIL % 10}'
    ),
    "nothing known": f'test "T" {{ {WRITE}{UNTIL % 3}',
}


def started(device):
    throttle = {"iops": f"{SUSTAINED} iops", "burst_ios": BURST}
    return device(size=f"{BLOCKS * 4}KiB", throttle=throttle)


def call_on(one, store):
    target = ("--target", one.disk, "--overwrite", one.disk)
    return (*target, "--interval", "50ms", "--store", store)


def ran(one, folder, text, *more):
    """What a session prints, in one line."""
    plan = plan_file(folder, HEAD + text)
    done = ioplan("run", plan, *call_on(one, folder / "store"), *more)
    assert done.code in (0, 1), done.err
    return " ".join(done.out.split())


def on_device(one, folder, text, *more):
    ran(one, folder, text, *more)
    return claims(last_records(folder / "store"))[-1]


@pytest.mark.parametrize("way", short_first(WAYS, ("erased", "two regions")))
@pytest.mark.promise("steady.account")
def test_nothing_is_called_steady_that_does_not_last(way, device, tmp_path):
    claim = on_device(started(device), tmp_path, WAYS[way])
    print(f"| {way} | device | {claim.claim} | {claim.mean:.4g} | {SUSTAINED} |")
    assert not claim.is_steady or claim.mean <= 1.1 * SUSTAINED
    assert claim.is_steady or way not in ("erased", "erased, and two passes")


def test_a_steady_device_is_not_refused_nor_in_a_later_session(device, tmp_path):
    one = started(device)
    text = f"{FILLED} write random 4KiB, qd 4, 2 passes }}\n"
    text += f'test "T" {{ after p {WRITE}{UNTIL % 8}'
    assert on_device(one, tmp_path, text).is_steady
    again = f'test "T" {{ {WRITE}{UNTIL % 5}'
    claim = on_device(one, tmp_path, again)
    assert claim.is_steady and claim.mean <= 1.1 * SUSTAINED


@pytest.mark.long_but_first
@pytest.mark.parametrize("share", [1, 0, 0.01], ids=["all", "nothing", "a little"])
@pytest.mark.promise("steady.unknown")
def test_what_another_program_writes_between_sessions_ends_what_is_known(
    share, device, tmp_path
):
    """After a rest the device is as fast as erased, for more than a pass."""
    throttle = {"iops": "2_000 iops", "burst_ios": 12_000}
    one = device(size="16MiB", throttle=throttle)
    fill = f"{FILLED} write random 4KiB, qd 4, 2 passes }}\n"
    on_device(one, tmp_path, f'{fill}test "T" {{ after p {WRITE}{UNTIL % 2}')
    with one.disk.open("r+b") as disk:
        disk.write(os.urandom(int(share * (16 << 20))))
    time.sleep(6)
    until = ", until steady iops every 50ms, at most 1 passes, over 3, range 100%"
    text = f'test "T" {{ {WRITE}, rate 6_000 iops{until}, slope 100% }}'
    claim = on_device(one, tmp_path, text, "--overwrite-data", one.disk)
    state = last_records(tmp_path / "store")[-1].state
    assert state
    if not share:
        assert state.since == "purge" and state.written_capacities > 3
        return
    print(f"| written by others | device | {claim.claim} | {claim.mean:.4g} |")
    assert state.since == "" and state.written_capacities <= 1.1
    assert claim.mean > 1.1 * SUSTAINED
    assert claim.claim.startswith("not steady: settled within")
    assert re.search("written in known history|overwritten at random", claim.claim)


@pytest.mark.long
def test_a_pause_gives_back_what_flows_in_meanwhile(device, tmp_path):
    """Writes may burst by 8,000 I/Os, and 2,000 more come back each second."""
    one = device(size="64MiB", throttle={"iops": "2_000 iops", "burst_ios": 8_000})
    run = "run random 4KiB 0/100, qd 4 for 3s as"
    text = f'test "T" {{ {run} first\nidle 2s\n{run} again\nheadline again.iops }}'
    told = ran(one, tmp_path, text)
    found = re.search(r"regained in (.*?) s without I/O: ([\d.]+) MB/s", told)
    assert found, told
    assert float(found[1]) >= 2
    assert 1 <= float(found[2]) / (2_000 * 4096 / 1e6) <= 2  # more flow in in the burst


def test_a_resumed_session_claims_no_more(device, tmp_path):
    one, store = started(device), tmp_path / "store"
    plan = plan_file(tmp_path, HEAD + WAYS["erased"])
    interrupted(plan, *call_on(one, store), store=store)
    claim = claims(last_records(store))[-1]
    assert claim.is_steady and claim.mean <= 1.1 * SUSTAINED
