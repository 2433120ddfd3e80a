"""A session that writes to a target, and is killed in the middle of it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ioplan.runner import openers
from ioplan.runner.devices.facts import file_facts
from ioplan.runner.guard.known_content import known_content

AT_WORK = """
import os, signal, sys
from ioplan.backends import TargetRequest
from ioplan.runner.guard.target import open_target
target = open_target(TargetRequest.model_validate_json(sys.argv[1]))
target.check_use()
engine = os.open(f"/proc/self/fd/{target.fd}", os.O_RDWR)
target.ignore_openings()
os.pwrite(engine, os.urandom(1 << 20), 0)
if "alone" in sys.argv:
    target.survivor.stop()
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_session(request, *, survived=True):
    """`survived`: what watches over the session is not killed along with it."""
    seen = request.model_copy(update={"cannot_see_users": True})  # in a container, too
    words = [sys.executable, "-c", AT_WORK, seen.model_dump_json()]
    done = subprocess.run([*words, *([] if survived else ["alone"])], check=False)
    assert done.returncode == -signal.SIGKILL
    wait_for_survivor(Path(request.path or ""))


def wait_for_survivor(path):
    """Until nothing that a killed session left behind has the target open."""
    deadline_s = time.monotonic() + 60
    while openers(path.stat()):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def left_unknown(path):
    """As after a session on a scratch file that was killed with all that it started."""
    fd = os.open(path, os.O_RDONLY)
    known_content(file_facts(path, fd)).begin()
    os.close(fd)


def kill_at_work(words, out, steps=1):
    """Kill a call of the command line, and all in its group, in its I/O of a step."""
    call = [sys.executable, "-m", "ioplan.cli", *map(str, words)]
    with out.open("wb") as file:
        process = subprocess.Popen(
            call, stdout=file, stderr=file, start_new_session=True
        )
    while not _is_at_work(out.read_text(), steps):
        assert process.poll() is None, out.read_text()[-2000:]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _is_at_work(text, steps):
    kinds = [json.loads(line).get("type") for line in text.splitlines(True)[:-1]]
    return kinds.count("step") >= steps and kinds[-1:] == ["progress"]
