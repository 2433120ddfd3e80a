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
from ioplan.job import SECOND_NS, Job
from ioplan.workload import Data, SizeShare
from ioplan_spdk import SpdkBackend, SpdkOptions, parse_options

HALF = SECOND_NS // 2
MIXED = (SizeShare(size_bytes=512, percent=50), SizeShare(size_bytes=4096, percent=50))
BDEVPERF = {"driver": "bdevperf"}
DEVICE = {"target": "/dev/nvme9n9"}


def gaps(options: dict[str, Any] | None = None, **changes: Any) -> dict[str, Gap]:
    found = SpdkBackend().gaps(job(**changes), {**BDEVPERF, **(options or {})})
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


CANNOT = Golden("spdk_gaps")


@pytest.mark.parametrize("case", CANNOT)
def test_what_it_cannot_do(case: str, golden: Check) -> None:
    """Each by its clause, and what is done instead, if anything is."""
    found = SpdkBackend().gaps(Job.model_validate(CANNOT[case].input), BDEVPERF)
    assert all(gap.stream == "main" for gap in found)
    rows = {f"{gap.field}: {gap.reason}": gap.instead or "REFUSED" for gap in found}
    assert case.partition(" by ")[0] in {gap.field for gap in found}
    golden(CANNOT, case, rows)


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


NATIVE = Golden("spdk_native")


@pytest.mark.parametrize("title", NATIVE)
def test_what_bdevperf_or_fio_is_told(title: str, golden: Check) -> None:
    asked = NATIVE[title].input
    job = Job.model_validate(asked["job"])
    golden(NATIVE, title, SpdkBackend().native(job, asked["options"]))


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
