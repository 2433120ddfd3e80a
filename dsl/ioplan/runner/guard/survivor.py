"""What outlives a killed session, to note what the session left on its target.

A shell waits for the end of the session, which costs nothing, and then becomes this
program. It shares the session's descriptor of the target, so the target stays locked
until its content is noted. Where that process is killed too, or the host loses its
power, nothing is noted, and the content is unknown.

Another program's write during the session shows in how the target was opened: inotify
tells each opening and closing, and the session's own come before the first I/O of a
run.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from ioplan.backends.backend import TargetFacts
from ioplan.core.system import O_CLOEXEC, libc
from ioplan.runner.devices.file_id import key_of
from ioplan.runner.devices.open_files import writers
from ioplan.runner.devices.write_evidence import write_counters
from ioplan.runner.guard.known_content import KILLED, known_content

IN_CLOSE_WRITE, IN_CLOSE_NOWRITE, IN_OPEN, IN_Q_OVERFLOW = 0x8, 0x10, 0x20, 0x4000
EVENT = struct.Struct("iIII")
"""Of inotify(7): watch, mask, cookie, length of a name, which a file does not have."""
READ_BYTES = 1 << 16
WAITING = ("/bin/sh", "-c", 'read -r _; exec "$@"', "sh")
PROGRAM = "ioplan.runner.guard.survivor"
END_S, POLL_S = 5.0, 0.02
"""How long the session's own processes may take to end after it."""


class Openings:
    """How a target was opened and closed since the session's own were discarded."""

    def __init__(self, fd: int) -> None:
        self.fd, self.masks = fd, list[int]()

    @classmethod
    def of(cls, target: int) -> Openings:
        """Raises OSError where the kernel tells none."""
        fd = libc().inotify_init1(os.O_NONBLOCK | O_CLOEXEC)
        path = f"/proc/self/fd/{target}".encode()
        mask = ctypes.c_uint32(IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
        if fd >= 0 and libc().inotify_add_watch(fd, path, mask) < 0:
            os.close(fd)
            fd = -1
        if fd < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        return cls(fd)

    def discard(self) -> bool:
        """Those until now are the session's own; whether there was one."""
        self._read()
        opened = any(mask & IN_OPEN for mask in self.masks)
        self.masks = []
        return opened

    def has_writer(self) -> bool:
        """Whether one was not a reader's, which is closed as a reader's at once."""
        self._read()
        if any(mask & IN_Q_OVERFLOW for mask in self.masks):
            return True
        pairs = pairwise([*self.masks, 0])
        return any(a & IN_OPEN and not b & IN_CLOSE_NOWRITE for a, b in pairs)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while events := os.read(self.fd, READ_BYTES):
                self.masks += [mask for _, mask, _, _ in EVENT.iter_unpack(events)]


class Survivor:
    """The process that waits for the end of this one, which holds its other end."""

    def __init__(self, facts: TargetFacts, target: int) -> None:
        """Raises OSError where it cannot be started."""
        self.facts, self.openings, self.is_taken = facts, Openings.of(target), False
        self.has_opened = False
        self.beat = os.memfd_create("counters")
        end, self.lifeline = os.pipe()
        self.note()
        fds = (target, self.openings.fd, self.beat)
        words = (facts.model_dump_json(), *map(str, fds))
        self.process = subprocess.Popen(
            [*WAITING, sys.executable, "-P", "-m", PROGRAM, *words],
            stdin=end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=fds,
        )
        os.close(end)

    def note(self) -> None:
        """Between two runs: keep the write counters, and see who opened the target."""
        if self.has_opened and self.openings.has_writer():
            self.is_taken = True
        self.openings.discard()
        self.has_opened = False
        counters = _counters(self.facts)
        os.pwrite(self.beat, counters, 0)
        os.ftruncate(self.beat, len(counters))

    def ignore_openings(self) -> None:
        """The session has opened the target. Where it has not (fio opens it later), who
        opens it from now on cannot be told."""
        self.has_opened = self.openings.discard()

    def stop(self) -> None:
        """End it without a word; further calls do nothing."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
            for fd in (self.lifeline, self.beat, self.openings.fd):
                os.close(fd)


def survive(facts: TargetFacts, target: int) -> Survivor | None:
    """Without one, the content is unknown after a kill."""
    with suppress(OSError):
        return Survivor(facts, target)
    return None


def _counters(facts: TargetFacts) -> bytes:
    return repr(sorted(write_counters(facts).items())).encode()


def main(words: Sequence[str]) -> None:
    """The session is dead: note what it has left, if nobody else can have written."""
    facts = TargetFacts.model_validate_json(words[0])
    target, openings, beat = map(int, words[1:])
    known = known_content(facts)
    if not (known.kept and known.kept.writing) or not _is_alone(target):
        return
    is_unwritten = os.pread(beat, READ_BYTES, 0) == _counters(facts)
    if is_unwritten or not Openings(openings).has_writer():
        known.learn(target, KILLED)


def _is_alone(target: int) -> bool:
    deadline_s = time.monotonic() + END_S
    while writers({key_of(os.fstat(target)): ""}):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(POLL_S)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
