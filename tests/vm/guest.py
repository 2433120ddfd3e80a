"""What the scenarios inside the machine share."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

import ioplan.cli

KILLED_AFTER_S, SAID_WITHIN_S = 240, 120
STORE = Path("/dev/shm/store")


class Done(Struct, frozen=True):
    """What a call of ioplan came to."""

    code: int
    out: str
    err: str
    took_s: float

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The JSON lines of one type."""
        lines = [json.loads(line) for line in self.out.splitlines()]
        return [line for line in lines if line["type"] == kind]

    def __str__(self) -> str:
        shown = [
            {
                key: one[key]
                for key in ("status", "cause", "message", "run_s", "warnings")
            }
            | {
                "ios": {
                    k: (v["ios"], v["errors"]) for k, v in one["directions"].items()
                }
            }
            for one in self.records
        ]
        return f"code {self.code} in {self.took_s:.1f} s: {self.err}{shown}"

    @property
    def records(self) -> list[dict[str, Any]]:
        """The run records."""
        return [line["record"] for line in self.of("record")]


class Call:
    """The command line in a process of its own, forked: an import takes 10 s here."""

    def __init__(self, folder: Path, *words: str | Path) -> None:
        self.out, self.err = folder / "out", folder / "err"
        self.words = ["ioplan", *map(str, words)]
        self.out.touch()
        self.err.touch()
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._become()

    def _become(self) -> None:
        code = 70
        try:
            for path, fd in ((self.out, 1), (self.err, 2)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), fd)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
            sys.argv = self.words
            ioplan.cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        finally:
            sys.stdout.flush()
            os._exit(code)

    def says(self, text: str, times: int = 1) -> None:
        """Wait until its standard output has this text so many times."""
        what = f"{times} x {text} in the output of {self.words}"
        until(lambda: self.out.read_text().count(text) >= times, SAID_WITHIN_S, what)

    def end(self) -> Done:
        """Wait for its end; one that hangs is killed, and fails the scenario."""
        deadline = self.began + KILLED_AFTER_S
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"{self.words} hangs; so far: {self._text()}")
            time.sleep(0.05)
        took_s = time.monotonic() - self.began
        return Done(os.waitstatus_to_exitcode(ended[1]), *self._text(), took_s)

    def _text(self) -> tuple[str, str]:
        return self.out.read_text(), self.err.read_text()


def call(folder: Path, *words: str | Path) -> Done:
    """Call ioplan and wait for it."""
    return Call(folder, *words).end()


def until(holds: Callable[[], bool], within_s: float, what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.05)


def sh(*words: str | Path) -> str:
    """Run a program that must succeed; returns what it says."""
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{words}: {done.stderr or done.stdout}"
    return done.stdout


def qmp(execute: str, **arguments: Any) -> None:
    """Tell the machine's emulator something, as `device_del`."""
    sh("vmctl", json.dumps({"execute": execute, "arguments": arguments}))


def namespace(serial: str, nsid: int = 1) -> Path:
    """The node of a namespace: names change places between boots, serials do not."""
    for found in Path("/sys/block").glob("nvme*"):
        try:
            own = (found / "device" / "serial").read_text().strip()
            number = int((found / "nsid").read_text())
        except OSError:  # unplugged at this moment
            continue
        if (own, number) == (serial, nsid) and (Path("/dev") / found.name).exists():
            return Path("/dev") / found.name
    raise LookupError(f"no namespace {nsid} of {serial}")


def plan_file(folder: Path, test: str, name: str = "plan.ioplan") -> Path:
    """A plan of one test."""
    path = folder / name
    path.write_text(f'test "T" {{ {test} }}\n')
    return path


def lab_file(folder: Path, text: str) -> Path:
    """A lab."""
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def mount_store(make: bool = False) -> Path:
    """An ext4 on the SCSI disk, which outlives the machine; the user's key is there."""
    (disk,) = Path("/dev").glob("sd?")
    if make:
        sh("mkfs.ext4", "-q", disk)
    STORE.mkdir()
    sh("mount", disk, STORE)
    os.environ["XDG_STATE_HOME"] = str(STORE)
    return STORE


def row(table: str, **fields: str) -> None:
    """A row for a table of the documents; what differs by boot is made the same."""
    plain = {key: _same(text) for key, text in fields.items()}
    with Path(os.environ["IOPLAN_LAB_ROWS"]).open("a") as file:
        file.write(json.dumps({"table": table, **plain}) + "\n")


class Output(Protocol):
    """What a call of ioplan came to, in this process or in another."""

    @property
    def code(self) -> int: ...

    def of(self, kind: str) -> list[dict[str, Any]]: ...


def refused_row(done: Output, target: str, how: str, folder: Path) -> str:
    """A call with --json that was refused; returns what it said."""
    assert done.code == 2, done
    (error,) = done.of("error")
    text = str(error["text"]).strip().replace(str(folder), "/data")
    row("refused", target=target, error=error["kind"], how=how, message=text)
    return text


def _same(text: str) -> str:
    """A drive that goes away fails its I/Os in one way or the other."""
    text = re.sub(r"nvme\d+n", "nvme0n", text)
    text = re.sub(r"moved only \d+ B", "moved only 12288 B", text)
    return text.replace(
        "short transfer, fewer bytes than asked for", "EIO (Input/output error)"
    )
