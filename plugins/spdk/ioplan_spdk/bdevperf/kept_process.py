"""One bdevperf for many runs of a target, where they need the same one.

It takes half a second to start. Between runs it has no device, so that the next run
finds all as new, and it is paused, as it polls.
"""

from __future__ import annotations

from pathlib import Path

from ioplan.core.context import Closing
from ioplan_spdk.bdevperf.script import Script, command, delete_calls
from ioplan_spdk.bdevperf.session import Session
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.rpc.client import RpcFault


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
