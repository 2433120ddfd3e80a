"""The process of a lane: `python -m ioplan.cli.workers.lane FOLDER LOCK_FD`.

It does what a person on the host would: `ioplan run`, or `ioplan resume` if the
session has begun. So a lane is like any other session.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ioplan.cli.app import run
from ioplan.cli.display.output import print_message
from ioplan.cli.exit_codes import INTERRUPTED, RUN_FAILED
from ioplan.cluster.jobs.lane import LaneCall
from ioplan.cluster.jobs.lane_folder import LaneFolder
from ioplan.cluster.jobs.locks import locked
from ioplan.store.errors import StoreError
from ioplan.store.store import Store, default_path


def main(folder: str, lock: str) -> None:
    """Do what the lane's call says, and write its exit code to the folder."""
    os.set_inheritable(int(lock), False)  # a backend's process must not keep it
    signal.signal(signal.SIGTERM, _interrupted)
    lane = LaneFolder(Path(folder))
    call = lane.call()
    try:
        with locked(lane.path.parents[1] / "locks", call.locks, _on_wait(lane)):
            code = run(_words(lane, call))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (OSError, StoreError) as error:
        print_message(f"error: {error}")
        code = RUN_FAILED
    sys.stderr.flush()
    lane.finish(lane.state(), code)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _on_wait(lane: LaneFolder) -> Callable[[str], None]:
    """Writes to the lane's state what it waits for."""

    def on_wait(name: str) -> None:
        text = {"message": f"waits for another lane, which has {name}"}
        lane.write_state(lane.state().model_copy(update=text))

    return on_wait


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
