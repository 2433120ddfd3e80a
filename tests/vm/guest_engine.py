"""Inside the machine: the ways of the io_uring engine to an NVMe drive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from guest import Done, call, lab_file, plan_file, sh, until

SERIAL = "VMLAB-PLAIN"
LAB = f'[targets.drive]\nserial = "{SERIAL}"\nnsid = 1\nwritable = true\n'
FILL = "run sequential 64KiB 0/100, qd 4, verify, 1 pass"
CHECK = "run random 4KiB 100/0, qd 4, verify for 500ms"


def run(folder: Path, plan: str, *options: str) -> Done:
    """Run a plan on the whole namespace, with options of the backend."""
    words = [word for option in options for word in ("--option", option)]
    done = call(
        folder,
        *("run", plan_file(folder, plan), "--json", "--backend", "io_uring", *words),
        *("--lab", lab_file(folder, LAB), "--target", "drive", "--fresh"),
        *("--overwrite-data", f"{SERIAL}/1", "--store", folder / "results.db"),
    )
    print(done)
    return done


def sound(done: Done, *ways: str) -> int:
    """The bytes that were verified by a run in these ways."""
    assert done.code == 0
    (record,) = done.records
    facts = record["backend"]["facts"]
    assert [way for way in ("passthrough", "polled") if facts[way]] == sorted(ways)
    return sum(int(stream["verified_bytes"]) for stream in record["streams"])


def test_what_passthrough_writes_is_what_blocks_read(tmp_path):
    """A block knows where it belongs, and whether it is whole."""
    sound(run(tmp_path, FILL, "passthrough=true"), "passthrough")
    assert sound(run(tmp_path, CHECK)) > 0
    assert sound(run(tmp_path, CHECK, "passthrough=true"), "passthrough") > 0


@pytest.mark.parametrize("ways", [("polled",), ("passthrough", "polled")])
def test_completions_are_polled_for(tmp_path, ways):
    assert sound(run(tmp_path, CHECK, *(f"{way}=true" for way in ways)), *ways) > 0


@pytest.fixture
def no_queues_to_poll() -> Iterator[None]:
    """The driver once more, as it is without being told."""
    driver("poll_queues=0")
    yield
    driver("poll_queues=1")


def driver(option: str) -> None:
    """Load the driver anew."""
    sh("modprobe", "-r", "nvme")
    sh("modprobe", "nvme", option)
    until(lambda: any(Path("/dev").glob("nvme*n1")), 30, "the drive")
    sh("udevadm", "settle")


@pytest.mark.usefixtures("no_queues_to_poll")
def test_without_queues_to_poll_it_is_refused(tmp_path):
    done = run(tmp_path, CHECK, "polled=true")
    (record,) = done.records
    assert record["cause"] == "bad-job" and "nvme.poll_queues=N" in record["message"]
