"""bdevperf's text and replies, as recorded and as garbage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spdk_jobs import RECORDINGS

from ioplan.results.measure import bucket_index, no_bins
from ioplan_spdk.bdevperf.device_statistics import counters
from ioplan_spdk.bdevperf.exits import CODES, why
from ioplan_spdk.bdevperf.outcome import NotBegun, UnsoundTest, checked_outcome
from ioplan_spdk.bdevperf.ticks import (
    apportioned,
    dense,
    printed,
    printed_jobs,
    shaped,
    within,
)
from ioplan_spdk.rpc.client import BadReply

RATE = 2_600_000_000
NAMES = [name for name, one in RECORDINGS.items() if "stderr" in one.input]


def entries(name: str, method: str) -> Iterator[dict[str, Any]]:
    for entry in RECORDINGS[name].input.get("rpc", ()):
        if entry.get("method") == method:
            yield entry


def results(name: str, method: str) -> list[Any]:
    found = entries(f"rpc/{name}", method)
    return [entry["result"] for entry in found if "result" in entry]


@pytest.mark.parametrize("name", NAMES)
def test_every_transcript_is_survived(name: str) -> None:
    recorded = RECORDINGS[name].input
    printed_text = recorded.get("stdout", "")
    told = why(recorded.get("code"), recorded["stderr"] + printed_text)
    assert told and "\n" not in told
    for jobs in printed_jobs(printed_text):
        for one in jobs:
            assert printed(one.buckets, RATE).sum() == sum(n for *_, n in one.buckets)
    for entry in entries(name, "perform_tests"):
        judge(entry)
    for entry in entries(name, "bdev_get_iostat"):
        device = (entry.get("params") or {}).get("name", "")
        take(lambda e=entry, n=device: counters(e.get("result"), n, "read"))
    for entry in entries(name, "bdev_get_histogram"):
        take(lambda e=entry: dense(e.get("result")))


def judge(entry: dict[str, Any]) -> None:
    asked = {"time_in_sec": 1, **(entry.get("params") or {})}
    take(lambda: checked_outcome(entry.get("result"), asked, ended=False))


def take(read: Any) -> None:
    try:
        read()
    except (BadReply, UnsoundTest) as error:
        assert str(error)


def test_the_printed_histogram_counts_every_io() -> None:
    (reply,) = results("N_nonroot_nohuge", "perform_tests")
    asked = {"time_in_sec": 1, "queue_depth": 4, "io_size": "4096"}
    found = checked_outcome(reply, asked, ended=False)
    ((one,),) = printed_jobs(RECORDINGS["rpc/N_nonroot_nohuge"].input["stdout"])
    counts = printed(one.buckets, RATE)
    assert counts.sum() == found.ios and one.name == "Malloc0"
    assert min(one.percentiles_us.values()) > 0
    assert len(one.percentiles_us) == 15


def test_printed_and_polled_histograms_agree() -> None:
    """Text edges lead back to the very bucket of ticks."""
    for bucket in range(1200, 4000, 37):
        from ioplan.results.measure import bucket_range

        low, high = (edge / RATE * 1e6 for edge in bucket_range(bucket))
        whole = printed([(round(low, 3), round(high, 3), 1)], RATE)
        polled = dense(reply_of({bucket: 1}))
        assert (whole == polled).all()


def reply_of(counts: dict[int, int]) -> dict[str, Any]:
    import base64

    raw = np.zeros(7424, dtype="<i8")
    for bucket, count in counts.items():
        raw[bucket] = count
    encoded = base64.b64encode(raw.tobytes()).decode()
    return {"histogram": encoded, "bucket_shift": 7, "tsc_rate": RATE}


def last(method: str, name: str) -> Any:
    found = [
        entry["result"]
        for entry in entries("rpc/O_mix_one_layer", method)
        if entry["params"]["name"] == name
    ]
    return found[-1]


def test_the_histograms_of_the_directions_fit_their_counters() -> None:
    """Recorded at one moment, of the upper device and the target's own."""
    recorded = entries("rpc/O_mix_one_layer", "bdev_get_iostat")
    reply = {e["params"]["name"]: e["result"] for e in list(recorded)[:2]}
    read, write = (
        counters(reply[name], name, direction).ios
        for name, direction in (("Malloc0", "read"), ("Malloc1", "write"))
    )
    above = int(dense(last("bdev_get_histogram", "Malloc0")).sum())
    below = int(dense(last("bdev_get_histogram", "Malloc1")).sum())
    assert below == pytest.approx(write, abs=4)  # those under way when it was reset
    assert read < above < read * 1.01  # with some ms of both directions
    whole = counters(last("bdev_get_iostat", "Malloc1"), "Malloc1", "read")
    assert whole.min_ns <= whole.sum_ns / whole.ios <= whole.max_ns


