"""What a device does by its script, and what its log has of it."""

import ctypes
import errno
import os
import signal
import statistics
import threading
import time
import tomllib
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from command import ioplan, refuse
from paths import ROOT

from ioplan_witness import DeviceError, Script, read_log, seen
from targets import server_of

pytestmark = [pytest.mark.slow, pytest.mark.machine]
BLOCK = 4096


@contextmanager
def opened(device, flags=0):
    disk = os.open(device.disk, os.O_RDWR | flags)
    try:
        yield disk
    finally:
        os.close(disk)


def entries(device, kind):
    found = seen(device)
    return found[found["kind"] == kind]


def refused(do):
    with pytest.raises(OSError) as error:
        do()
    assert error.value.errno
    return errno.errorcode[error.value.errno]


def test_each_io_is_logged_as_it_was(device):
    one, noise = device(), os.urandom(BLOCK)
    with opened(one) as disk:
        before_ns = time.monotonic_ns()
        os.pwrite(disk, noise, 2 * BLOCK)
        os.pwrite(disk, bytes(2 * BLOCK), 8 * BLOCK)
        assert os.pread(disk, BLOCK, 2 * BLOCK) == noise
        os.fsync(disk)
        after_ns = time.monotonic_ns()
    found = seen(one)
    assert found["kind"].tolist() == [1, 1, 0, 2]
    assert found["offset"].tolist() == [2 * BLOCK, 8 * BLOCK, 2 * BLOCK, 0]
    assert found["size"].tolist() == [BLOCK, 2 * BLOCK, BLOCK, 0]
    assert found["digest"][0] == found["digest"][2] != found["digest"][1]
    bits = found["entropy"] / 256
    assert bits[0] > 7.9 and bits[1] == 0 and found["zeros"][1] == 65535
    assert set(found["thread"].tolist()) == {threading.get_native_id()}
    assert before_ns <= found["arrived_ns"].min() <= found["done_ns"].max() <= after_ns


def test_writes_through_a_dsync_file_are_told_from_others(device):
    one = device()
    with opened(one) as plain, opened(one, os.O_DSYNC) as synced:
        os.pwrite(plain, bytes(BLOCK), 0)
        os.pwrite(synced, bytes(BLOCK), 0)
    assert entries(one, 1)["fua"].tolist() == [0, 1]


def test_latencies_are_those_of_the_first_rule_that_holds(device):
    one = device(
        latency=[
            {"direction": "write", "value": "20ms"},
            {"size": ["8KiB", "8KiB"], "value": "10ms"},
            {
                "range": ["1MiB", "2MiB"],
                "shape": "uniform",
                "low": "4ms",
                "high": "6ms",
            },
        ]
    )
    with opened(one) as disk:
        for _ in range(9):
            os.pwrite(disk, bytes(BLOCK), 0)
            os.pread(disk, 2 * BLOCK, 0)
            os.pread(disk, BLOCK, 1 << 20)
            os.pread(disk, BLOCK, 0)
    found = seen(one)
    scripted_ns = found["due_ns"] - found["arrived_ns"]
    assert set(scripted_ns[found["kind"] == 1].tolist()) == {20_000_000}
    assert set(scripted_ns[found["size"] == 2 * BLOCK].tolist()) == {10_000_000}
    drawn_ns = scripted_ns[found["offset"] == 1 << 20]
    assert drawn_ns.min() >= 4_000_000 and drawn_ns.max() <= 6_000_000
    assert len(set(drawn_ns.tolist())) == 9
    late_ns = (
        found["done_ns"].astype(np.int64) - found["due_ns"].astype(np.int64)
    ).tolist()
    assert min(late_ns) >= 0
    assert statistics.median(late_ns) < 300_000


def test_a_slow_io_delays_no_other(device):
    one = device(latency=[{"range": ["0B", "4KiB"], "value": "800ms"}])
    with opened(one) as disk:
        slow = threading.Thread(target=os.pread, args=(disk, BLOCK, 0))
        slow.start()
        while not one_is_under_way(one, disk):
            pass
        assert slow.is_alive(), "the quick reads waited for the slow one"
        slow.join()
    found = seen(one)
    (long_one,) = found[found["offset"] == 0]
    others = found[found["offset"] > 0]
    assert (others["done_ns"] < long_one["done_ns"]).all()
    assert others["depth"].max() == 2


def one_is_under_way(device, disk):
    os.pread(disk, BLOCK, 1 << 20)
    return bool((seen(device)["depth"] > 1).any())


