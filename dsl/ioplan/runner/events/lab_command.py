"""A command of the lab file: run without a shell, its output and its time bounded."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

MOST_OUTPUT_BYTES = 4096
PART_BYTES = 1 << 16
LOOK_MS = 50


class CommandEnd(Struct, frozen=True):
    """How a command ended. `error` is empty if it exited with 0."""

    exit_code: int | None
    output: str
    error: str


class CommandCall(Struct, frozen=True):
    """A command, and how long it may take."""

    words: tuple[str, ...]
    timeout_s: float


class Launcher:
    """A process that waits, and then runs one command.

    It is started while the target answers: what is started while the target hangs may
    hang itself, as it closes the target's file.
    """

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, call: CommandCall) -> CommandEnd:
        """Run the command to its end."""
        said, _ = self.process.communicate(encode(call))
        try:
            return decode(said, type=CommandEnd)
        except DecodeError:
            text = f"the process that ran {call.words[0]} was ended"
            return CommandEnd(None, "", text)

    def close(self) -> None:
        """End it, if it has not run its command."""
        if self.process.poll() is None:
            self.process.communicate()


def main() -> None:
    """Run the command that comes by standard input; none, if nothing does."""
    if said := sys.stdin.buffer.read():
        call = decode(said, type=CommandCall)
        end = run_command(call.words, call.timeout_s)
        sys.stdout.buffer.write(encode(end))


def run_command(words: tuple[str, ...], timeout_s: float) -> CommandEnd:
    """Run it to its end; after its time it is killed, with what it has started."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        text = f"{words[0]} cannot be started: {error.strerror}"
        return CommandEnd(None, "", text)
    with process:
        output = _output(process, time.monotonic() + timeout_s)
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            text = f"{words[0]} did not end within {timeout_s:g} s"
            return CommandEnd(None, output, text)
    return CommandEnd(process.returncode, output, _error(words, process, output))


def _output(process: subprocess.Popen[bytes], until_s: float) -> str:
    """The first part of what it prints, until it has ended or its time is over.

    A daemon that it leaves behind may keep its output open: nobody waits for that.
    """
    assert process.stdout
    kept, is_open = b"", True
    poll = select.poll()
    poll.register(process.stdout)
    while time.monotonic() < until_s:
        if is_open and poll.poll(LOOK_MS):
            part = os.read(process.stdout.fileno(), PART_BYTES)
            kept += part[: MOST_OUTPUT_BYTES - len(kept)]
            is_open = bool(part)
        elif process.poll() is not None:
            break
        elif not is_open:
            time.sleep(LOOK_MS / 1000)
    return kept.decode(errors="replace")


def _error(
    words: tuple[str, ...], process: subprocess.Popen[bytes], output: str
) -> str:
    if not process.returncode:
        return ""
    said = "".join(f": {line}" for line in output.strip().splitlines()[-1:])
    return f"{words[0]} exited with {process.returncode}{said}"


if __name__ == "__main__":
    main()
