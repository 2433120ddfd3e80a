"""The drives of a lab beside their states."""

from __future__ import annotations

from msgspec import Struct

from ioplan.runner import Lab
from ioplan_lab.desk.database import stamp, time_in_words
from ioplan_lab.desk.inventory import Busy
from ioplan_lab.desk.queue.drives import DriveState, DriveStates
from ioplan_lab.desk.queue.queue import Queue


class DriveRow(Struct, frozen=True):
    """A drive by its lab name; `why` says more on its state, `by` what runs on it."""

    drive: str
    host: str
    state: DriveState
    why: str = ""
    by: str = ""


def drive_rows(
    lab: Lab, states: DriveStates, queue: Queue, running: Busy
) -> list[DriveRow]:
    """Each of the lab's, in its order; `running` knows all lanes. Raises StoreError."""
    now, busy = stamp(), dict[str, str]()
    for one in queue.held():
        text = f"#{one.number} {one.plan} ({one.person})"
        busy |= dict.fromkeys(one.drives, text)
    for name, entry in lab.targets.items():
        if name not in busy and (text := running.on(name, entry)):
            busy[name] = text
    rows = []
    for name, entry in lab.targets.items():
        state = states.state(name, busy, now)
        held = states.reservation(name, now)
        out = states.out.get(name)
        why = out.text if out else busy.get(name) or (held.text if held else "")
        if since := states.gone.get(name):
            why = "; ".join(filter(None, (f"gone since {time_in_words(since)}", why)))
        host = entry.host or ", ".join(entry.hosts)
        rows.append(DriveRow(name, host, state, why, busy.get(name, "")))
    return rows
