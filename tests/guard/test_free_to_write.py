"""Why a target is free to write: each kind of evidence, and what must break it."""

import os
import random
import struct
from types import SimpleNamespace

import pytest
from command import ioplan, last_records, plan_file
from killed import killed_session
from kinds_of_data import put
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.runner import Device
from ioplan.runner.content.scan import scan
from ioplan.runner.guard import KILLED, data_check, full_read, open_target
from ioplan.runner.guard.data_check import sanitized
from ioplan.runner.guard.errors import UnreadError
from ioplan.runner.guard.full_read import (
    CONSTANT,
    SINCE_READ,
    parts_to_read,
    read_whole,
)
from ioplan.runner.guard.known_content import LEFT, known_content, state_path
from targets import MIB, asked, lab_of_file, loop_device, needs_root, sparse, tell

SIZE = 64 * MIB
MBR_ENTRY = struct.pack("<8B2I", 0, 0, 2, 0, 0x83, 0, 0, 0, 2048, 120_000_000)
NOISE = random.Random(1).randbytes(MIB)


@pytest.fixture
def image(tmp_path):
    return sparse(tmp_path / "image", SIZE)


def request(path, *, data=False):
    words = (str(path),)
    return TargetRequest(
        path=str(path),
        writes=True,
        overwrite=words,
        overwrite_data=words if data else (),
    )


def opened(path, *, data=False):
    return open_target(request(path, data=data))


def closed(path, *, data=False):
    """After a session that wrote nothing."""
    target = opened(path, data=data)
    target.close()
    return target.facts


def evidence(path, *, data=False):
    return closed(path, data=data).evidence


@pytest.mark.promise("safety.noise")
def test_noise_is_not_emptiness(image):
    put(image, 40 * MIB, NOISE)
    with refused(TargetFault.DATA, "data of an unknown kind from 40 MiB on"):
        opened(image)


@pytest.mark.promise("safety.whole_read")
def test_one_block_that_no_sample_draws_is_found_by_the_full_read(image):
    with image.open("ab") as file:
        file.truncate(2 << 30)
    at = (1 << 30) + 12345 * 4096
    put(image, at, NOISE[:4096])
    with image.open("rb") as file:
        assert not scan(file.fileno(), 2 << 30, seed=1).data
    with pytest.raises(UnreadError, match=f"found data at byte {at:,}"):
        opened(image)


@pytest.mark.promise("safety.evidence")
def test_what_ioplan_left_is_known_block_by_block(image):
    """An empty file is free because all of it was read; then it is known."""
    assert evidence(image) == CONSTANT
    target = opened(image)
    assert target.facts.evidence == LEFT
    os.pwrite(target.fd, NOISE, 8 * MIB)
    target.close()
    assert evidence(image) == LEFT


@pytest.mark.parametrize("at", [0, 5 * MIB, 33 * MIB + 4096, SIZE - 4096])
@pytest.mark.long
@pytest.mark.promise("safety.evidence")
def test_a_block_that_was_changed_since_ends_that(image, at):
    target = opened(image)
    os.pwrite(target.fd, NOISE * 2, 0)
    target.close()
    put(image, at, b"\x01" + NOISE[1:4096])
    with refused(TargetFault.DATA, "hold data"):
        opened(image)


@pytest.mark.long
@pytest.mark.promise("safety.evidence")
def test_so_do_the_counters_where_no_block_shows_it(image):
    """Written, and put back as it was: somebody uses it."""
    evidence(image)
    put(image, 50 * MIB, bytes(4096))
    assert evidence(image) == CONSTANT, "read again, not remembered"


@pytest.mark.long
def test_the_reading_goes_on_where_it_was(image, monkeypatch):
    image.write_bytes(bytes(SIZE))
    facts = opened(image).facts
    state_path(facts).unlink()
    monkeypatch.setattr(full_read, "SAVE_S", 0.0)
    seen = list[float]()

    def interrupted(share):
        seen.append(share)
        if share > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_whole(facts, interrupted)
    shares = list[float]()
    assert read_whole(facts, shares.append) is None
    left = 1 - seen[-1]
    assert len(shares) < len(seen) / 0.4 * (left + 0.1)
    assert known_content(facts).kept and not state_path(facts, "read").exists()


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("at", [None, 48 * MIB])
@pytest.mark.promise("safety.whole_read")
def test_a_run_reads_it_and_says_how_far_it_is(
    at, image, tmp_path, store_path, monkeypatch
):
    image.write_bytes(bytes(4 * SIZE))
    if at:
        put(image, at * 3 + 12288, NOISE[:4096])
    monkeypatch.setattr(data_check, "AT_ONCE_BYTES", MIB)
    monkeypatch.setattr("ioplan.runner.content.scan.draws", lambda _: 1)
    plan = plan_file(tmp_path, 'test "W" { run random 4KiB 0/100 for 1MiB }')
    done = ioplan("run", plan, "--target", image, "--overwrite", image)
    assert "looks empty; reading all 268 MB of it" in done.err
    assert done.code == (2 if at else 0)
    if at:
        assert f"found data at byte {at * 3 + 12288:,}" in done.err
        assert f"add --overwrite-data {image}" in done.err
        return
    assert "read 90 %" in done.err and "read 100 %" in done.err
    (record,) = last_records(store_path)
    assert record.target["evidence"] == SINCE_READ


def test_holes_are_not_read(image, monkeypatch):
    put(image, 16 * MIB, bytes(MIB))
    with image.open("rb") as file:
        assert parts_to_read(file.fileno(), SIZE) == [(16 * MIB, 17 * MIB)]
        # a device over no file is read whole
        monkeypatch.setattr(full_read, "backing", lambda _: None)
        monkeypatch.setattr(full_read.Device, "numbered", lambda _: None)
        assert parts_to_read(file.fileno(), SIZE) == [(0, SIZE)]


