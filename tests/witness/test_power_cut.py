"""What `verify` says of a device's caches after a cut of the power."""

import shutil
from typing import Any, NamedTuple

import pytest
from command import ioplan, plan_file
from device_parts import short_first

pytestmark = pytest.mark.slow

WRITES = "0/100, qd 4, region 0%..50%"
READS = 'plan "R"\ntest "R" { run sequential 64KiB 100/0, verify, 1 pass }\n'
FLUSH, FUA, NEITHER = "flush every 16", "fua", "data random"
HONEST: dict[str, Any] = {"mode": "volatile"}
LYING: dict[str, Any] = {"mode": "lying"}
REORDERED, TORN = {**HONEST, "reordered": True}, {**HONEST, "torn": "4KiB"}


def verified(folder, disk, promise, block="4KiB"):
    """The fact `verify` of a pass of reads after writes and a cut."""
    write(folder, disk, promise, block)
    return fact_of(read_after_cut(folder, disk))


def fact_of(done):
    record = done.record
    return {"status": record["status"], **record["backend"]["facts"]["verify"]}


def write(folder, disk, promise, block="4KiB"):
    step = f"random {block} {WRITES}, {promise}, verify for 4MiB"
    run(folder, disk, f'plan "W"\ntest "W" {{ run {step} }}\n')


def read_after_cut(folder, disk, reads=READS):
    assert ioplan("device", "cut", disk.folder).code == 0
    return run(folder, disk, reads)


def run(folder, disk, text):
    words = ("--overwrite", disk.disk, "--json", "--store", folder / "store")
    return ioplan("run", plan_file(folder, text), "--target", disk.disk, *words)


def lost(found):
    """The classes of blocks that a promise was broken for, or that are no content."""
    names = ("lost_flushed", "lost_fua", "older_than_durable", "torn", "foreign")
    more = ("misdirected", "stale", "no_stamp", "checksum")
    return {name for name in (*names, *more) if found[name]}


class Told(NamedTuple):
    """What is asked of a cache, and what is found: lost, more than none, and none."""

    cache: dict[str, Any]
    promise: str
    lost: str = ""
    some: str = ""
    none: str = ""


CACHES = {
    "honest, flushed": Told(HONEST, FLUSH),
    "honest, FUA": Told(HONEST, FUA, some="kept", none="rolled_back"),
    "honest": Told(HONEST, NEITHER, some="rolled_back"),
    "no cache": Told({}, NEITHER, some="kept", none="rolled_back"),
    "capacitor": Told({"mode": "capacitor"}, NEITHER, some="kept", none="rolled_back"),
    "reordered": Told(REORDERED, FLUSH),
    "torn in whole blocks": Told(TORN, FUA),
    "FUA ignored, flushed": Told({**HONEST, "fua_ignored": True}, FLUSH),
    "FUA ignored": Told({**HONEST, "fua_ignored": True}, FUA, "lost_fua"),
    "lying": Told(LYING, FLUSH, "lost_flushed", none="reordered"),
    "lying, reordered": Told(
        {**LYING, "reordered": True}, FLUSH, "lost_flushed", some="reordered"
    ),
    "flushes later": Told({**HONEST, "flush_delay": "1min"}, FLUSH, "lost_flushed"),
    "torn": Told({**HONEST, "torn": "256B"}, NEITHER, "torn"),
}
SHORT = ("honest, flushed", "lying", "lying, reordered")


@pytest.mark.parametrize("name", short_first(CACHES, SHORT))
@pytest.mark.promise("durability.not_accused", "durability.broken")
def test_a_broken_promise_and_no_other_is_named_and_fails_the_run(
    name, device, tmp_path
):
    told = CACHES[name]
    found = verified(tmp_path, device(cache=told.cache), told.promise)
    assert lost(found) == {*filter(None, [told.lost])}, found
    assert found["status"] == ("failed" if told.lost else "ok"), found
    assert found["reordered"] <= found["lost_flushed"]
    assert not told.some or found[told.some] > 0, found
    assert not told.none or found[told.none] == 0, found
    if told.lost.startswith("lost"):
        assert "was written last" in found["first"][0]["what"]


@pytest.mark.long
@pytest.mark.parametrize("cache", [HONEST, REORDERED, TORN], ids=str)
def test_no_seed_of_a_device_has_it_accused(cache, device, tmp_path):
    for seed in range(2, 12):
        one = device(cache=cache, seed=seed)
        found = verified(tmp_path, one, FLUSH, block="16KiB")
        assert lost(found) == set() and found["promised_by_flush"] > 0, (seed, found)


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cache", "unit_bytes"),
    [(TORN, 4096), ({**HONEST, "torn": "16KiB"}, 0), (REORDERED, 0)],
    ids=str,
)
def test_torn_writes_are_counted_with_their_unit_and_no_error(
    cache, unit_bytes, device, tmp_path
):
    found = verified(tmp_path, device(cache=cache), NEITHER, block="16KiB")
    assert lost(found) == set() and found["status"] == "ok", found
    assert (found["torn_writes"] > 0) is (unit_bytes > 0), found
    assert found["torn_unit_bytes"] == unit_bytes


def test_what_survived_can_be_expected(device, tmp_path):
    expects = "expect lost_flushed == 0 expect rolled_back > 0 expect kept == 1"
    reads = READS.replace("1 pass }", f"1 pass {expects} }}")
    one = device(cache=HONEST)
    write(tmp_path, one, NEITHER)
    done = read_after_cut(tmp_path, one, reads)
    verdicts = [v["outcome"] for v in done.record["verdicts"]]
    assert verdicts == ["undecided", "held", "failed"], "nothing was promised"
    assert done.code == 1, done.out[-2000:]
    calm = plan_file(tmp_path, reads.replace("verify, ", ""), "calm.ioplan")
    words = ("--target", one.disk, "--store", tmp_path / "store")
    assert "no block was judged" in ioplan("run", calm, *words).out


def test_without_the_journal_nothing_is_accused(device, tmp_path):
    one = device(cache=LYING)
    write(tmp_path, one, FLUSH)
    shutil.rmtree(tmp_path / "state/ioplan/stamps")
    assert lost(fact_of(read_after_cut(tmp_path, one))) == set()