def test_the_same_seed_draws_the_same_latencies(device):
    def drawn(seed):
        rule = {"shape": "lognormal", "median": "50us", "sigma": 1.0}
        one = device(seed=seed, latency=[rule])
        with opened(one) as disk:
            for _ in range(50):
                os.pread(disk, BLOCK, 0)
        found = seen(one)
        times: list[int] = (found["due_ns"] - found["arrived_ns"]).tolist()
        return times

    first = drawn(7)
    assert first == drawn(7) != drawn(8)
    assert len(set(first)) > 45


def test_errors_come_at_their_number_and_place(device):
    one = device(
        fault=[
            {"direction": "read", "error": "EIO", "nth": 3, "every": 2, "times": 2},
            {"range": ["1MiB", "2MiB"], "error": "EREMOTEIO", "every": 1},
        ]
    )
    with opened(one) as disk:
        reads = [lambda: os.pread(disk, BLOCK, 0)] * 8
        assert [errors_of(read) for read in reads] == [0, 0, 5, 0, 5, 0, 0, 0]
        for place in ((1 << 20) - 512, (2 << 20) - 512):
            at_edge = partial(os.pwrite, disk, bytes(1024), place)
            assert refused(at_edge) == "EREMOTEIO"
        assert os.pwrite(disk, bytes(512), 2 << 20) == 512
    assert (seen(one)["errno"] > 0).sum() == 4


def errors_of(do):
    try:
        do()
    except OSError as error:
        return error.errno or 0
    return 0


def test_an_error_without_more_comes_once(device):
    one = device(fault=[{"error": "EIO"}])
    with opened(one) as disk:
        assert [errors_of(lambda: os.pread(disk, 512, 0)) for _ in range(3)] == [
            5,
            0,
            0,
        ]


def test_short_io_moves_a_part(device):
    one = device(fault=[{"short": "512B", "every": 1}])
    with opened(one) as disk:
        assert os.pwrite(disk, b"x" * BLOCK, 0) == 512
        assert os.pread(disk, BLOCK, 0) == b"x" * 512
    assert seen(one)["moved"].tolist() == [512, 512]


def test_corrupt_reads_are_wrong_and_the_data_is_not(device):
    one = device(fault=[{"corrupt": True, "nth": 2}])
    with opened(one) as disk:
        got = [os.pread(disk, BLOCK, 0) for _ in range(3)]
    assert got[0] == got[2] == bytes(BLOCK) != got[1]


def test_a_lying_size_has_no_data_at_its_end(device):
    one = device(reported_size="8MiB")
    with opened(one) as disk:
        assert os.fstat(disk).st_size == 8 << 20
        assert os.pread(disk, BLOCK, 6 << 20) == b""
        assert refused(lambda: os.pwrite(disk, bytes(BLOCK), 6 << 20)) == "ENOSPC"


def test_read_only_and_vanished_devices(device):
    one = device(read_only_after="0s")
    with opened(one) as disk:
        assert os.pread(disk, 4, 0) == bytes(4)
        assert refused(lambda: os.pwrite(disk, b"x", 0)) == "EROFS"
        assert refused(lambda: punch(disk, 0, BLOCK)) == "EROFS"
    gone = device(vanish_after="400ms")
    with opened(gone) as disk:
        os.pread(disk, 4, 0)
        time.sleep(0.5)
        assert refused(lambda: os.pread(disk, 4, 0)) == "ENODEV"
    assert refused(lambda: os.open(gone.disk, os.O_RDONLY)) in ("ENOENT", "ENXIO")


def test_a_throttle_lets_a_burst_pass_and_then_its_rate(device):
    one = device(throttle={"iops": "100 iops", "burst_ios": 20})
    with opened(one) as disk:
        for _ in range(40):
            os.pread(disk, 512, 0)
    times_ns = seen(one)["done_ns"]
    assert times_ns[18] - times_ns[0] < 50_000_000
    assert times_ns[39] - times_ns[19] >= 180_000_000
    assert times_ns[39] - times_ns[0] < 600_000_000


def test_a_throttle_of_bytes_counts_bytes(device):
    one = device(throttle={"bandwidth": "1MiB/s", "burst": "1MiB"})
    with opened(one) as disk:
        for _ in range(5):
            os.pread(disk, 256 << 10, 0)
    waits_ns = (seen(one)["due_ns"] - seen(one)["arrived_ns"]).tolist()
    assert waits_ns[:4] == [0, 0, 0, 0] and 200_000_000 < waits_ns[4] <= 250_000_000


def test_a_stall_holds_what_arrives_in_it(device):
    one = device(stall=[{"at": "0s", "length": "300ms", "every": "10s"}])
    with opened(one) as disk:
        os.pread(disk, 512, 0)
        os.pread(disk, 512, 0)
    scripted_ns = (seen(one)["due_ns"] - seen(one)["arrived_ns"]).tolist()
    assert 0 < scripted_ns[0] <= 300_000_000 and scripted_ns[1] == 0


