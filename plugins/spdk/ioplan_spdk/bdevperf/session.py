"""A bdevperf that waits for RPC: started, connected, configured, ended."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import IO

from ioplan.backends import SECOND_NS, Closing, Cpu, OwnedProcess, fcntl
from ioplan_spdk.bdevperf.exits import MEMORY, io_failed, why
from ioplan_spdk.bdevperf.script import command
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.rpc.bdev import Call
from ioplan_spdk.rpc.client import Client, RpcClosed, RpcError, RpcFault

PREFIX = "ioplan-spdk-"
BEING_MADE_S = 10
RETRY_S = 0.02
SOCKET, MOST_SOCKET_BYTES = "rpc", 107
"""A socket's name, and the kernel's limit of its path (unix(7))."""
LAST_WORDS_S = 2.0
"""How long it may take to end after it has refused a test, or hung up."""


class Home(Closing):
    """A folder of a session's own, locked until it is removed, in order or by the next
    one: a process that is killed leaves it behind."""

    def __init__(self) -> None:
        parent = _parent()
        for folder in parent.glob(f"{PREFIX}*"):
            _remove_deserted(folder)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._removed = False

    def remove(self) -> None:
        """With all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        """Leave nothing."""
        if not self._removed:
            self._removed = True
            self.remove()
            os.close(self._lock)


def _parent() -> Path:
    """Where temporary files are; /tmp where a socket there had too long a path."""
    usual = Path(tempfile.gettempdir())
    longest = usual / f"{PREFIX}12345678" / SOCKET
    return usual if len(os.fsencode(longest)) <= MOST_SOCKET_BYTES else Path("/tmp")


