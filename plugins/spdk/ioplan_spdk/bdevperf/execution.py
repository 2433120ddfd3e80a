"""One run: a bdevperf is started, configured, tested, and ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ioplan.backends import (
    NOTHING_ISSUED,
    Closing,
    Event,
    Failure,
    Job,
    Result,
    Started,
)
from ioplan_spdk.bdevperf.exits import why
from ioplan_spdk.bdevperf.outcome import NotBegun, UnsoundTest
from ioplan_spdk.bdevperf.script import (
    Script,
    command,
    delete_calls,
    native,
    reset_calls,
    script_of,
)
from ioplan_spdk.bdevperf.session import BdevperfError, Session
from ioplan_spdk.bdevperf.timed_test import TimedTest
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.polled_cpus import warned
from ioplan_spdk.rpc.client import BadReply, Client, RpcFault
from ioplan_spdk.target_spec import fabric_fault

# One bdevperf for many runs of a target, where they need the same one.
#
# It takes half a second to start. Between runs it has no device, so that the next run
# finds all as new, and it is paused, as it polls.


class KeptProcess(Closing):
    """The one that is kept, if there is one."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._words: list[str] = []

    def take(self, program: Path, options: SpdkOptions, script: Script) -> Session:
        """A session for a run. Raises BdevperfError."""
        run = script.run_on, script.pci, script.extra
        words = command(program, "", options, *run)
        kept, self._session = self._session, None
        if kept and words == self._words and kept.process.is_running:
            kept.begin()
            return kept
        if kept:
            kept.close()
        self._words = words
        return Session(program, options, *run)

    def give_back(self, session: Session, script: Script) -> None:
        """After a run that was sound; one whose devices stay is of no more use."""
        main, _ = session.clients()
        try:
            for call in delete_calls(script):
                main.call(call.method, call.params)
        except RpcFault:
            session.close()
            return
        session.process.pause()
        self._session = session

    def close(self) -> None:
        """End it."""
        kept, self._session = self._session, None
        if kept:
            kept.close()


class SpdkExecution(Closing):
    """A run under way. Iterate once."""

    def __init__(
        self,
        program: Path,
        options: SpdkOptions,
        job: Job,
        folder: Path | None = None,
        kept: KeptProcess | None = None,
        warning: str = "",
    ) -> None:
        """`kept` may have a process for it, and is given back what is sound; `warning`
        is of the CPUs that it gets, for the Result."""
        self._warning = warning
        self.cpus = [] if options.mask else list(job.cpus[:1])
        self.options, self.job = options.on_cpus(job.cpus), job
        self.script: Script = script_of(job, options)
        self.session: Session | None = None
        self.program, self.folder, self._kept = program, folder, kept
        self._is_sound = self._is_closed = False
        self.start_error: BdevperfError | None = None
        self._keep_native()
        try:
            kept = kept or KeptProcess()
            self.session = kept.take(program, self.options, self.script)
        except BdevperfError as error:
            self.start_error = error

    def _keep_native(self) -> None:
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = native(self.job, self.options)
            (self.folder / "native.txt").write_text(text + "\n")

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure; whatever goes wrong is a Failure."""
        if self.session is None:
            assert self.start_error
            cause = self.start_error.cause
            yield Failure(cause=cause, message=str(self.start_error))
            return
        try:
            yield from self._run(self.session)
        except (BdevperfError, UnsoundTest, RpcFault, BadReply) as error:
            yield self._ended(self.session, error)

    def stop(self) -> None:
        """SIGTERM: the test ends, and tells what it did."""
        if self.session and not self._is_closed:
            self.session.stop()

    def kill(self) -> None:
        """SIGKILL."""
        if self.session and not self._is_closed:
            self.session.stopped = True
            self.session.process.kill()

    def close(self) -> None:
        """Leave no I/O behind, and no process that cannot be kept."""
        session, was_closed = self.session, self._is_closed
        self._is_closed = True
        if session is None or was_closed:
            return
        if self.folder:
            session.keep(self.folder)
        if self._kept and self._is_sound and not session.stopped:
            self._kept.give_back(session, self.script)
        else:
            session.close()

    def _ended(self, session: Session, error: Exception) -> Event:
        """A run that came to no figures."""
        if session.stopped and _is_its_end(error):
            return Result(run_ns=0, stopped=True, streams=())  # before it had begun
        if isinstance(error, RpcFault):
            error = session.fault(error)
        messages = session.process.messages()
        if found := fabric_fault(self.script.target, messages):
            return found.model_copy(update={"message": f"{found.message} ({error})"})
        if isinstance(error, BadReply):
            return Failure(cause="backend-garbage", message=f"bdevperf: {error}")
        message = str(error)
        if isinstance(error, UnsoundTest) and error.cause == "device-error":
            message += f"; {why(session.process.code, messages)}"
        return Failure(cause=getattr(error, "cause", "backend-died"), message=message)

    def _run(self, session: Session) -> Iterator[Event]:
        main, side = session.clients()
        session.configure(main, self.script.calls)
        yield self._started(main, session)
        interval_ns = self.job.interval_ns
        if self.script.warmup_s and not session.stopped:
            warmup = TimedTest(session, main, side, self.script, warmup=True)
            yield from warmup.run(interval_ns)
        for call in reset_calls(self.script):
            side.call(call.method, call.params)
        test = TimedTest(session, main, side, self.script, warmup=False)
        for event in test.run(interval_ns):
            self._is_sound = isinstance(event, Result) and session.process.is_running
            yield warned(event, self._warning)

    def _started(self, main: Client, session: Session) -> Started:
        found = main.call("spdk_get_version")
        version = found.get("version", "") if isinstance(found, dict) else ""
        return Started(
            mode=f"bdevperf on {self.script.target.kind}",
            reason="without hugepages" if self.options.no_huge else "",
            facts={
                "driver": "bdevperf",
                NOTHING_ISSUED: True,
                "spdk": str(version),
                "command": " ".join(session.arguments),
                "bdev": self.script.run_on,
                "cpus": self.cpus,
            },
        )


def _is_its_end(error: Exception) -> bool:
    """Whether the process is gone, as stop() wanted: while it starts, that looks
    like one that cannot start."""
    if isinstance(error, BdevperfError):
        return error.cause in ("no-start", "backend-died")
    return isinstance(error, RpcFault | NotBegun)
