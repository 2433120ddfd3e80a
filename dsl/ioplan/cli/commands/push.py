"""`ioplan push`: results of this host into the store that a lab shares."""

from __future__ import annotations

from pathlib import Path

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.lab.lab import Lab
from ioplan.lab.lab_file import read_lab
from ioplan.store.errors import StoreError
from ioplan.store.push import push
from ioplan.store.store import Store, default_path


def push_sessions(
    sessions: list[str], to: str | None, lab: Path | None, store: Path | None
) -> None:
    """Send what is missing there. Raises UsageError, LabError, StoreError."""
    console = Terminal(highlight=False)
    place = to or read_lab(lab).results
    if not place:
        raise UsageError(
            'where to? add --to postgresql://HOST/DATABASE, or write results = "…" '
            "into the lab file"
        )
    with Store.open(store or default_path()) as local, Store.at(place) as shared:
        ids = [local.session(key).id for key in sessions]
        sent = list(push(local, shared, ids))
        for one in sent:
            console.print(f"{one.session}: {one.runs} runs", soft_wrap=True)
        runs = sum(one.runs for one in sent)
        text = f"{len(sent)} sessions, {runs} runs sent to {shared.where}"
        console.print(text, soft_wrap=True)


def push_after(store: Store, lab: Lab, session: str) -> None:
    """A session that has ended, to the place that the lab names; never an error."""
    assert lab.results
    try:
        with Store.at(lab.results) as shared:
            list(push(store, shared, [session]))
    except StoreError as error:
        print_message(f"note: not pushed yet: {error}; later: ioplan push {session}")
