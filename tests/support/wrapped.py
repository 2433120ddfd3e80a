"""Runs of a true backend of which something is changed on the way."""

from collections.abc import Callable, Iterator
from typing import Any, Self

from ioplan.backends import Drive, Execution
from ioplan.job import Event, Job


class Wrapped:
    """An execution, but for what a subclass does to it."""

    def __init__(self, inner: Execution) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Event]:
        for event in self.inner:
            yield from self.events(event)

    def events(self, event: Event) -> Iterator[Event]:
        yield event

    def stop(self) -> None:
        self.inner.stop()

    def kill(self) -> None:
        self.inner.kill()

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self.inner.__exit__(*why)


class WrappedDrive:
    """A drive whose runs are wrapped."""

    def __init__(self, inner: Drive, run: Callable[[Drive, Job], Wrapped]) -> None:
        self.inner, self.run, self.facts = inner, run, inner.facts

    def start(self, job: Job) -> Wrapped:
        return self.run(self.inner, job)

    def close(self) -> None:
        self.inner.close()
