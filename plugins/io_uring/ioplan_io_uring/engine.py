"""Where the engine is, and what it says of this machine."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from ioplan.backends import BackendError

NAME = "ioplan-engine"
HERE = Path(__file__).resolve().parent
PLACES = (HERE / "bin" / NAME, HERE.parent / "engine" / "target" / "release" / NAME)
HOW_TO_BUILD = (
    "the engine was not built: install Rust's cargo, then install ioplan again, or "
    "name the program in IOPLAN_ENGINE"
)
PROBE_S = 20


def engine_path() -> Path:
    """The engine's program. Raises BackendError."""
    named = os.environ.get("IOPLAN_ENGINE")
    if named:
        if not os.access(named, os.X_OK):
            raise BackendError(f"IOPLAN_ENGINE names {named}, which cannot be run")
        return Path(named)
    for place in PLACES:
        if os.access(place, os.X_OK):
            return place
    raise BackendError(HOW_TO_BUILD)


def probe(path: str) -> dict[str, Any]:
    """What the engine says of itself, of io_uring and of a path; asked once."""
    return _probed(engine_path(), path)


def clock_reading(program: Path) -> dict[str, str]:
    """For the environment of a run: the engine's clocks as its last probe saw them.

    Where there was none, the run takes 10 ms longer to begin.
    """
    return CLOCKS.get(program, {})


CLOCKS: dict[Path, dict[str, str]] = {}


@cache
def _probed(program: Path, path: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [program, "probe", path],
            capture_output=True,
            timeout=PROBE_S,
            text=True,
            check=False,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise BackendError(f"the engine {program} does not answer: {error}") from error
    if not isinstance(found, dict):
        raise BackendError(f"the engine {program} sent an invalid answer")
    if reading := found.get("clock"):
        CLOCKS[program] = {"IOPLAN_CLOCK": str(reading)}
    return found
