"""A session that is refused, or ends before its first run, leaves no folder behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import ioplan, plan_file

READS = 'test "T" { run random 4KiB 100/0 for 100ms }'
TOO_SMALL = 'test "T" { run random 4KiB 0/100, region 0%..0.001% for 100ms }'
NOT_FIO = 'test "T" { run random 4KiB 50/50, verify for 1s }'
SIM = ("--backend", "sim", "--create", "64MiB")
FIO = ("--backend", "fio", "--option", "engine=psync")


def folders(store: Path) -> list[str]:
    return sorted(one.name for one in (store.parent / "sessions").glob("*"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TOO_SMALL, SIM),
        (READS, (*SIM, "--baseline", "none")),
        (READS, (*SIM, "--allow", "aling")),
        (TOO_SMALL, ("--target", "s.bin", "--create", "1MiB")),
        (READS, ("--target", "away.bin")),
        (READS, ("--target", "/dev")),
        (NOT_FIO, (*FIO, "--target", "s.bin", "--create", "1MiB")),
        (READS, ("--backend", "spdk", "--target", "malloc:64MiB")),
    ],
)
def test_nothing_is_left(
    text: str,
    words: tuple[str, ...],
    tmp_path: Path,
    store_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ioplan("run", plan_file(tmp_path, text), *words)
    assert done.code == 2, done.err
    assert folders(store_path) == []


@pytest.mark.slow
@pytest.mark.long
def test_a_closed_pipe_leaves_no_folder(tmp_path: Path, store_path: Path) -> None:
    command = [sys.executable, "-m", "ioplan.cli", "run", plan_file(tmp_path, READS)]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = subprocess.run(
            [*command, *SIM], stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Traceback" not in done.stderr
    assert '"failed"' in ioplan("ls", "--format", "jsonl").out
    assert folders(store_path) == []
