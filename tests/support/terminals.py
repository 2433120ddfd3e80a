"""Calls the command line on a terminal, as a person sees it."""

import os
import pty
import signal
import sys

from ioplan.cli import main


def on_a_terminal(*words, cwd):
    """All that a person's terminal would be sent."""
    pid, fd = pty.fork()
    if pid == 0:
        _become([str(word) for word in words], cwd)
    chunks = []
    while True:
        try:
            chunk = os.read(fd, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(fd)
    os.waitpid(pid, 0)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def _outputs():
    return os.fdopen(1, "w"), os.fdopen(2, "w")


def _become(words, cwd):
    """The command itself, in a process that has all of it loaded already."""
    signal.alarm(60)
    try:
        os.chdir(cwd)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), *_outputs()
        sys.argv = ["ioplan", *words]
        main()
    except SystemExit as end:
        print(f"exit code {end.code}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
