"""One run of a program: a job goes in, events come out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.core.child import OwnedProcess
from ioplan.job import PROTOCOL, Event, Failure, Job, Result
from ioplan.process.lines import SHOWN, BadLineError, EventOrder, LineReader

HELD = "IOPLAN_TARGET_HELD"
"""In the environment, the descriptors of the targets, which are locked by them."""


def job_text(
    job: Job, more: Mapping[str, Any] | None = None, indent: int | None = None
) -> str:
    """The job as a program reads it: of one host, with the backend's own fields."""
    fields = {"protocol": PROTOCOL} | job.model_dump(mode="json")
    for stream in fields["streams"]:
        del stream["hosts"], stream["targets"]
    return json.dumps(fields | dict(more or {}), indent=indent)


class ProcessExecution(OwnedProcess):
    """A running program; SIGTERM ends its I/O, and it gives its result.

    Its stdin stays open for as long as it runs: the kernel closes it however ioplan
    ends, and that ends the program, whichever thread has started it.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        job: str,
        *,
        who: str,
        held_fds: Sequence[int] = (),
        kept_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`job` is JSON in one line. `held_fds` are the locked targets, which the
        program holds as well: nobody else takes them while there still is one. `who`
        is what messages call the program; `kept_fds` are inherited.

        Raises OSError when it cannot be started."""
        self.who = who
        held = {HELD: ",".join(map(str, held_fds))} if held_fds else {}
        super().__init__(
            command,
            stdin=subprocess.PIPE,
            # What was checked is what is opened, and it is held exclusively meanwhile.
            environment={**held, **(environment or {})},
            kept_fds=(*held_fds, *kept_fds),
            dies_with_parent=False,
        )
        self._send(job)

    def _send(self, line: str) -> None:
        assert self.popen.stdin
        # One that has ended already tells why by its events or its exit code.
        with suppress(BrokenPipeError):
            self.popen.stdin.write(line.encode() + b"\n")
            self.popen.stdin.flush()

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure. Whatever else the program does is a Failure:
        it dies, does not end, or prints what is not of the protocol."""
        assert self.popen.stdout
        lines, order = LineReader(self.popen.stdout.fileno()), EventOrder()
        try:
            while (line := lines.next(self._patience_s(order.last))) is not None:
                yield order.read(line)
                if isinstance(order.last, Failure):
                    return
        except BadLineError as error:
            yield Failure(cause=error.cause, message=f"{self.who} {error}")
            return
        except TimeoutError:
            yield self._endless()
            return
        yield from self._end(order.last)

    def _patience_s(self, last: Event | None) -> float | None:
        """Before its result, the runner's watchdog decides."""
        return self.grace_s if isinstance(last, Result) else None

    def _end(self, last: Event | None) -> Iterator[Failure]:
        code = self.wait()
        if code is None:
            yield self._endless()
        elif code or not isinstance(last, Result):
            yield self._death(code, "after" if isinstance(last, Result) else "before")

    def go(self, at_ns: int) -> None:
        """Begin at that time of CLOCK_REALTIME; for a job that awaits its start."""
        self._send(json.dumps({"start_at_ns": at_ns}))

    def _endless(self) -> Failure:
        return Failure(
            cause="backend-died",
            message=f"{self.who} printed its last event and did not exit within "
            f"{self.grace_s:g} s",
        )

    def _death(self, code: int, when: str) -> Failure:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        text = self.error_text()[-SHOWN:].strip()
        reason = f", and said: {text}" if text else ""
        return Failure(
            cause="backend-died",
            message=f"{self.who} {how} {when} its result{reason}; run it again, and "
            f"report it if it happens again",
        )
