"""What a desk does by itself, in threads beside its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from ioplan.core import ExplainedError

LOOK_S = 2.0
ENDING_S = 10.0
Turn = Callable[[], None]
Said = Callable[[str], None]


def repeat(turn: Turn, ended: Event, said: Said, look_s: float = LOOK_S) -> None:
    """A turn again and again until told to end; a database that is away is waited for.

    Each trouble is said once.
    """
    trouble = ""
    while not ended.is_set():
        try:
            turn()
            trouble = ""
        except Exception as error:  # whatever it is, the next turn may do
            text = _told(error)
            if text != trouble:
                said(text)
            trouble = text
        ended.wait(look_s)


def _told(error: Exception) -> str:
    if isinstance(error, ExplainedError):
        return str(error)
    kind = type(error).__name__
    return f"ioplan itself failed, please report it: {kind}: {error}"


@contextmanager
def at_work(turns: Sequence[Turn], said: Said) -> Iterator[None]:
    """A thread for each turn while the block runs."""
    ended = Event()
    threads = [
        Thread(target=repeat, args=(turn, ended, said), daemon=True) for turn in turns
    ]
    for one in threads:
        one.start()
    try:
        yield
    finally:
        ended.set()
        for one in threads:
            one.join(ENDING_S)
