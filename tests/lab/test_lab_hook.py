"""A host's hook is told of each drive job's end, once."""

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from command import ioplan, plan_file, refuse

from ioplan.runner import read_lab
from ioplan_lab import Hook, Keeper, drive_jobs_root

PLAN = 'test "T" { run random 4KiB 100/0 for 100ms }'
LAB = 'backend = "sim"\n[targets.a]\npath = "/sim/a"\n[targets.b]\npath = "/sim/b"\n'
KEEP = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"
FAIL = "import sys; sys.exit('no such channel')"


@pytest.fixture
def root(tmp_path, store_path):
    """Two drive jobs of this host that have ended."""
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    words = ("--target", "a", "--target", "b", "--create", "1GiB")
    done = ioplan("run", plan_file(tmp_path, PLAN), "--lab", lab, *words)
    assert done.code == 0, done.err
    return drive_jobs_root(store_path)


def tell_all(root, *hook, most_s=30):
    """As a worker that begins does, until each was told."""
    keeper = Keeper(root, Hook(hook, most_s))
    until_s = time.monotonic() + 30
    while len(keeper.told) < 2:
        keeper.look()
        assert time.monotonic() < until_s
        time.sleep(0.02)
    return list(keeper.folders.values())


def again(folder):
    """As if it had ended just now."""
    (folder.path / "hook").unlink()


@pytest.mark.slow
def test_a_command_has_the_job_on_its_input_once(root, tmp_path):
    file = tmp_path / "told"
    for _ in range(2):  # the second is a worker after a kill
        folders = tell_all(root, sys.executable, "-c", KEEP, str(file))
    told = sorted(
        map(json.loads, file.read_text().splitlines()), key=lambda j: j["drives"]
    )
    assert [(one["drives"], one["status"], one["runs"]) for one in told] == [
        (["a"], "ok", 1),
        (["b"], "ok", 1),
    ]
    assert {one["session"] for one in told} == {one.path.name for one in folders}
    again(folders[0])  # one that was killed before the program had ended
    tell_all(root, sys.executable, "-c", KEEP, str(file))
    assert len(file.read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hook", "why"),
    [
        ((sys.executable, "-c", FAIL), "the hook failed: exit code 1: no such channel"),
        (
            (sys.executable, "-c", "import time; time.sleep(9)"),
            "it has not ended after",
        ),
        (("/nowhere/hook",), "No such file"),
        (("http://127.0.0.1:1/",), "Connection refused"),
    ],
    ids=["fails", "hangs", "not there", "away"],
)
def test_a_failure_is_shown_and_ends_nothing(root, hook, why, capfd):
    for folder in tell_all(root, *hook, most_s=0.5):
        assert folder.state().status == "ok"
    assert capfd.readouterr().err.count("hook: ") == 2
    told = ioplan("lab", "status")
    assert told.code == 0
    assert " ".join(told.out.split()).count(why) == 2


@pytest.fixture
def posted():
    """An address, and what was posted there."""
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/ioplan", got
        server.shutdown()


@pytest.mark.slow
def test_an_address_gets_it_posted(root, posted):
    address, got = posted
    tell_all(root, address)
    assert sorted(json.loads(one)["drives"] for one in got) == [["a"], ["b"]]


def test_a_hook_is_words_or_an_address(tmp_path):
    lab = tmp_path / "lab.toml"
    for said, words in (
        ('["logger", "-t", "ioplan"]', ("logger", "-t", "ioplan")),
        ('"https://chat/x"', ("https://chat/x",)),
    ):
        lab.write_text(f"hook = {said}\n")
        assert read_lab(lab).hook == words
    lab.write_text('hook = "logger; rm -rf /"\n')
    text = re.escape("hook: a command is a list of words")
    assert re.search(text, refuse("hook", "targets", "--lab", lab).err)
