"""Data that is damaged below the target: `verify` finds it, in a later session too.

The rows of the second table in docs/faults.md are those of DAMAGES.
"""

import os
import re
import signal
from pathlib import Path

import paths
import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from generated import check_part
from msgspec import Struct
from started import started
from survived import last_run

from golden import Golden
from targets import lab_of_file, loop_device, needs_faulty, needs_root, tell, unfaithful

MIB, BLOCK = 1 << 20, 512
SIZE, BLOCKS = 4 * MIB, 4 * MIB // BLOCK
FILL = 'test "Fill" { run sequential 128KiB 0/100, qd 4, verify, 1 pass }'
CHECK = """test "Check" {
  run sequential 128KiB 100/0, verify, 1 pass
  expect verified >= 100%
}"""
DOCUMENT = paths.ROOT / "docs/faults.md"


class Disk:
    """What is below the target, now and before it was written the last time."""

    def __init__(self, path, old):
        self.path, self.old, self.new = path, old, path.read_bytes()

    def put(self, offset, data):
        with self.path.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def undo(self, offset, length):
        """As if the last write of these bytes had never come."""
        self.put(offset, self.old[offset : offset + length])

    def move(self, offset, to, length):
        """As if it had been written to another place."""
        self.undo(offset, length)
        self.put(to, self.new[offset : offset + length])


SAID = Golden("damages")
"""What a person reads, of 512-byte blocks of 4 MiB, and of 1 MiB on a device."""
PUNCH = ("fallocate", "--punch-hole", "--offset", str(MIB), "--length", str(MIB))
DAMAGES = {
    "blocks are zeroed": ("50 blocks overwritten with zeros", lambda disk: disk.put(MIB, bytes(50 * BLOCK))),
    "blocks are trimmed": ("1 MiB punched out", lambda disk: tell(*PUNCH, disk.path)),
    "foreign data": ("4 KiB of text written", lambda disk: disk.put(2 * MIB, b"somebody's data " * 256)),
    "a header is overwritten": ("40 zeros at the head of a block", lambda disk: disk.put(3 * MIB, bytes(40))),
    "a bit is flipped": (
        "one bit of a block changed", lambda disk: disk.put(MIB + 300, bytes([disk.new[MIB + 300] ^ 1]))
    ),
    "a write is lost": ("4 KiB as before the last write", lambda disk: disk.undo(MIB, 4096)),
    "a write is misdirected": (
        "what belongs to one place is in another, which is lost where it belongs",
        lambda disk: disk.move(MIB, 2 * MIB, 4096),
    ),
    "a write is torn": (
        "the second half of 128 KiB as before the last write", lambda disk: disk.undo(MIB + 64 * 1024, 64 * 1024)
    ),
    "a write is torn inside a block": (
        "the second half of 512 B as before the last write", lambda disk: disk.undo(MIB + 256, 256)
    ),
    "all is stale": ("the target as before the last session", lambda disk: disk.undo(0, SIZE)),
}  # fmt: skip
"""What happens to data at rest, and how it is made here."""
UNFAITHFUL = {
    "a device loses writes": (
        "nbdkit answers one of four writes of 64 KiB, and does not do it",
        "cat >/dev/null; exit",
    ),
    "a device misdirects writes": (
        "nbdkit does one of four writes 64 KiB too early",
        "at=$(($4 - 65536))",
    ),
    "a device tears writes": (
        "nbdkit does the first half of one of four writes of 64 KiB",
        "length=$(($3 / 2))",
    ),
}
"""What a device does to one of four writes of the second session."""


