"""What bdevperf is told, and what it cannot be told."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spdk_jobs import job, stand_in

from golden import Check, Golden
from ioplan.backends import BackendError, Gap, find
from ioplan.job import SECOND_NS
from ioplan.workload import Data, Hotspot, Hotspots, Rate, Region, SizeShare, Zipf
from ioplan_spdk import SpdkBackend, SpdkOptions, parse_options

HALF = SECOND_NS // 2
MIXED = (SizeShare(size_bytes=512, percent=50), SizeShare(size_bytes=4096, percent=50))
BDEVPERF = {"driver": "bdevperf"}
DEVICE = {"target": "/dev/nvme9n9"}


def gaps(options: dict[str, Any] | None = None, **changes: Any) -> dict[str, Gap]:
    found = SpdkBackend().gaps(job(**changes), {**BDEVPERF, **(options or {})})
    assert all(gap.reason and gap.stream == "main" for gap in found)
    return {gap.field: gap for gap in found}


def test_it_is_found_by_its_name() -> None:
    assert find("spdk").name == "spdk"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"read_percent": 70},
        {"read_percent": 0, "pattern": "sequential", "size": 131072},
        {"trim_percent": 100, "pattern": "sequential"},
        {"warmup_ns": 2 * SECOND_NS, "align_bytes": 4096},
        {"read_percent": 0, "data": Data(kind="zeros"), **DEVICE},
        DEVICE,
    ],
)
def test_what_is_exact(changes: dict[str, Any]) -> None:
    assert gaps(**changes) == {}


GAPS: list[tuple[str, dict[str, Any], str]] = [
    ("for", {"run_ns": HALF}, "1 s"),
    ("warmup", {"warmup_ns": 3 * HALF}, "2 s"),
    ("pause", {"pause_ns": 1000}, ""),
    ("ends", {"ends_ns": HALF}, ""),
    ("random share", {"random_percent": 65}, ""),
    ("read random", {"write_random_percent": 30}, ""),
    ("rate", {"rate": Rate(iops=1000, first_per_s=0, last_per_s=2000)}, ""),
    ("for", {"run_ns": None, "limit_bytes": 1 << 30}, "a little more"),
    ("passes", {"run_ns": None, "passes": 2.0}, "a little more"),
    ("size", {"read_sizes": MIXED}, ""),
    ("size", {"read_percent": 50, "read_sizes": MIXED[:1]}, ""),
    ("size", {"size": 1000}, ""),
    ("size", {"size": 128 << 20}, ""),
    ("qd", {"qd": 2048, "size": 1 << 20}, ""),
    ("threads", {"threads": 4, "qd": 8}, "queue depth 32"),
    ("mix", {"read_percent": 66.6}, "67%"),
    ("mix", {"read_percent": 0.1}, "1%"),
    ("trim", {"trim_percent": 10}, ""),
    ("trim", {"trim_percent": 100}, ""),
    ("region", {"region": Region(end_percent=50)}, ""),
    ("align", {"align_bytes": 512}, "the size"),
    ("align", {"align_bytes": 8192}, ""),
    ("distribution", {"distribution": Zipf(theta=1.1)}, "-F 1.1"),
    (
        "distribution",
        {"distribution": Hotspots(spots=(Hotspot(io_percent=100, space_percent=100),))},
        "",
    ),
    ("rate", {"rate": Rate(iops=1500, arrivals="gamma")}, ""),
    ("rate", {"rate": Rate(iops=1500)}, "2000 IOPS"),
    ("rate", {"rate": Rate(bytes_per_s=1.5e6)}, "2 MiB/s"),
    ("data", {"read_percent": 0, **DEVICE}, "-U"),
    ("data", {"read_percent": 50, "data": Data(kind="zeros"), **DEVICE}, "what is there"),
    ("data", {"read_percent": 0, "data": Data(kind="compressible", percent=50), **DEVICE}, ""),
    ("sync", {"read_percent": 0, "sync_every": 32}, ""),
    ("verify", {"verify": True}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("field", "changes", "instead"), GAPS)
def test_what_it_cannot_do(field: str, changes: dict[str, Any], instead: str) -> None:
    found = gaps(**changes)
    assert field in found
    assert (instead in found[field].instead) if instead else not found[field].instead


def test_more_memory_closes_the_gap_that_asks_for_it() -> None:
    found = gaps(qd=2048, size=1 << 20)["qd"].reason
    assert "memory_mib=4096" in found
    assert gaps({"memory_mib": "4096"}, qd=2048, size=1 << 20) == {}


def test_a_second_stream_is_a_gap_of_its_own() -> None:
    one = job()
    two = one.model_copy(
        update={
            "streams": (*one.streams, one.streams[0].model_copy(update={"name": "b"}))
        }
    )
    (gap,) = SpdkBackend().gaps(two, BDEVPERF)
    assert (gap.stream, gap.field, gap.instead) == ("b", "streams", "")


NATIVE: dict[str, dict[str, Any]] = {
    "reads of memory": {},
    "a mix on a drive, with a warm-up": {
        "target": "nvme:pcie:0000:01:00.0/2", "read_percent": 70,
        "warmup_ns": 5 * SECOND_NS, "run_ns": 60 * SECOND_NS,
    },
    "writes over TCP, in two passes": {
        "target": "nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1",
        "read_percent": 0, "run_ns": None, "passes": 2.0, "permuted": True,
    },
    "a device that is only read": {**DEVICE, "read_only": True, "block_bytes": 4096},
    "a rate on known latencies": {
        "target": "delay:128MiB:1000:5000:3000:9000", "rate": Rate(iops=1500),
    },
    "trims": {"target": "malloc:64MiB", "trim_percent": 100, "pattern": "sequential", "size": 65536},
}  # fmt: skip


@pytest.mark.parametrize("driver", ["bdevperf", "fio"])
@pytest.mark.parametrize(
    ("target", "discards"),
    [
        ("malloc:64MiB", True),
        ("nvme:pcie:0000:01:00.0", True),
        ("/dev/nvme9n9", False),
        ("/data/disk.img", False),
        ("null:64MiB", False),
        ("delay:64MiB:1000:5000:3000:9000", False),
    ],
)
def test_trims_are_refused_where_spdk_discards_nothing(
    target: str, discards: bool, driver: str
) -> None:
    trims = job(target=target, trim_percent=100, pattern="sequential")
    found = SpdkBackend().gaps(trims, {"driver": driver})
    assert ("trim" not in {gap.field for gap in found}) is discards
    assert all(not gap.instead and not gap.edit for gap in found if gap.field == "trim")


@pytest.mark.parametrize("title", NATIVE)
def test_a_dialogue(title: str, golden: Check) -> None:
    options = {**BDEVPERF, "no_huge": True, "mask": "0x2"}
    told = SpdkBackend().native(job(**NATIVE[title]), options)
    golden(Golden("spdk_native"), f"bdevperf: {title}", told)


def test_a_share_of_zero_is_never_asked_for() -> None:
    for percent, words in (
        (0, "randwrite"),
        (100, "randread"),
        (0.4, '"rw_percentage": 1'),
    ):
        assert words in SpdkBackend().native(job(read_percent=percent), {})
        assert '"rw_percentage": 0' not in SpdkBackend().native(
            job(read_percent=percent), {}
        )


def native(target: str) -> str:
    return SpdkBackend().native(job(target), BDEVPERF)


def test_places() -> None:
    drive = native("nvme:pcie:01:00.0/2")
    assert "0000:01:00.0" in drive and "n2" in drive
    tcp = native("nvme:tcp:[fe80::1]:4420:nqn.2016-06.io.spdk:cnode1/3")
    for part in ('"fe80::1"', '"4420"', '"nqn.2016-06.io.spdk:cnode1"', "n3"):
        assert part in tcp


@pytest.mark.parametrize(
    "path",
    [
        "malloc:", "malloc:64", "malloc:5B", "null:0MiB", "nvme:pcie:nonsense",
        "nvme:tcp:host:nqn.x", "nvme:rdma:x", "nvme:", "delay:128MiB", "delay:128MiB:2:1:2:3",
    ],
)  # fmt: skip
def test_targets_that_are_none(path: str) -> None:
    with pytest.raises(BackendError) as caught:
        native(path)
    assert repr(path) in str(caught.value)


@given(st.text())
def test_any_text_is_a_place_or_an_error(text: str) -> None:
    with suppress(BackendError):
        assert native(text)


def test_options() -> None:
    assert parse_options({"no_huge": "true", "block_bytes": "4096"}).block_bytes == 4096
    with pytest.raises(BackendError, match="did you mean 'no_huge'"):
        parse_options({"nohuge": True})
    with pytest.raises(BackendError, match="memory_mib"):
        parse_options({"memory_mib": "1"})


@pytest.mark.slow
def test_whether_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOPLAN_SPDK_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = SpdkBackend().availability({})
    assert not missing.usable and "set IOPLAN_SPDK_DIR" in missing.reason
    monkeypatch.setenv("IOPLAN_SPDK_DIR", str(tmp_path))
    assert "no bdevperf" in SpdkBackend().availability({}).reason
    examples = tmp_path / "build" / "examples"
    examples.mkdir(parents=True)
    program = stand_in(examples, "help/bdevperf_version")
    found = SpdkBackend().availability({"no_huge": True})
    assert found.usable and found.version == "v24.09.1-pre"
    assert found.reason.startswith("without SPDK's fio plug-in: ")
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "does not say its version" in SpdkBackend().availability({}).reason


def test_a_mask_as_cores() -> None:
    for mask, cores in {"0x6": (1, 2), "2": (1,), "[1,4-6]": (1, 4, 5, 6)}.items():
        assert SpdkOptions(mask=mask).core_list == cores
    for wrong in ("cpu1", "[1", "0x"):
        with pytest.raises(BackendError, match="mask"):
            parse_options({"mask": wrong})
