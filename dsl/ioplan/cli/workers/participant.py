"""A host's part in a session of several hosts.

Run as `python -m ioplan.cli.workers.participant SESSION`.

Its first line is a `PartCall`. It opens the target as `ioplan run` at this host would,
with all of the guard.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ioplan.backends import Drive, TargetRequest
from ioplan.cli.choose import Choice, resolved_request, usable
from ioplan.cluster.sync.participant import Part, PartCall, Voice, lines_of
from ioplan.core.error_kinds import ExplainedError
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.host_facts import host_facts
from ioplan.store.store import default_path
from ioplan.telemetry.instruments import Instruments


def main(session: str) -> None:  # the word is there to be seen from outside
    """Do what the lines say, until they end."""
    voice = Voice(os.dup(1))
    os.dup2(2, 1)  # whatever else is printed is no line of ours
    lines = lines_of(0)
    call = next((line["call"] for line in lines if "call" in line), None)
    if call is None:
        return
    call = PartCall.model_validate(call)
    try:
        choice = usable(call.backend, call.lab, list(call.options))
        request = _request(call, choice)
        drive = choice.backend.open(request)
    except ExplainedError as error:
        voice("refused", text=str(error))
        return
    meter = choice.lab.meter_of(request.entry)
    voice("open", **_said_of(choice, drive, meter))
    _part(choice, drive, voice, _folder(call), meter).serve(lines)
    os._exit(0)  # a thread may hang in the kernel


def _folder(call: PartCall) -> Path:
    return default_path().absolute().parent / "sessions" / call.session


def _request(call: PartCall, choice: Choice) -> TargetRequest:
    """Raises TargetError."""
    request = TargetRequest(
        path=call.target,
        overwrite=call.overwrite,
        writes=call.writes,
        options=choice.options,
        folder=str(_folder(call)),
        together=call.session,
        leads=call.leads,
    )
    request = resolved_request(request, choice, None)
    return request.model_copy(update={"lab": call.lab_file})


def _said_of(choice: Choice, drive: Drive, meter: tuple[str, ...]) -> dict[str, Any]:
    virtual = choice.backend.virtual_time
    return {
        "facts": drive.facts.model_dump(mode="json"),
        "version": choice.backend.availability(choice.options).version,
        "host": host_facts() if virtual else host_facts(drive.facts, meter),
    }


def _part(
    choice: Choice, drive: Drive, voice: Voice, folder: Path, meter: tuple[str, ...]
) -> Part:
    virtual, silence_s = choice.backend.virtual_time, choice.lab.silence_s
    limits = Limits() if silence_s is None else Limits(silence_s=silence_s)
    instruments = None if virtual else Instruments(drive.facts, meter)
    return Part(drive, virtual, limits, instruments, voice, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
