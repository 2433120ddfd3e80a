"""The examples of backends of a third party: a program's, and a Python package's."""

import contextlib
import json
import shutil
import subprocess
import time

import paths
import pytest
from examples import call, conforms, installed

from golden import Golden
from ioplan.backends import BackendError, TargetRequest
from ioplan.job import PROTOCOL, Failure, Started
from ioplan.process.backend import ProcessBackend
from ioplan_io_uring import engine_path
from ioplan_testing import job

pytestmark = pytest.mark.slow

EXAMPLE = paths.ROOT / "examples" / "process_backend"
NEEDS_CC = pytest.mark.skipif(
    shutil.which("cc") is None, reason="LEFT OUT: there is no C compiler"
)
START = """echo '{"event":"started","protocol":1,"mode":"x"}';"""
RESULT = """echo '{"event":"result","run_ns":1,"streams":[]}';"""
LIARS = Golden("liars")


class ShellBackend(ProcessBackend):
    """A shell in place of a program."""

    name, version = "shell", "1"

    def __init__(self, text):
        self.text = text

    def command(self, options):
        return ["sh", "-c", f"read -r job; {self.text}"]


def scratch(folder):
    path = folder / "scratch.bin"
    path.write_bytes(bytes(1 << 20))
    return TargetRequest(path=str(path))


def events_of(backend, folder):
    drive = backend.open(scratch(folder))
    try:
        with drive.start(job(drive.facts)) as execution:
            return list(execution)
    finally:
        drive.close()


@pytest.mark.long_but_first
@pytest.mark.parametrize("liar", LIARS)
def test_a_liar_gets_one_clear_error(liar, tmp_path):
    *others, last = events_of(ShellBackend(LIARS[liar].input), tmp_path)
    assert isinstance(last, Failure), last
    expected = LIARS[liar].expected
    assert last.cause == expected["cause"] and expected["says"] in last.message, last
    assert last.message.startswith("the program sh ") and len(last.message) < 600
    assert not any(isinstance(one, Failure) for one in others)


@pytest.mark.parametrize(
    ("fields", "started"),
    [
        ('"facts":{"cpus":[0,1]}', {"mode": "x", "facts": {"cpus": [0, 1]}}),
        ('"reason":"no io_uring here"', {"mode": "x", "reason": "no io_uring here"}),
    ],
)
def test_the_first_event_is_read_whole(fields, started, tmp_path):
    begun = START.replace("}'", f",{fields}}}'")
    first, *_ = events_of(ShellBackend(begun + RESULT), tmp_path)
    assert first == Started(protocol=PROTOCOL, **started)


def test_its_own_failure_is_the_end(tmp_path):
    failure = '{"event":"failure","cause":"open","message":"no such lake"}'
    (last,) = events_of(ShellBackend(f"echo '{failure}'; exit 1"), tmp_path)
    assert last == Failure(cause="open", message="no such lake")


def test_a_program_that_is_not_there(tmp_path):
    class Missing(ProcessBackend):
        def command(self, options):
            return ["ioplan-is-not-there"]

    assert not Missing().availability({}).usable
    with pytest.raises(BackendError, match="no program ioplan-is-not-there"):
        Missing().open(scratch(tmp_path))


def engine_says(line):
    """What the engine does with a line; the end of its stdin would end it as well."""
    command = [engine_path(), "run", "--lifeline"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as engine:
        assert engine.stdin and engine.stdout
        with contextlib.suppress(BrokenPipeError):
            engine.stdin.write(line)
            engine.stdin.flush()
        if not line.endswith("\n"):
            with contextlib.suppress(BrokenPipeError):
                engine.stdin.close()
        events = [json.loads(one) for one in engine.stdout]
    return engine.returncode, events


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"protocol": 2, "new": {}}\n', "is of protocol 2, and this engine speaks"),
        ("x" * (17 << 20), "longer than 16777216 bytes"),
        ("{}", "has no end"),
    ],
)
def test_the_engine_refuses_such_a_job(line, said):
    code, (event,) = engine_says(line)
    assert (code, event["event"], event["cause"]) == (1, "failure", "bad-job")
    assert said in event["message"], event