def _remove_deserted(folder: Path) -> None:
    """Nobody locks it, and it is not being made just now; others' stay."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(fd)
            is_mine = status.st_uid == os.geteuid()
            if is_mine and time.time() - status.st_mtime > BEING_MADE_S:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)


class BdevperfError(Exception):
    """bdevperf cannot do what it was started for. `cause` is a word for it."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class BdevperfProcess(OwnedProcess):
    """What it prints goes to files without a name, so that it never waits for a reader,
    and no end of this process leaves them behind."""

    def __init__(self, arguments: list[str]) -> None:
        """Raises OSError when it cannot be started."""
        self._out = tempfile.TemporaryFile()  # noqa: SIM115, see close
        self._printed_before = self._errors_before = 0
        try:
            super().__init__(arguments, stdout=self._out)
        except BaseException:
            self._out.close()
            raise

    def begin(self) -> None:
        """A new run: what was printed before is of another."""
        self._printed_before = os.fstat(self._out.fileno()).st_size
        self._errors_before = os.fstat(self._errors.fileno()).st_size

    def output(self) -> str:
        """What it printed in this run."""
        return _text(self._out, self._printed_before)

    def error_text(self) -> str:
        """What it wrote to standard error in this run."""
        return _text(self._errors, self._errors_before)

    def messages(self) -> str:
        """All that it wrote, its errors first."""
        return self.error_text() + self.output()

    def pause(self) -> None:
        """SIGSTOP: it polls, and would take a CPU from what is measured meanwhile."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """SIGTERM, which one that is paused would not take."""
        self.go_on()
        super().stop()

    def cpu(self) -> Cpu:
        """CPU time so far; nothing once it is gone."""
        try:
            stat = Path(f"/proc/{self.popen.pid}/stat").read_text()
        except OSError:
            return Cpu()
        user, system = stat.rpartition(")")[2].split()[11:13]
        tick_ns = SECOND_NS // os.sysconf("SC_CLK_TCK")
        return Cpu(user_ns=int(user) * tick_ns, system_ns=int(system) * tick_ns)

    def close(self) -> None:
        """End it."""
        super().close()
        if not self.is_running:
            self._out.close()


def _text(file: IO[bytes], begin: int) -> str:
    fd = file.fileno()
    return os.pread(fd, os.fstat(fd).st_size - begin, begin).decode(errors="replace")


class Session(Closing):
    """One process and two connections: for the test, and for its statistics."""

    def __init__(
        self,
        program: Path,
        options: SpdkOptions,
        bdev: str,
        pci: str = "",
        extra: tuple[str, ...] = (),
    ) -> None:
        # It is not in the session's folder, whose path may be too long.
        self._home = Home()
        self.socket, self.options = self._home.path / SOCKET, options
        self.arguments = command(program, self.socket, options, bdev, pci, extra)
        self._clients: list[Client] = []
        self.stopped, self.deadline_s = False, inf
        try:
            self.process = BdevperfProcess(self.arguments)
        except OSError as error:
            self._home.close()
            raise BdevperfError(
                "no-backend", f"cannot start {program}: {error}"
            ) from error

    def clients(self) -> tuple[Client, Client]:
        """Both connections, for the test and for its statistics. The socket is removed
        then: no end of this process, however sudden, leaves it behind.

        Raises BdevperfError.
        """
        while len(self._clients) < 2:
            self.connect()
        self._home.remove()
        main, side = self._clients
        side.timeout_s = min(main.timeout_s, self.options.patience_s)
        return main, side

    def begin(self) -> None:
        """A new run of a process that was kept."""
        self.process.go_on()
        self.process.begin()
        self.deadline_s = inf

    def keep(self, folder: Path) -> None:
        """What it printed in this run, beside the run's record."""
        (folder / "stdout").write_text(self.process.output())
        (folder / "stderr").write_text(self.process.error_text())

    def connect(self) -> Client:
        """A connection, as soon as it answers. Raises BdevperfError."""
        deadline = time.monotonic() + self.options.startup_s
        while True:
            try:
                client = Client(self.socket, self.options.patience_s)
            except OSError:
                self._check_start(deadline)
                time.sleep(RETRY_S)
            else:
                self._clients.append(client)
                return client

    def _check_start(self, deadline: float) -> None:
        code = self.process.code
        if code is not None:
            raise BdevperfError(
                "no-start", f"bdevperf did not start: {self._why(code)}"
            )
        if time.monotonic() > deadline:
            self.process.kill()
            raise BdevperfError(
                "no-start",
                f"bdevperf did not answer within {self.options.startup_s:g} s; "
                f"give it longer by --option startup_s=",
            )

    def stop(self) -> None:
        """Somebody wants it to end."""
        self.stopped = True
        self.end_test()

    def expect_end(self, wait_s: float) -> None:
        """A test is to end within that time; one that somebody has stopped before it
        began, at once."""
        if not self.stopped:
            self.deadline_s = time.monotonic() + wait_s

    def end_test(self) -> None:
        """SIGTERM. Some hangs ignore it, so it is not waited for without an end."""
        self.deadline_s = min(self.deadline_s, time.monotonic() + self.process.grace_s)
        self.process.stop()

    def configure(self, client: Client, calls: tuple[Call, ...]) -> None:
        """Make its devices. Raises BdevperfError with what is wrong with them."""
        for call in calls:
            try:
                client.call(call.method, call.params)
            except RpcFault as fault:
                raise self.fault(fault) from fault

    def fault(self, fault: RpcFault) -> BdevperfError:
        """What a request that came to nothing means; waits for the last words."""
        closed = isinstance(fault, RpcClosed)
        tested = isinstance(fault, RpcError) and fault.method == "perform_tests"
        code = self.process.wait(LAST_WORDS_S) if closed or tested else None
        if closed:
            return BdevperfError("backend-died", f"bdevperf is gone: {self._why(code)}")
        if isinstance(fault, RpcError) and fault.code == -errno.ENOMEM:
            return BdevperfError("refused", f"bdevperf: {fault}; {MEMORY}")
        cause = "refused" if isinstance(fault, RpcError) else "hung"
        if tested and io_failed(self.process.messages()):
            cause = "device-error"
        return BdevperfError(cause, f"bdevperf: {fault}; {self._why(code)}")

    def _why(self, code: int | None) -> str:
        return why(code, self.process.messages())

    def close(self) -> None:
        """End the process and the connections, and leave no files."""
        for client in self._clients:
            client.close()
        self.process.close()
        self._home.close()
