"""A target whose name leads elsewhere in the middle of a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import plan_file
from fio_jobs import NEEDS_FIO
from refused import refused
from started import started

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.runner.guard import make_scratch, open_target

pytestmark = pytest.mark.slow


MIB = 1 << 20
RUNS = 'test "W" { run random 4KiB 0/100, pause 2ms every 8 for 300ms vary qd in 1..8 doubling }'


@pytest.mark.long_but_first
@pytest.mark.parametrize("backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
@pytest.mark.promise("safety.open_device")
def test_what_was_checked_is_what_is_written(
    backend: str, tmp_path: Path, store_path: Path
) -> None:
    """Whoever may write in the folder does not choose what is overwritten."""
    target, other = tmp_path / "scratch", tmp_path / "other"
    precious = os.urandom(8 * MIB)
    other.write_bytes(precious)
    words = (plan_file(tmp_path, RUNS), "--target", target, "--create", "8MiB")
    with started(*words, "--backend", backend) as run:
        run.until("record")
        target.rename(tmp_path / "moved")
        other.rename(target)
        before = (tmp_path / "moved").read_bytes()
        run.until("record", times=2)
        assert run.end() == 0
    assert target.read_bytes() == precious
    assert (tmp_path / "moved").read_bytes() != before


def test_who_opens_by_name_is_told_of_the_change(tmp_path: Path) -> None:
    path = tmp_path / "scratch"
    make_scratch(path, MIB, lambda _: None)
    target = open_target(TargetRequest(path=str(path), writes=True))
    try:
        target.check_name()
        path.rename(tmp_path / "moved")
        with refused(TargetFault.REPLACED, "is gone"):
            target.check_name()
        path.write_bytes(bytes(MIB))
        with refused(TargetFault.REPLACED, "was replaced"):
            target.check_name()
    finally:
        target.close()