class Place(Struct, frozen=True):
    folder: Path
    device: Path | None = None

    @property
    def target(self):
        return self.device or self.folder / "scratch.bin"

    @property
    def store(self):
        return self.folder / "results.db"

    def words(self, text, *more):
        plan = plan_file(self.folder, text)
        return [plan, "--target", self.target, "--store", self.store, *more]

    def run(self, text, *more):
        return ioplan("run", *self.words(text, *more), "--json")

    def good(self, text, *more):
        """A session that must go well; returns what was verified."""
        done = self.run(text, *more)
        assert done.code == 0, done.err
        return self.verified()

    def message(self):
        """Of the last run, with generations that begin at 1."""
        record, _ = last_run(self.store)
        assert (record.status, record.cause) == ("failed", "verify"), record.message
        text = record.message.replace(f"{self.target}: ", "")
        text = re.sub(r"where generation \d+ ", "where generation 2 ", text)
        return re.sub(
            r"generation \d+ was read, \d+ was", "generation 1 was read, 2 was", text
        )

    def verified(self):
        record, _ = last_run(self.store)
        (stream,) = record.streams
        read = stream.directions.get("read")
        return f"{stream.verified_bytes} of {read.bytes if read else 0}"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A target that two sessions have written with `verify`."""
    place = Place(tmp_path_factory.mktemp("damage"))
    place.good(FILL, "--create", f"{SIZE // MIB}MiB")
    old = place.target.read_bytes()
    place.good(FILL)
    return place, Disk(place.target, old)


@pytest.fixture
def sound(written):
    place, disk = written
    yield place, disk
    disk.put(0, disk.new)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.promise("verify.damage")
def test_damage_is_found(damage, sound, golden):
    place, disk = sound
    DAMAGES[damage][1](disk)
    assert place.run(CHECK).code != 0
    golden(SAID, damage, place.message())


@pytest.mark.long_but_first
@needs_faulty
@pytest.mark.parametrize("device", UNFAITHFUL)
@pytest.mark.promise("verify.damage")
def test_an_unfaithful_device_is_found(device, place, golden):
    fill = FILL.replace("128KiB", "64KiB").replace("qd 4, ", "")
    trigger = place.folder / "now"
    with unfaithful(place.folder / "d", UNFAITHFUL[device][1], trigger) as disk:
        lab = lab_of_file(place.folder, Path(disk.backing))
        allowed = ("--lab", str(lab), "--overwrite", disk.backing)
        there = Place(place.folder, Path(disk.path))
        there.good(fill, *allowed)
        trigger.touch()
        there.good(fill, *allowed)
        assert there.run(CHECK.replace("128KiB", "64KiB")).code != 0
        golden(SAID, device, there.message())


@pytest.mark.slow
def test_sound_data_is_verified_whole(sound):
    place, _ = sound
    assert place.good(CHECK) == f"{SIZE} of {SIZE}"
    shown = ioplan("run", *place.words(CHECK)).out
    assert f"verified {BLOCKS} of {BLOCKS} blocks" in shown
    tables = ioplan("show", "--tables", "--store", place.store).out
    assert re.search(r" verified\s*\n.*\n.* 100 %\s", tables), tables


@pytest.mark.slow
@pytest.mark.promise("verify.damage")
def test_a_reader_that_verifies_nothing_fails(place):
    assert place.run(CHECK, "--create", "1MiB").code != 0
    record, _ = last_run(place.store)
    assert record.cause == "verify"
    assert record.message.startswith("verified 0 of 2048 blocks: nothing that was read")


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("by", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
@pytest.mark.promise("verify.unknown")
def test_who_writes_without_stamps_makes_blocks_unknown(by, place):
    """In a session of another store, too."""
    place.good(FILL, "--create", "4MiB")
    elsewhere = Place(place.folder / "elsewhere", place.target)
    elsewhere.folder.mkdir()
    plain = 'test "T" { run sequential 64KiB 0/100, region 0%..25%, 1 pass }'
    elsewhere.good(plain, "--backend", by)
    done = place.run(CHECK)
    assert done.code == 1, done.err
    assert place.verified() == f"{3 * MIB} of {4 * MIB}"
    place.good(FILL)
    assert place.good(CHECK) == f"{4 * MIB} of {4 * MIB}"


@pytest.mark.slow
def test_trimmed_blocks_are_unknown_until_written_again(place):
    place.good(FILL, "--create", "4MiB")
    trims = 'test "T" { run sequential 64KiB 50/50, trim 100%, verify, region 0%..50%, 1 pass }'
    place.good(trims)
    assert place.run(CHECK).code == 1
    assert place.verified() == f"{2 * MIB} of {4 * MIB}"


@pytest.mark.slow
@pytest.mark.promise("verify.unknown")
def test_a_purge_forgets_all(place):
    place.good(FILL, "--create", "4MiB")
    purged = CHECK.replace("run", "after new run")
    assert place.run(f"precondition new {{ purge }} {purged}").code != 0
    assert place.message().startswith(f"verified 0 of {BLOCKS} blocks")


@pytest.mark.long
def test_after_a_kill_either_generation_is_right_and_no_other(place):
    place.good(FILL, "--create", "4MiB")
    endless = 'test "T" { run random 16KiB 0/100, qd 16, verify for 60s }'
    with started(*place.words(endless)) as session:
        session.until("progress")
        os.kill(session.backend, signal.SIGKILL)
        assert session.end() != 0
    assert place.good(CHECK) == f"{4 * MIB} of {4 * MIB}"
    Disk(place.target, b"").put(MIB, bytes(4096))
    assert place.run(CHECK).code != 0
    assert place.message().startswith(f"8 of {BLOCKS} blocks carry no stamp")


@pytest.mark.slow
@needs_root
def test_a_later_file_behind_a_loop_device_has_other_stamps(tmp_path):
    """What was written on the first is not expected of the second."""
    image = tmp_path / "image"
    for text, code in ((FILL, 0), (CHECK, 3)):
        image.unlink(missing_ok=True)
        image.touch()
        os.truncate(image, MIB)
        lab = str(lab_of_file(tmp_path, image))
        allowed = ("--lab", lab, "--overwrite", str(image))
        with loop_device(image) as device:
            place = Place(tmp_path, device)
            assert place.run(text, *allowed).code == code
    said = "verified 0 of 2048 blocks: nothing that was read had been written"
    assert place.message().startswith(said)


def test_the_table_is_that_of_the_document(renew):
    head = "| damage | made by | what a person reads |\n| --- | --- | --- |\n"
    damages = {**DAMAGES, **UNFAITHFUL}
    rows = "".join(
        f"| {name} | {how} | {SAID[name].expected} |\n"
        for name, (how, _) in damages.items()
    )
    check_part(DOCUMENT, "damage", head + rows, renew)
