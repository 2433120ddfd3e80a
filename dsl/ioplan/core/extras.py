"""Libraries of an extra: who calls without them gets the command that installs them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shlex import quote


def install_command(extra: str) -> str:
    """What installs an extra where ioplan is.

    Another Python's pip would look for a package of that name in its index, which is
    not ours.
    """
    return f"{quote(sys.executable)} -m pip install 'ioplan[{extra}]'"


@contextmanager
def needed(what: str, extra: str, error: Callable[[str], Exception]) -> Iterator[None]:
    """Around an import: `what` begins the text of the error, as "schedules need"."""
    try:
        yield
    except ModuleNotFoundError as missing:
        text = f"{what} {missing.name}: {install_command(extra)}"
        raise error(text) from missing
