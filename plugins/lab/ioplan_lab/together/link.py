"""A link to each host: a program such as ssh, with a participant behind it.

Over it the hosts' clocks are compared, as NTP does (RFC 5905, section 8): a question is
sent at t1, the answer has the other clock's time t2 and arrives at t3. If both ways
take equally long, the other clock is ahead by t2 - (t1 + t3) / 2; otherwise the error
is at most half the round trip, (t3 - t1) / 2.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from subprocess import PIPE
from threading import Event, Thread
from typing import NamedTuple

from ioplan.backends import (
    BackendError,
    OwnedProcess,
    ProgressCallback,
    ignore_progress,
)
from ioplan.core import Cause, ClusterFault
from ioplan.runner.guard import TargetError
from ioplan_lab.together.messages import Message, Writer, messages

STARTUP_S = 30.0
"""ssh and the participant need some time before the first answer."""
END_S = 35.0
"""A participant waits for its backend, which it may have to kill."""
POLL_S, PING_S, BURST_S = 0.5, 1.0, 0.004
CLOCK_S, PATIENT_S = 5.0, 1.0
MIN_EXCHANGES, MAX_EXCHANGES, GOOD_NS = 8, 40, 300_000
"""On a busy machine most exchanges are slow: more are tried for one that is not."""
NO_LOGIN, NO_PROGRAM = 255, 127
"""Exit codes of ssh, and of what is to start a program."""
Received = tuple[str, Message]
"""A host, and a message of its participant."""


class Offset(NamedTuple):
    """The other clock minus this one, and first how uncertain that is."""

    uncertainty_ns: int
    offset_ns: int


class Link:
    """One host. `words` are the command that runs the participant there."""

    def __init__(
        self, host: str, words: Sequence[str], received: SimpleQueue[Received]
    ) -> None:
        """Raises BackendError."""
        self.host, self.words, self.received = host, words, received
        self.is_lost, self.has_answered = Event(), False
        self.clocks: deque[Offset] = deque(maxlen=MAX_EXCHANGES)
        try:
            self.process = OwnedProcess(words, stdin=PIPE, dies_with_parent=False)
        except OSError as error:
            text = f"{host}: cannot run {words[0]}: {error.strerror}; install it here"
            raise BackendError(text, ClusterFault.NO_SSH) from error
        assert self.process.popen.stdin and self.process.popen.stdout
        self.stdout = self.process.popen.stdout
        self.writer = Writer(self.process.popen.stdin)
        self.listener = Thread(target=self._listen, daemon=True)
        self.listener.start()
        Thread(target=self._ping, daemon=True).start()

    def send(self, message: Message) -> None:
        """Send it, unless the host is lost; the listener notices it, too."""
        with suppress(OSError, ValueError):
            self.writer(message)

    def order(self, message: Message) -> None:
        """Begin something. Raises BackendError where the host is lost."""
        if self.is_lost.is_set():
            text = f"{self.host} is lost; when it is back, continue with ioplan resume"
            raise BackendError(text, Cause.HOST_LOST)
        self.send(message)

    def _ask_clock(self) -> None:
        self.send(Message(what="clock", sent_ns=time.time_ns()))

    def _ping(self) -> None:
        """A participant that receives nothing ends its I/O."""
        while not self.is_lost.wait(PING_S):
            self._ask_clock()

    def _listen(self) -> None:
        try:
            for message in messages(self.stdout.fileno(), STARTUP_S):
                self._take(message, time.time_ns())
            text, kind = self._ended()
        except TimeoutError as error:
            text, kind = f"it is lost ({error})", Cause.HOST_LOST
        except BackendError as error:
            text, kind = f"its answer cannot be read: {error} there", error.kind
        self.is_lost.set()
        self.received.put((self.host, Message(what="lost", text=text, error=kind)))

    def _take(self, message: Message, now_ns: int) -> None:
        self.has_answered = True
        if message.what == "clock":
            offset_ns = message.at_ns - (message.sent_ns + now_ns) // 2
            uncertainty_ns = (now_ns - message.sent_ns + 1) // 2
            self.clocks.append(Offset(uncertainty_ns, offset_ns))
        else:
            self.received.put((self.host, message))

    def _ended(self) -> tuple[str, str]:
        """Why the program that is the link has ended, and the kind of that."""
        code = self.process.wait(PING_S)
        told = self.process.error_text().strip().rpartition("\n")[2].strip()
        if self.has_answered:
            text = f"it is lost ({told or f'its link ended with exit code {code}'})"
            return text, Cause.HOST_LOST
        if code == NO_LOGIN and self.words[0] == "ssh":
            text = f"{told}; it must be possible to log in without a password"
            return text, ClusterFault.HOST_UNREACHABLE
        if code == NO_PROGRAM:
            text = f"there is no ioplan: {told}; set `program` in [hosts.{self.host}]"
            return text, ClusterFault.NO_IOPLAN
        text = f"its ioplan does not take part (exit code {code}): {told}"
        return text, ClusterFault.VERSION_MISMATCH

    def offset(self) -> Offset:
        """The host's clock, compared now. Raises BackendError."""
        self.clocks.clear()
        begun_s, passed_s = time.monotonic(), 0.0
        while passed_s < CLOCK_S and not self.is_lost.wait(BURST_S):
            self._ask_clock()
            known, passed_s = sorted(self.clocks), time.monotonic() - begun_s
            if len(known) < MIN_EXCHANGES:
                continue
            is_last = passed_s > PATIENT_S or len(known) == MAX_EXCHANGES
            if is_last or known[0].uncertainty_ns <= GOOD_NS:
                return known[0]
        text = f"{self.host}: it is lost (it does not tell the time)"
        raise BackendError(text, Cause.HOST_LOST)

    def cut(self) -> None:
        """End the link by force; without input, the participant ends its I/O."""
        self.is_lost.set()
        self.process.kill()

    def close(self, until_s: float) -> None:
        """Wait until the participant has ended."""
        if not self.is_lost.is_set():
            self.process.wait(max(0.0, until_s - time.monotonic()))
        self.cut()
        self.listener.join()
        self.process.close()