def punch(disk, offset, size):
    """Python has no name for it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    if libc.fallocate(disk, 3, offset, size):
        raise OSError(ctypes.get_errno(), "fallocate")


def test_discards_are_logged_and_read_as_zeros(device):
    one = device()
    with opened(one) as disk:
        os.pwrite(disk, b"x" * 2 * BLOCK, 0)
        punch(disk, BLOCK, BLOCK)
        assert os.pread(disk, 2 * BLOCK, 0) == b"x" * BLOCK + bytes(BLOCK)
    (entry,) = entries(one, 3)
    assert (entry["offset"], entry["size"]) == (BLOCK, BLOCK)


CACHES: dict[str, tuple[dict[str, Any], bytes]] = {
    "write-through": ({"mode": "write-through"}, b"ffuu"),
    "volatile": ({"mode": "volatile"}, b"ff\0u"),
    "FUA ignored": ({"mode": "volatile", "fua_ignored": True}, b"ff\0\0"),
    "lying": ({"mode": "lying"}, b"\0\0\0u"),
    "capacitor": ({"mode": "capacitor"}, b"ffuu"),
    "flushes later": ({"mode": "volatile", "flush_delay": "1min"}, b"\0\0\0u"),
    "flushes soon": ({"mode": "volatile", "flush_delay": "1ns"}, b"ff\0u"),
    "small": ({"mode": "volatile", "size": "4KiB"}, b"ffuu"),
}


@pytest.mark.parametrize("kind", CACHES)
def test_a_cut_takes_what_the_cache_says(kind, device):
    """Two flushed blocks, one after them, and one with FUA."""
    cache, left = CACHES[kind]
    one = device(cache=cache)
    with opened(one) as disk, opened(one, os.O_DSYNC) as synced:
        for place in (0, 1):
            os.pwrite(disk, b"f" * BLOCK, place * BLOCK)
        os.fsync(disk)
        os.pwrite(disk, b"u" * BLOCK, 2 * BLOCK)
        os.pwrite(synced, b"u" * BLOCK, 3 * BLOCK)
        assert os.pread(disk, 4 * BLOCK, 0)[::BLOCK] == b"ffuu"
        one.tell("cut")
        assert os.pread(disk, 4 * BLOCK, 0)[::BLOCK] == left


def test_a_fua_write_over_a_cached_one_survives(device):
    one = device(cache={"mode": "volatile"})
    with opened(one) as disk, opened(one, os.O_DSYNC) as synced:
        os.pwrite(disk, b"a" * BLOCK, 0)
        os.pwrite(synced, b"b" * 512, 512)
        os.pwrite(disk, b"c" * BLOCK, 0)
        one.tell("cut")
        assert os.pread(disk, BLOCK, 0)[::512] == b"\0b\0\0\0\0\0\0"


def test_torn_writes_survive_in_whole_units(device):
    one = device(cache={"mode": "volatile", "torn": "512B"})
    with opened(one) as disk:
        for place in range(64):
            os.pwrite(disk, b"w" * BLOCK, place * BLOCK)
        one.tell("cut")
        left = os.pread(disk, 64 * BLOCK, 0)
    kept = [left[at : at + BLOCK].count(b"w") for at in range(0, len(left), BLOCK)]
    assert all(count % 512 == 0 for count in kept) and len(set(kept)) > 4


def test_reordered_writes_survive_by_chance_and_by_the_seed(device):
    def survivors(seed):
        one = device(seed=seed, cache={"mode": "volatile", "reordered": True})
        with opened(one) as disk:
            for place in range(64):
                os.pwrite(disk, b"w" * 512, place * 512)
            one.tell("cut")
            return os.pread(disk, 64 * 512, 0)[::512]

    first = survivors(3)
    assert 10 < first.count(b"w") < 54
    assert first == survivors(3) != survivors(4)


def test_data_may_be_kept_in_a_file(device, tmp_path):
    backing = tmp_path / "data.img"
    one = device(backing=str(backing))
    with opened(one) as disk:
        os.pwrite(disk, b"kept", BLOCK)
    one.stop()
    assert backing.stat().st_size == 4 << 20
    with opened(device(backing=str(backing))) as disk:
        assert os.pread(disk, 4, BLOCK) == b"kept"


@pytest.mark.parametrize("size", [1, (4 << 20) - 512, (4 << 20) + 1])
def test_a_file_that_is_there_is_not_cut(device, tmp_path, size):
    backing = tmp_path / "photos.img"
    backing.write_bytes(b"p" * size)
    with pytest.raises(DeviceError, match="exists, and is no file of 4194304 B"):
        device(backing=str(backing))
    assert backing.read_bytes() == b"p" * size


def test_only_a_log_is_replaced(device, tmp_path):
    precious = tmp_path / "device0.iolog"
    precious.write_text("a year of work")
    with pytest.raises(DeviceError, match="exists and is no log of a device"):
        device()
    assert precious.read_text() == "a year of work"


def test_a_signal_ends_it_and_leaves_no_mount(device):
    one = device()
    disk = os.open(one.disk, os.O_RDONLY)
    os.kill(int(server_of(one)), signal.SIGTERM)
    until_s = time.monotonic() + 5
    while one.folder.is_mount() and time.monotonic() < until_s:
        time.sleep(0.01)
    with suppress(OSError):  # its server is gone
        os.close(disk)
    assert not one.folder.is_mount()
    with pytest.raises(DeviceError, match="no device runs in"):
        one.tell("cut")


def test_a_second_device_in_its_folder_is_refused(device, tmp_path):
    one = device()
    script = tmp_path / "script.toml"
    script.write_text("size = '1MiB'")
    assert ioplan("device", "start", script, "-o", one.folder).code != 0
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    assert ioplan("device", "start", script, "-o", tmp_path / "full").code != 0
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["file"]


def test_the_log_is_shown_and_written_as_parquet(device, tmp_path):
    one = device()
    with opened(one) as disk:
        for place in range(10):
            os.pwrite(disk, bytes(BLOCK), place * BLOCK)
    shown = ioplan("device", "log", one.folder)
    assert shown.code == 0 and "write" in shown.out
    table = tmp_path / "log.parquet"
    assert ioplan("device", "log", one.folder, "--parquet", table).code == 0
    found = pq.read_table(table).to_pydict()
    assert found["offset_bytes"] == [place * BLOCK for place in range(10)]
    assert found["kind"] == ["write"] * 10 and found["zero_share"] == [1.0] * 10


def test_what_is_no_log_is_said_so(tmp_path):
    (tmp_path / "other").write_bytes(b"something else")
    with pytest.raises(DeviceError, match="is no log of a device"):
        read_log(tmp_path / "other")


# scripts

WRONG = {
    "": "size: Field required",
    "size = 5": "size: 5 is not a size; write for example '4KiB'",
    "size = '1MiB'\nsise = 1": "sise: there is no such key, did you mean 'size'",
    "size = '1MiB'\n[[latency]]\nvalue = '4KiB'": "latency.1.value: '4KiB' is a size, not a time",
    "size = '1MiB'\n[[latency]]\nvalu = '4ms'": "latency.1.valu: there is no such key, did you mean 'value'",
    "size = '1MiB'\n[[latency]]\nshape = 'normal'\nmean = '1ms'": "latency.1: shape 'normal' needs 'deviation'",
    "size = '1MiB'\n[[latency]]\nvalue = '1ms'\nmean = '1ms'": "latency.1: shape 'fixed' has no 'mean'",
    "size = '1MiB'\n[[latency]]\nshape = 'uniform'\nlow = '2ms'\nhigh = '1ms'": "low is above high",
    "size = '1MiB'\n[[latency]]\nvalue = '1ms'\nsize = ['8KiB', '4KiB']": "size: its first end is beyond its second",
    "size = '1MiB'\n[[latency]]\nshape = 'values'\nvalues = ['1ms']\nweights = [1, 2]": "as many of one as of the other",
    "size = '1MiB'\n[[fault]]\nerror = 'EOI'": "fault.1: error: 'EOI' is no errno",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nshort = '512B'": "a fault has one of",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nnth = 0": "fault.1.nth: Input should be greater",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nnth = 1.5": "fault.1.nth",
    "size = '1MiB'\n[[stall]]\nat = '1s'\nlength = '2s'\nevery = '1s'": "the next stall begins",
    "size = '1MiB'\n[throttle]\nburst_ios = 4": "throttle: burst_ios: there is no rate",
    "size = '1MiB'\n[cache]\nmode = 'write-back'": "cache.mode: Input should be",
    "size = '1MiB'\n[cache]\ntorn = '512B'": "a write-through cache loses nothing",
    "size = '1MiB'\nsize = '2MiB'": "is not TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_each_wrong_key_of_a_script_is_named(text, tmp_path):
    path = tmp_path / "script.toml"
    path.write_text(text)
    refuse(WRONG[text], "device", "start", path, "-o", tmp_path / "device")


@pytest.mark.parametrize("name", ["slow", "throttled"])
def test_the_examples_are_right(name):
    text = (ROOT / f"examples/{name}.toml").read_text()
    assert Script.model_validate(tomllib.loads(text)).size == 256 << 20
