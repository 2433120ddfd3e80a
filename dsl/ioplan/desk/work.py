"""What a desk does by itself, in threads beside its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from ioplan.core.error_kinds import ExplainedError

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
        except ExplainedError as error:
            if str(error) != trouble:
                said(str(error))
            trouble = str(error)
        ended.wait(look_s)


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
