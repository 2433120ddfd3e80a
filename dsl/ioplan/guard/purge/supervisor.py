"""A process of its own beside a program that erases: it ends all of it with ioplan.

    python supervisor.py PROGRAM WORD… <LIFELINE

The lifeline is a pipe that the kernel closes however ioplan ends. A signal at that
moment (PR_SET_PDEATHSIG) would reach the program, and none that it has started.
"""

import os
import select
import signal
import subprocess
import sys

LIFELINE = 0
NOT_FOUND = 127
"""As a shell has it; and 128 and the signal's number for what a signal ended."""


def main(words: list[str]) -> int:
    """Run it to its end, or to ioplan's; returns its exit code.

    What it leaves running is ended too: it would write to what is measured next.
    """
    try:
        program = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            close_fds=False,  # the target's stays open, and so the target locked
            process_group=0,
        )
    except OSError as error:
        os.write(1, str(error.strerror).encode())
        return NOT_FOUND
    select.select([LIFELINE, os.pidfd_open(program.pid)], [], [])
    os.killpg(program.pid, signal.SIGKILL)
    code = program.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
