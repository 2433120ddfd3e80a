"""The engine where the kernel forbids it a ring: in its sync mode."""

import sys

import paths

from ioplan_io_uring import engine_path


def engine_without_io_uring(folder):
    """A program in the folder that is that engine."""
    forbid = f"exec {sys.executable} {paths.SUPPORT}/forbid_io_uring.py"
    script = folder / "engine"
    script.write_text(f'#!/bin/sh\n{forbid} {engine_path()} "$@"\n')
    script.chmod(0o755)
    return str(script)
