"""A lane's process: `python -m ioplan.cli.workers.lane FOLDER LOCK`.

It does what a person at the host would: `ioplan run`, or `ioplan resume` where the
session has begun. So all that holds for one host holds for a lane.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ioplan.cli.app import run
from ioplan.cli.display.output import say
from ioplan.cli.exit_codes import INTERRUPTED, RUN_FAILED
from ioplan.cluster.jobs.lane import LaneCall
from ioplan.cluster.jobs.lane_folder import LaneFolder
from ioplan.cluster.jobs.locks import held
from ioplan.store.errors import StoreError
from ioplan.store.store import Store, default_path


def main(folder: str, lock: str) -> None:
    """Do what the lane was told, and leave its exit code there."""
    os.set_inheritable(int(lock), False)  # what does the I/O must not keep it
    signal.signal(signal.SIGTERM, _interrupted)
    lane = LaneFolder(Path(folder))
    call = lane.call()
    try:
        with held(lane.path.parents[1] / "locks", call.locks, _waiting(lane)):
            code = run(_words(lane, call))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (OSError, StoreError) as error:
        say(f"error: {error}")
        code = RUN_FAILED
    sys.stderr.flush()
    lane.end(lane.state(), code)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _waiting(lane: LaneFolder) -> Callable[[str], None]:
    """Tells for what it waits."""

    def tell(name: str) -> None:
        text = {"message": f"waits for another lane, which has {name}"}
        lane.tell(lane.state().model_copy(update=text))

    return tell


def _words(lane: LaneFolder, call: LaneCall) -> list[str]:
    store = Path(call.store).expanduser() if call.store else default_path()
    same = ["--store", str(store), "--lane", str(lane.path), "--quiet"]
    if _has_begun(store, call.session):
        return ["resume", call.session, *same]
    lab, plan = str(lane.path / "lab.toml"), str(lane.path / call.plan)
    target = ["--target", call.target, "--lab", lab]
    return ["run", plan, *target, *call.args, *same]


def _has_begun(store: Path, session: str) -> bool:
    if not store.exists():
        return False
    with Store.open(store) as found:
        return any(one.id == session for one in found.sessions())


if __name__ == "__main__":
    main(*sys.argv[1:])