def test_a_job_names_its_protocol(tmp_path):
    failure = """printf '%s' "$job" >{}; echo '{{"event":"failure","cause":"open","message":""}}'"""
    told = tmp_path / "told"
    events_of(ShellBackend(failure.format(told)), tmp_path)
    asked = json.loads(told.read_text())
    assert asked["protocol"] == PROTOCOL and "hosts" not in asked["streams"][0]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the example's package, and its program."""
    folder = installed("process_backend", tmp_path_factory)
    program, source = folder / "ioplan-pthreads", EXAMPLE / "pthreads.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["cc", *flags, "-o", program, source], check=True)
    return folder


@pytest.mark.long
@NEEDS_CC
def test_the_example_conforms(site, tmp_path):
    names = ("test_pthreads.py", "pthreads.c", "json.h")
    conforms(site, tmp_path, *(EXAMPLE / name for name in names))


# the example of a third party's backend: installed from its own folder, and used

NBD = paths.ROOT / "examples" / "nbd_backend"
NEEDS_NBDKIT = pytest.mark.skipif(
    shutil.which("nbdkit") is None,
    reason="LEFT OUT: nbdkit is not installed, so no NBD server was used",
)
PLAN = """
precondition filled { write sequential 64KiB, qd 4, 1 pass }
test "Mixed" { after filled run random 4KiB 70/30, qd 8 for 300ms }
"""


@pytest.fixture(scope="module")
def nbd_site(tmp_path_factory):
    return installed("nbd_backend", tmp_path_factory)


@pytest.fixture
def server(tmp_path):
    """The URI of a server with 8 MiB in memory."""
    path, ready = tmp_path / "s.sock", tmp_path / "ready"
    command = ["nbdkit", "--foreground", "--exit-with-parent", "--pidfile", ready]
    command += ["--unix", path, "memory", "8M"]
    with subprocess.Popen(command) as process:
        while not ready.exists() and process.poll() is None:
            time.sleep(0.005)
        yield f"nbd+unix:///?socket={path}"
        process.kill()


@pytest.mark.long
@NEEDS_NBDKIT
def test_a_plan_runs_on_a_server(nbd_site, server, tmp_path):
    plan = tmp_path / "p.ioplan"
    plan.write_text(PLAN)
    arguments = ["run", plan, "--backend", "nbd", "--target", server, "--json"]
    arguments += ["--store", tmp_path / "r.db"]
    refused = call(nbd_site, "ioplan.cli", *arguments)
    assert refused.returncode == 2 and "--overwrite" in refused.stderr, refused
    done = call(nbd_site, "ioplan.cli", *arguments, "--overwrite", server)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    filled, mixed = (one["record"] for one in lines if one["type"] == "record")
    assert filled["total"]["bytes"] == 8 << 20
    assert mixed["backend"]["name"] == "nbd" and mixed["total"]["ios"] > 100


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("nbd+unix:///?socket=/nowhere/s", "cannot connect"),
        ("nbd+unix:///", "cannot connect"),
        ("http://host/x", "no NBD URI"),
        ("nbd://127.0.0.1:1/", "refused"),
    ],
)
def test_a_uri_that_leads_nowhere(uri, said, nbd_site, tmp_path):
    plan = tmp_path / "p.ioplan"
    plan.write_text('test "R" { run random 4KiB 100/0 for 1s }')
    arguments = ["--backend", "nbd", "--target", uri, "--store", tmp_path / "r.db"]
    done = call(nbd_site, "ioplan.cli", "run", plan, *arguments)
    assert done.returncode == 2 and said in done.stderr, done


@pytest.mark.long
@NEEDS_NBDKIT
def test_it_conforms(nbd_site, tmp_path):
    conforms(nbd_site, tmp_path, NBD / "test_nbd.py")
