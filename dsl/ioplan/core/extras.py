"""Libraries of an extra: who calls without them gets the command that installs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def needed(what: str, extra: str, error: Callable[[str], Exception]) -> Iterator[None]:
    """Around an import: `what` begins the text of the error, as "schedules need"."""
    try:
        yield
    except ModuleNotFoundError as missing:
        text = f"{what} {missing.name}: pip install 'ioplan[{extra}]'"
        raise error(text) from missing
