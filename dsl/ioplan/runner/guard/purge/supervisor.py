"""Runs a program that erases, and ends it and all that it started when ioplan ends.

    python supervisor.py PROGRAM WORD… <LIFELINE

It is a process of its own, and the lifeline is a pipe that the kernel closes however
ioplan ends. A signal at that moment (PR_SET_PDEATHSIG) would reach the program, but
not what the program has started.
"""

import os
import select
import signal
import subprocess
import sys

LIFELINE_FD = 0
NOT_FOUND = 127
"""As a shell returns it; a program ended by a signal gives 128 + its number, too."""


def main(words: list[str]) -> int:
    """Run the program until it or ioplan ends; returns its exit code.

    What it leaves running is killed, as it would write during later measurements.
    """
    try:
        program = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            close_fds=False,  # the target stays open, and so locked
            process_group=0,
        )
    except OSError as error:
        os.write(1, str(error.strerror).encode())
        return NOT_FOUND
    select.select([LIFELINE_FD, os.pidfd_open(program.pid)], [], [])
    os.killpg(program.pid, signal.SIGKILL)
    code = program.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
