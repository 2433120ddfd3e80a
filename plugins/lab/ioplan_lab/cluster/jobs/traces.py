"""The traces of a lane's plan: found on its host by the SHA-256 of their content.

A job has what planning knows of a trace, and not the trace itself: that may have
gigabytes, and data of people. On the host that plans it is linked; to another it is
copied by hand, once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from errno import ENOENT
from pathlib import Path

from ioplan.results.store import make_own
from ioplan.trace import FILES, TraceError, is_facts, recorded_trace, surveyed

TRACES = "traces"


def offer(texts: Iterable[str], lanes: Path) -> None:
    """Link the traces of a plan that was checked here. Raises OSError."""
    for text in filter(is_facts, texts):
        place = _place(text, lanes)
        if found := FILES.get(place.stem):
            make_own(place.parent)
            place.unlink(missing_ok=True)
            place.symlink_to(found)


def put(file: Path, text: str, lanes: Path) -> None:
    """A file of the plan in a lane's folder; of a trace, the same file, or a copy.

    Raises OSError where it is not on this host, or another one has its place.
    """
    if not is_facts(text):
        file.write_text(text)
        return
    place = _place(text, lanes)
    try:
        sound = surveyed(place).digest == place.stem
    except (TraceError, OSError):
        sound = False
    if not sound:
        why = f"the trace {file.name} is not on this host: copy it there as {place}"
        raise FileNotFoundError(ENOENT, why)
    # a plan takes no file that a link puts into its folder
    try:
        os.link(place.resolve(), file)
    except OSError:  # of another file system
        shutil.copyfile(place, file)


def _place(text: str, lanes: Path) -> Path:
    return lanes.parent / TRACES / f"{recorded_trace(text).facts.digest}.iotrace"
