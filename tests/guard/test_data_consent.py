"""To what content a consent belongs, and for how long."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed
from killing import Forked
from kinds_of_data import database, put
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.runner.guard import Target, open_target
from targets import MIB, asked, lab_of_file, loop_device, needs_root, sparse, tell

LONG = 'test "Long" { run random 4KiB 0/100 for 60s }'
SHORT = 'test "Short" { run random 4KiB 0/100 for 100ms }'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a database in the middle."""
    path = sparse(tmp_path / "image", 32 * MIB)
    put(path, 0, database(tmp_path))
    return path


def opened(path: Path, *, data: bool = False) -> Target:
    """By a writing plan, with consent to the file or to its data as well."""
    words = (str(path),)
    return open_target(
        TargetRequest(
            path=str(path),
            writes=True,
            overwrite=words,
            overwrite_data=words if data else (),
        )
    )


@pytest.mark.long
@pytest.mark.promise("safety.consent_of_data")
def test_it_is_kept_for_the_data_that_was_there(file: Path) -> None:
    with refused(TargetFault.DATA, "sqlite database at byte 0"):
        opened(file)
    opened(file, data=True).close()
    opened(file).close()
    put(file, 0, b"another database ".ljust(4096, b"-"))
    with refused(TargetFault.DATA, "data of an unknown kind from byte 0 on"):
        opened(file)


@pytest.mark.parametrize("how", ["elsewhere", "longer"])
def test_other_data_needs_another(how: str, file: Path, tmp_path: Path) -> None:
    """Also that in a file of another size; but what ioplan left there may go."""
    target = opened(file, data=True)
    os.pwrite(target.fd, b"a counter that a load generator writes".ljust(MIB, b"."), 0)
    target.close()
    opened(file).close()
    if how == "longer":
        os.truncate(file, 40 * MIB)
    put(file, 31 * MIB, database(tmp_path))
    with refused(TargetFault.DATA, "sqlite database"):
        opened(file)


@pytest.mark.long
@pytest.mark.promise("safety.consent_of_data")
def test_resume_asks_for_what_came_after_a_kill(
    file: Path, tmp_path: Path, store_path: Path
) -> None:
    os.truncate(file, 0)
    os.truncate(file, 32 * MIB)
    plan, out = plan_file(tmp_path, LONG), tmp_path / "out"
    forked = Forked(out, "run", plan, "--target", file, "--overwrite", file, "--json")
    while '"progress"' not in out.read_text():
        assert forked.ended(os.WNOHANG) is None, out.read_text()
    os.kill(forked.pid, signal.SIGKILL)
    forked.ended()
    put(file, 0, database(tmp_path))
    before = file.read_bytes()
    short = plan_file(tmp_path, SHORT, "short.ioplan")
    done = ioplan("resume", "last", "--plan", short)
    assert (done.code, "add --overwrite-data" in done.err) == (2, True), done.err
    assert file.read_bytes() == before
    succeed("resume", "last", "--plan", short, "--overwrite-data", file)


@pytest.mark.long
@needs_root
@pytest.mark.promise("safety.consent_of_session")
def test_a_device_is_asked_for_once(tmp_path: Path, store_path: Path) -> None:
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(32 * MIB))
    plan = plan_file(tmp_path, SHORT)
    with loop_device(disk) as device:
        put(device, 4 * MIB, database(tmp_path) * 100)
        tell("blockdev", "--flushbufs", device)
        words = ("run", plan, "--lab", lab_of_file(tmp_path, disk), "--target", device)
        done = ioplan(*words)
        assert done.code == 2
        assert f"to allow this, add --overwrite-data {disk}" in done.err
        assert ioplan(*words, "--overwrite", disk).code == 2
        succeed(*words, "--overwrite-data", disk)
        assert ioplan(*words).code == 2, "each session names what it writes to"
        assert ioplan(*words, "--overwrite", disk).code == 0


def held_open() -> list[str]:
    """The files that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing itself
            found.append(str(one.readlink()))
    return found


@needs_root
@pytest.mark.slow
@pytest.mark.long
def test_an_image_under_a_part_of_it_is_asked_for(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(32 * MIB))
    put(disk, 0, database(tmp_path))
    lab = lab_of_file(tmp_path, disk)
    with loop_device(disk, "--offset", str(16 * MIB)) as device:
        request, words = asked(lab, device), (str(disk),)
        with refused(TargetFault.DATA, f"is a part of {disk}"):
            open_target(request.model_copy(update={"overwrite": words}))
        assert str(disk) not in held_open()
        open_target(request.model_copy(update={"overwrite_data": words})).close()
