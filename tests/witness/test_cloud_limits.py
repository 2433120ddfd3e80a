"""The suite `cloud/limits` on the scripted device's bucket, where the truth is known."""

import re

import pytest
from calm import needs_idle_cpu
from command import ioplan, plan_file, succeed

pytestmark = pytest.mark.slow

# before a run 256 blocks are read, to know whether anything is written there
BUCKETS = {
    "small": ({"iops": "500 iops", "burst_ios": 6_000}, "L1 IOPS", 500, 6_000, ""),
    "fast": ({"iops": "1_200 iops", "burst_ios": 6_000}, "L1 IOPS", 1_200, 6_000, ""),
    "bytes": (*({"bandwidth": "40MB/s", "burst": "100MB"}, "L2 bandwidth", 40e6, 100e6), "_bandwidth"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", BUCKETS)
@needs_idle_cpu(50)
def test_limit_burst_and_refill_are_found(name, device, tmp_path):
    throttle, test, limit, size, unit = BUCKETS[name]
    one = device(size="64MiB", throttle=throttle)
    times = {"drain": "12s", "rest": "2s", "again": "8s", "depth": "8"}
    sets = [
        word for key, value in times.items() for word in ("--set", f"{key}={value}")
    ]
    promise = f"promised{unit or '_iops'}={limit * 0.95:.0f}{'B/s' if unit else 'iops'}"
    succeed(
        *("run", "cloud/limits", "--target", one.disk, "--test", test, *sets),
        *("--set", promise, "--interval", "500ms", "--json"),
        *("--store", tmp_path / "store"),
    )
    found = figures(tmp_path / "store", unit)
    assert found["limit"] == pytest.approx(limit, rel=0.05)
    assert found["burst"] == pytest.approx(size, rel=0.05)
    assert found["refill"] == pytest.approx(limit, rel=0.05)


FOUND = re.compile(
    r"sustains (\S+) IOPS \((\S+) MB/s\) after a burst of (\S+) I/Os \((\S+) MB\)"
    r".* (\S+) I/Os were back: (\S+) a second"
)


def figures(store, unit):
    """What the report says of the two runs; of bytes in those of 256 KiB."""
    shown = " ".join(ioplan("show", "--tables", "--store", store).out.split())
    found = FOUND.search(shown)
    assert found, shown
    iops, megabytes, burst, burst_megabytes, _, refill = map(number, found.groups())
    if unit:
        limit, size = megabytes * 1e6, burst_megabytes * 1e6
        return {"limit": limit, "burst": size, "refill": refill * (256 << 10)}
    return {"limit": iops, "burst": burst, "refill": refill}


def number(text):
    """As it is shown, perhaps with a `k`."""
    return float(text.rstrip("k").replace(",", "").replace("_", "")) * (
        1000 if text.endswith("k") else 1
    )


@pytest.mark.long
def test_a_promise_that_is_not_kept_fails(device, tmp_path):
    one = device(size="64MiB", throttle={"iops": "400 iops", "burst_ios": 800})
    values = ("rest=1s", "again=4s", "promised_iops=1000iops", "drain=6s")
    sets = [word for value in values for word in ("--set", value)]
    done = ioplan(
        *("run", "cloud/limits", "--target", one.disk, "--test", "L1*", *sets),
        *("--interval", "250ms", "--store", tmp_path / "store"),
    )
    assert done.code == 1 and "drained.sustained" in done.out


READS = """test "R" {{
  run random 4KiB 100/0, qd 8{rate} for 8s
}}
"""
SLOW_BUCKET = {"iops": "500 iops", "burst_ios": 8_000}
WARNED = {"closed": ("", True), "below the limit": (", rate 300 iops", False)}


@pytest.mark.long
@pytest.mark.parametrize("name", WARNED)
@needs_idle_cpu(50)
def test_other_plans_are_warned_of_a_burst_that_ran_out(name, device, tmp_path):
    rate, warned = WARNED[name]
    one = device(size="64MiB", latency=[{"value": "1ms"}], throttle=SLOW_BUCKET)
    done = ioplan(
        *("run", plan_file(tmp_path, READS.format(rate=rate))),
        *("--target", one.disk, "--interval", "250ms", "--json"),
        *("--store", tmp_path / "store"),
    )
    warnings = done.record["warnings"]
    assert any("burst credits" in text for text in warnings) == warned, warnings
