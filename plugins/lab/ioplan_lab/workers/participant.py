"""The process of a participant: a host's part of a session of several hosts.

Run as `python -m ioplan_lab.workers.participant SESSION`. Its first message has a
`ParticipantCall`. It opens the target as `ioplan run` on this host would, with all
checks of the guard.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from ioplan.backends import Drive, TargetRequest
from ioplan.cli import Choice, prepared_for, resolved_request, usable_backend
from ioplan.core import ExplainedError
from ioplan.results.store import default_path
from ioplan.results.store.session_folder import session_folder
from ioplan.runner import (
    HostError,
    Instruments,
    Limits,
    Placement,
    Prepared,
    host_facts,
    placement_of,
)
from ioplan_lab.cluster.sync.messages import (
    MessageWriter,
    ParticipantCall,
    read_messages,
)
from ioplan_lab.cluster.sync.participant import Participant
from ioplan_lab.programs import PROGRAMS


def main(session: str) -> None:  # only for the guard, which reads command lines
    """Do what the messages say, until they end."""
    send = MessageWriter(os.dup(1))
    os.dup2(2, 1)  # whatever else is printed is no message
    messages = read_messages(0)
    first = next((message["call"] for message in messages if "call" in message), None)
    if first is None:
        return
    call = ParticipantCall.model_validate(first)
    try:
        choice = usable_backend(call.backend, call.lab, list(call.options))
        request = _request(call, choice)
        drive = choice.backend.open(request)
        named = choice.lab.cpus_of(request.entry)
        placement = placement_of(choice.backend, drive.facts, named)
    except ExplainedError as error:
        send("refused", kind=error.kind, text=str(error))
        return
    meter = choice.lab.meter_of(request.entry)
    note = partial(print, file=sys.stderr)
    try:
        with prepared_for(choice, drive.facts, call.session, note) as prepared:
            send("open", **_facts(choice, drive, meter, prepared))
            made = _participant(choice, drive, send, _folder(call), meter, placement)
            made.serve(messages)
    except HostError as error:
        send("refused", kind=error.kind, text=str(error))
    os._exit(0)  # a thread may hang in the kernel


def _folder(call: ParticipantCall) -> Path:
    return session_folder(default_path(), call.session)


def _request(call: ParticipantCall, choice: Choice) -> TargetRequest:
    """Raises TargetError."""
    request = TargetRequest(
        path=call.target,
        overwrite=call.overwrite,
        overwrite_data=call.overwrite_data,
        cannot_see_users=call.cannot_see_users,
        writes=call.writes,
        options=choice.options,
        folder=str(_folder(call)),
        together=call.session,
        participant_program=PROGRAMS.participant,
        leads=call.leads,
    )
    request = resolved_request(request, choice, None)
    return request.model_copy(update={"lab": call.lab_file})


def _facts(
    choice: Choice, drive: Drive, meter: tuple[str, ...], prepared: Prepared
) -> dict[str, Any]:
    virtual = choice.backend.virtual_time
    host = host_facts() if virtual else host_facts(drive.facts, meter)
    return {
        "facts": drive.facts.model_dump(mode="json"),
        "version": choice.backend.availability(choice.options).version,
        "host": host | ({"prepared": prepared} if prepared else {}),
    }


def _participant(
    choice: Choice,
    drive: Drive,
    send: MessageWriter,
    folder: Path,
    meter: tuple[str, ...],
    placement: Placement,
) -> Participant:
    virtual, silence_s = choice.backend.virtual_time, choice.lab.silence_s
    limits = Limits() if silence_s is None else Limits(silence_s=silence_s)
    instruments = None if virtual else Instruments(drive.facts, meter)
    return Participant(drive, virtual, limits, instruments, send, folder, placement)


if __name__ == "__main__":
    main(*sys.argv[1:])