class Links(dict[str, Link]):
    """All hosts of a session. Their messages come into one queue."""

    def __init__(self) -> None:
        self.received: SimpleQueue[Received] = SimpleQueue()

    def start(self, commands: Mapping[str, Sequence[str]]) -> None:
        """Run a participant on each host. Raises BackendError."""
        for host, words in commands.items():
            self[host] = Link(host, words, self.received)

    def receive(self) -> tuple[str, Message | None]:
        """The next message of any host, if there is one soon."""
        try:
            return self.received.get(timeout=POLL_S)
        except Empty:
            return "", None

    def ask(
        self,
        host: str,
        message: Message,
        on_progress: ProgressCallback = ignore_progress,
    ) -> Message:
        """Send a message; returns the answer. Raises BackendError, TargetError."""
        self[host].order(message)
        while True:
            where, answer = self.receive()
            match answer:
                case Message(what="failed") if message.call:
                    raise TargetError(f"{where}: {answer.text}", answer.error)
                case Message(what="failed" | "lost"):
                    raise BackendError(f"{where}: {answer.text}", answer.error)
                case Message(what="share"):
                    on_progress(answer.share)
                case Message(what="opened" | "done") if where == host:
                    return answer

    def offsets(self, hosts: Sequence[str]) -> dict[str, Offset]:
        """The hosts' clocks, compared now. Raises BackendError."""
        with ThreadPoolExecutor(len(hosts)) as threads:
            found = threads.map(lambda host: self[host].offset(), hosts)
            return dict(zip(hosts, found, strict=True))

    def close(self) -> None:
        """End all participants, which put back what they have set on their hosts."""
        for link in self.values():
            link.writer.close()
        until_s = time.monotonic() + END_S
        for link in self.values():
            link.close(until_s)