def test_counters_after_a_test_are_those_of_the_test() -> None:
    """So the totals of a mixed run are exact, when they were reset before it."""
    runs = zip(
        results("D_qos_limits", "perform_tests"),
        results("D_qos_limits", "bdev_get_iostat"),
        strict=False,
    )
    for reply, stats in runs:
        (one,) = reply["results"]
        ios = sum(counters(stats, "Malloc0", d).ios for d in ("read", "write"))
        assert ios == round(one["iops"] * one["runtime"])


ASKED = {"queue_depth": 4, "io_size": "4096", "time_in_sec": 1, "workload_type": "rw"}


def test_a_share_of_zero_is_not_done_as_asked() -> None:
    reply = results("A_perform_tests", "perform_tests")[3]
    with pytest.raises(UnsoundTest, match="percentage 70, not 0") as caught:
        checked_outcome(reply, {**ASKED, "rw_percentage": 0}, ended=False)
    assert caught.value.cause == "not-as-asked"


def test_success_that_is_none() -> None:
    (failed,) = results("E_error_bdev_f", "perform_tests")
    (short,) = results("I_bdev_deleted_midrun", "perform_tests")
    with pytest.raises(UnsoundTest, match="5 I/Os failed"):
        checked_outcome(failed, {"time_in_sec": 2}, ended=False)
    with pytest.raises(UnsoundTest, match="finished, but after"):
        checked_outcome(short, {"time_in_sec": 8}, ended=False)
    (ended,) = results("H_SIGTERM", "perform_tests")
    with pytest.raises(UnsoundTest, match="terminated from outside"):
        checked_outcome(ended, {"time_in_sec": 2}, ended=False)
    assert checked_outcome(ended, {"time_in_sec": 30}, ended=True).ios == 4588620
    with pytest.raises(NotBegun):  # seen where it is told to end while it starts
        checked_outcome({"results": [], "core_count": 0}, {}, ended=True)


@pytest.mark.parametrize("code", [c for c in CODES if c > 0] + [136, 139, 137, 7, None])
def test_each_code_has_a_sentence(code: int | None) -> None:
    assert why(code, "")


def test_codes_of_signals() -> None:
    assert why(-8, "") == why(136, "") == "an I/O is larger than the device"
    assert "memory" in why(139, "") and "signal 9" in why(137, "")


@given(st.text())
def test_no_text_breaks_the_parser(garbage: str) -> None:
    printed_jobs(garbage)
    printed_jobs(f"Running I/O for 1 seconds...\nLatency summary\n{garbage}")
    why(None, garbage)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "results",
        "iops",
        "runtime",
        "io_failed",
        "bdevs",
        "name",
        "tick_rate",
        "histogram",
    ]
)


@given(JSON | st.dictionaries(KEYS, JSON))
def test_no_reply_breaks_the_readers(reply: Any) -> None:
    take(lambda: checked_outcome(reply, ASKED, ended=False))
    take(lambda: counters(reply, "x", "read"))
    take(lambda: dense(reply))


@given(
    st.dictionaries(st.integers(0, 5000), st.integers(1, 10**9), min_size=1),
    st.integers(1, 10**9),
)
def test_a_shape_keeps_count_and_mean(counts: dict[int, int], ios: int) -> None:
    shape = no_bins()
    for bucket, count in counts.items():
        shape[bucket] = count
    assert apportioned(shape, ios).sum() == ios
    found = shaped(shape, ios, 1e6)
    assert found.sum() == ios
    inside = within(found, 10_000, 20_000)
    assert inside.sum() == ios
    assert inside[: bucket_index(10_000)].sum() == 0
