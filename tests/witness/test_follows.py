"""`follows`: no write of a stream before its entry of the log is durable."""

from typing import Any

import numpy as np
import pytest
from command import ioplan, plan_file

from ioplan_witness import read_log

pytestmark = pytest.mark.slow

HALF = 2 << 20
WRITES = """
workload wal {{
  log  = sequential 4KiB 0/100, {log}, region 0%..50%
  data = random 4KiB 0/100, qd 4 each, threads 2, region 50%..100%{data}
}}
test "W" {{ run wal{verify} for 1s }}
"""
READS = 'test "R" { run sequential 64KiB 100/0, verify, 1 pass }\n'
SLOW_LOG: dict[str, Any] = {
    "latency": [
        {"direction": "write", "range": ["0B", "2MiB"], "shape": "fixed", "value": "2ms"},
        {"direction": "flush", "shape": "fixed", "value": "4ms"},
    ]
}  # fmt: skip
WRITE, FLUSH = 1, 2
FOLLOWS = ", follows log"


def run(folder, one, text):
    plan = plan_file(folder, text)
    words = ("--target", one.disk, "--overwrite", one.disk, "--json")
    done = ioplan("run", plan, *words, "--store", folder / "store")
    assert done.code != 2, done.err
    return done.records


def wal(log, data=FOLLOWS, verify=""):
    return WRITES.format(log=log, data=data, verify=verify)


def too_early(one):
    """Of how many data writes how many arrived before their entry was durable.

    By the device's own log, which knows nothing of the engine's counts.
    """
    one.tell("flush-log")
    seen = read_log(one.log)
    ended = seen["done_ns"]
    of_log = (seen["kind"] == WRITE) & (seen["offset"] < HALF)
    durable = np.sort(ended[of_log & (seen["fua"] > 0)])
    if not durable.size:  # an entry is durable at the end of the next flush
        flushes = np.sort(seen["arrived_ns"][seen["kind"] == FLUSH])
        ends = np.sort(ended[seen["kind"] == FLUSH])
        first = np.searchsorted(flushes, np.sort(ended[of_log]))
        durable = ends[first[first < ends.size]]
    data = (seen["kind"] == WRITE) & (seen["offset"] >= HALF)
    arrived = np.sort(seen["arrived_ns"][data])
    entries = np.searchsorted(durable, arrived)
    return int((entries < np.arange(1, arrived.size + 1)).sum()), arrived.size


@pytest.mark.parametrize("log", ["fua", "flush every 4", "qd 4, flush every 8"])
@pytest.mark.long
def test_no_write_arrives_before_its_entry_is_durable(log, device, tmp_path):
    one = device(**SLOW_LOG)
    (record,) = run(tmp_path, one, wal(log))
    assert record["status"] == "ok", record["message"]
    early, of = too_early(one)
    assert of > 50 and early == 0


@pytest.mark.long
def test_without_the_word_the_writes_are_early(device, tmp_path):
    one = device(**SLOW_LOG)
    run(tmp_path, one, wal("fua", ""))
    early, of = too_early(one)
    assert early > of / 2


def after_cut(folder, one, log, data=FOLLOWS):
    """The fact `verify` of reads after a cut."""
    run(folder, one, wal(log, data, ", verify"))
    assert ioplan("device", "cut", one.folder).code == 0
    (record,) = run(folder, one, READS)
    return {**record["backend"]["facts"]["verify"], "message": record["message"]}


LYING = {"mode": "lying", "reordered": True}
IGNORES = {"mode": "volatile", "fua_ignored": True, "reordered": True}


@pytest.mark.parametrize(
    ("cache", "log", "lost"),
    [(LYING, "flush every 4", "lost_flushed"), (IGNORES, "fua", "lost_fua")],
)
@pytest.mark.long
def test_a_log_that_is_lost_was_overtaken(cache, log, lost, device, tmp_path):
    found = after_cut(tmp_path, device(cache=cache), log)
    assert 0 < found["overtaken"] <= found["reordered"] <= found[lost], found
    assert (
        "are entries of a log, and writes survived that follow it" in found["message"]
    )


@pytest.mark.parametrize(
    ("cache", "log", "data"),
    [
        ({"mode": "volatile", "reordered": True}, "flush every 4", FOLLOWS),
        ({"mode": "volatile", "reordered": True}, "fua", FOLLOWS),
        ({"mode": "lying"}, "flush every 4", FOLLOWS),
        (LYING, "flush every 4", ""),
    ],
    ids=["honest with flushes", "honest with FUA", "lying in order", "no follower"],
)
@pytest.mark.long
def test_who_keeps_the_order_is_not_accused_of_breaking_it(
    cache, log, data, device, tmp_path
):
    found = after_cut(tmp_path, device(cache=cache), log, data)
    assert found["overtaken"] == 0, found
    assert (found["lost_flushed"] + found["lost_fua"] > 0) is (cache["mode"] == "lying")
