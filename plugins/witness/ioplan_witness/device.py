"""The device's server: found, started, told, and stopped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ioplan.core import CommandFault, ExplainedError
from ioplan.language import WrittenError, read_written
from ioplan.runner.guard import output_file
from ioplan_witness.script import Script

NAME = "ioplan-device"
MAGIC = b"ioplan-device 1\n"
"""How a log begins."""
HERE = Path(__file__).resolve().parent
PLACE = HERE / "bin" / NAME
HOW_TO_BUILD = (
    "the device was not built: install Rust's cargo, then install ioplan again, or "
    "name the program in IOPLAN_DEVICE"
)
STOP_S = 5.0


class DeviceError(ExplainedError):
    """The device cannot be had; the text says why and what to do."""

    kind = CommandFault.BACKEND


class Device(Struct, frozen=True):
    """A device that runs: its folder has the file, and what takes commands."""

    folder: Path
    log: Path

    @property
    def disk(self) -> Path:
        """The file that I/O is done on."""
        return self.folder / "disk"

    def tell(self, command: str) -> None:
        """Give it a command, as `cut`, `off`, `on` or `stop`. Raises DeviceError."""
        try:
            control = os.open(self.folder / "control", os.O_WRONLY)
        except OSError as error:
            raise DeviceError(
                f"no device runs in {self.folder}: {error.strerror}; "
                "`ioplan device start` starts one"
            ) from error
        try:
            os.write(control, command.encode())
        except OSError as error:
            raise DeviceError(f"the device refused to {command}: {error}") from error
        finally:
            with suppress(OSError):  # one that was told to stop may be gone already
                os.close(control)

    def stop(self) -> None:
        """End it, and wait until its folder is empty again. Raises DeviceError."""
        self.tell("stop")
        until_s = time.monotonic() + STOP_S
        while is_mounted(self.folder):
            if time.monotonic() > until_s:
                raise DeviceError(f"{self.folder} is still mounted: is a file open?")
            time.sleep(0.01)


def is_mounted(folder: Path) -> bool:
    """Whether a server, perhaps one that is ending or dead, has the folder."""
    try:
        return folder.is_mount()
    except OSError:
        return True


def program() -> Path:
    """The server's program. Raises DeviceError."""
    named = os.environ.get("IOPLAN_DEVICE")
    place = Path(named) if named else PLACE
    if os.access(place, os.X_OK):
        return place
    raise DeviceError(
        f"IOPLAN_DEVICE names {named}, which cannot be run" if named else HOW_TO_BUILD
    )


def read_script(path: Path) -> Script:
    """The script in a file. Raises DeviceError with each key that is wrong."""
    try:
        return read_written(path, Script, "the script")
    except WrittenError as error:
        raise DeviceError(str(error)) from error


def usual_log(folder: Path) -> Path:
    """Where a device's log lies, unless another place is named."""
    return folder.with_name(folder.name + ".iolog")


def start(script: Script, folder: Path, log: Path | None = None) -> Device:
    """Start a server that outlives this program. Raises DeviceError."""
    if is_mounted(folder):
        raise DeviceError(f"{folder} is mounted already; `ioplan device stop {folder}`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeviceError(f"cannot make {folder}: {error.strerror}") from error
    if any(folder.iterdir()):
        raise DeviceError(f"{folder} is not empty; name an empty folder or a new one")
    device = Device(folder.resolve(), log or usual_log(folder.resolve()))
    _make_log(device.log)
    server = subprocess.Popen(
        [program(), device.folder, device.log],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert server.stdin and server.stdout and server.stderr
    server.stdin.write(json.dumps(script.native()))
    server.stdin.close()
    if server.stdout.readline().strip() != "ready":
        raise DeviceError(_why_not(server.stderr.read().strip()))
    return device


def _make_log(log: Path) -> None:
    """A new file for the server to write to; only a log is replaced."""
    with output_file(log, force=True) as file:
        if log.exists() and not _is_log(log):
            text = f"{log} exists and is no log of a device: name another with --log"
            raise DeviceError(text)
        file.write(MAGIC)


def _is_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def can_mount() -> bool:
    """Whether this user may have a device of FUSE's."""
    opens = os.access("/dev/fuse", os.R_OK | os.W_OK)
    return opens and (os.getuid() == 0 or shutil.which("fusermount3") is not None)


def _why_not(said: str) -> str:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "this machine has no FUSE: /dev/fuse cannot be opened"
    hint = "; without root it needs fusermount3: install fuse3" * (os.getuid() != 0)
    return f"the device did not start: {said or 'it said nothing'}{hint}"


@contextmanager
def running(script: Script, folder: Path, log: Path | None = None) -> Iterator[Device]:
    """A device for as long as the block. Raises DeviceError."""
    device = start(script, folder, log)
    try:
        yield device
    finally:
        device.stop()