@needs_root
def test_of_a_part_of_a_file_that_part_is_read(image):
    """A loop device with an offset: places are those of the device."""
    put(image, 16 * MIB, bytes(MIB))
    put(image, 60 * MIB, bytes(MIB))
    part = ("--offset", str(8 * MIB), "--sizelimit", str(32 * MIB))
    with loop_device(image, *part) as device, device.open("rb") as file:
        assert parts_to_read(file.fileno(), 32 * MIB) == [(8 * MIB, 9 * MIB)]


@pytest.mark.parametrize(
    ("status", "free"),
    [
        (0x101, True),  # completed, and Global Data Erased
        (0x104, True),  # completed with deallocation
        (0x001, False),  # completed, and written to since
        (0x103, False),  # failed
        (0x102, False),  # under way
        (0x100, False),  # never sanitized: as it left the factory
    ],
)
def test_the_sanitize_log_says_whether_it_is_erased(
    status, free, monkeypatch, tmp_path
):
    """Sanitize Status of the NVM Express base specification 2.0, figure 291."""
    page = struct.pack("<HH", 0xFFFF, status).ljust(512, b"\0")
    drive = SimpleNamespace(log=lambda *_: page)  # no drive here has a log
    monkeypatch.setattr("ioplan.runner.guard.data_check.Nvme", lambda _: drive)
    disk = tmp_path / "nvme0n1"
    disk.mkdir()
    (disk / "nsid").write_text("1\n")
    assert bool(sanitized(Device(disk), 0)) is free
    (disk / "partition").write_text("1\n")
    assert not sanitized(Device(disk), 0), "the log is of the whole drive"


@pytest.mark.slow
@pytest.mark.long
def test_what_a_killed_session_wrote_is_its_own(image):
    killed_session(request(image))
    assert evidence(image) == KILLED
    assert evidence(image) == LEFT


@pytest.mark.slow
@pytest.mark.long
def test_a_file_that_came_after_the_kill_is_not(image):
    killed_session(request(image))
    put(image, 20 * MIB, NOISE)
    with refused(TargetFault.DATA, "hold data"):
        opened(image)


@needs_root
@pytest.mark.slow
class TestDevice:
    """A loop device on a sparse file of 64 GB."""

    CAPACITY = 64 * 10**9

    @pytest.fixture
    def device(self, image):
        os.truncate(image, self.CAPACITY // 4096 * 4096)
        with loop_device(image) as device:
            yield device

    @pytest.fixture
    def lab(self, image, tmp_path, device):
        return lab_of_file(tmp_path, image)

    @pytest.mark.long
    def test_it_is_free_when_all_was_read(self, lab, image):
        target = open_target(asked(lab, "fast", image))
        assert target.facts.evidence == CONSTANT
        os.pwrite(target.fd, NOISE, 30 << 30)
        target.close()
        target = open_target(asked(lab, "fast", image))
        target.close()
        assert target.facts.evidence == LEFT

    @pytest.mark.long
    def test_after_a_kill_it_is_its_own(self, lab, image):
        killed_session(asked(lab, "fast", image))
        target = open_target(asked(lab, "fast", image))
        target.close()
        assert target.facts.evidence == KILLED

    @pytest.mark.long
    @pytest.mark.parametrize("survived", [True, False])
    def test_noise_after_a_kill_is_somebodys(self, lab, image, device, survived):
        """An encrypted volume without its header: by its structure it could be ours."""
        killed_session(asked(lab, "fast", image), survived=survived)
        tell("dd", "if=/dev/urandom", f"of={device}", "bs=64k", "count=1", "seek=9999")
        with refused(TargetFault.DATA, "data of an unknown kind"):
            open_target(asked(lab, "fast", image))

    @pytest.mark.long
    @pytest.mark.promise("safety.unknown_content")
    def test_without_evidence_after_a_kill_it_is_unknown(self, lab, image, device):
        killed_session(asked(lab, "fast", image), survived=False)
        with refused(TargetFault.DATA, "data of an unknown kind"):
            open_target(asked(lab, "fast", image))

    @pytest.mark.long
    def test_a_file_system_behind_a_lost_table_is_found(self, lab, image, device):
        """An ext4 in a partition at 1 MiB, its table zeroed: the map names it."""
        with device.open("r+b") as file:  # a table of one partition
            file.write(bytes(446) + MBR_ENTRY.ljust(64, b"\0") + b"\x55\xaa")
        offset = f"offset={MIB}"
        tell("mkfs.ext4", "-q", "-L", "photos", "-E", offset, device, "60000000")
        put(device, 0, bytes(512))
        for _ in range(3):
            with refused(TargetFault.DATA, "ext4 at 1 MiB .label photos"):
                open_target(asked(lab, "fast", image))


@pytest.mark.long
def test_a_large_target_is_read_with_its_progress(image, monkeypatch):
    image.write_bytes(bytes(SIZE))
    monkeypatch.setattr(data_check, "AT_ONCE_BYTES", MIB)
    with pytest.raises(UnreadError) as unread:
        opened(image)
    shares = list[float]()
    assert read_whole(unread.value.facts, shares.append) is None
    assert shares == sorted(shares) and shares[-1] == 1
    assert evidence(image) == SINCE_READ


@pytest.mark.long
def test_data_given_up_is_known_only_as_it_was(image):
    put(image, 0, NOISE)
    assert evidence(image, data=True).startswith("--overwrite-data")
    assert evidence(image) == LEFT
    put(image, 60 * MIB, NOISE)
    with refused(TargetFault.DATA, "data of an unknown kind"):
        opened(image)
