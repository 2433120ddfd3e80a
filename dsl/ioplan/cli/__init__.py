"""The command `ioplan`. What a command needs is imported once it is called."""

from __future__ import annotations

import gc
import os
import sys
from importlib.util import find_spec

from ioplan.cli.exit_codes import INTERRUPTED, USAGE
from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)

COMPILED = {
    "_ctypes": "libffi", "_lzma": "liblzma", "_sqlite3": "sqlite3", "zlib": "zlib"
}  # fmt: skip
"""Modules of Python's own that one built by hand may lack, and the library of each."""


def tune_startup() -> None:
    """For the start of a process: imports are to take little time and memory.

    Garbage is collected once a command is imported, which makes none. What numpy is
    used for needs no thread on each CPU, which spins there before it sleeps. Pydantic
    looks for plugins of its own in all installed packages, unless it is told not to.
    """
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    """The entry point; Ctrl-C ends it in one line while it is still being imported."""
    tune_startup()
    _check_python()
    try:
        from ioplan.cli.app import run  # noqa: PLC0415

        code = run(sys.argv[1:])
        gc.freeze()  # as it ends, Python would search all for garbage: one start's time
        sys.exit(code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _check_python() -> None:
    """End with one error on a Python that lacks a module, and not in a call's midst."""
    if lacking := [name for name in COMPILED if find_spec(name) is None]:
        libraries = " and ".join(COMPILED[name] for name in lacking)
        sys.stderr.write(
            f"error: {sys.executable} was built without {' and '.join(lacking)},\n"
            f"which ioplan needs; build that Python with the headers of {libraries},\n"
            f"or install ioplan with another Python\n"
        )
        sys.exit(USAGE)
