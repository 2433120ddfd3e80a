"""Commands of plug-ins: a stranger's, broken ones, and the core without its own."""

import os
import shutil
import subprocess
import sys

import paths
import pytest
from command import program

pytestmark = pytest.mark.slow

EXAMPLE = paths.ROOT / "examples" / "worst_command"
PLAN = """test "Reads" { run random 4KiB 100/0 for 200ms vary qd in 1, 4 }
test "Writes" { run random 4KiB 0/100, qd 2 for 200ms }"""
TWIN = """
from ioplan.cli.interface.declare import Command
COMMANDS = (Command("run", "Another run.", "twin:run"),)
"""
REPLAY = 'trace a = "sample.iotrace"\ntest "A" { run replay a }'
LAB = """
backend = "sim"
[targets]
one.path = "one.bin"
two.path = "two.bin"
[groups]
both = ["one", "two"]
"""


def caller(folder, *packages, module="ioplan.cli"):
    """Calls ioplan in a folder, with packages on Python's path."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, packages))}
    env |= {"IOPLAN_STORE": str(folder / "results.db")}

    def call(*words):
        words = (sys.executable, "-m", module, *words)
        return program(*words, env=env, timeout=120, cwd=folder)

    return call


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the example, as pip installs it."""
    folder, copy = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source")
    shutil.copytree(EXAMPLE, copy / "it", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", folder, copy / "it"]
    subprocess.run(command, check=True)
    return folder


def package(folder, name, text):
    """A folder with an installed package that has a command."""
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    group = "[ioplan.commands]"
    (info / "entry_points.txt").write_text(f"{group}\n{name} = {name}:COMMANDS\n")
    (folder / f"{name}.py").write_text(text)
    return folder


@pytest.mark.long
def test_a_strangers_command_works_as_ours(installed, tmp_path):
    call = caller(tmp_path, installed)
    (tmp_path / "p.ioplan").write_text(PLAN)
    done = call("run", "p.ioplan", "--backend", "sim", "--create", "64MiB")
    assert done.returncode == 0, done.stderr
    done = call("worst", "last", "-n", "2")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2 and "µs  " in done.stdout
    assert "Show the cells of a session with the longest" in call("--help").stdout
    assert "default 3" in call("worst", "--help").stdout
    done = call("worst", "--counts", "2")
    assert done.returncode == 2 and "No such option" in done.stderr
    assert "--count" in done.stderr


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("OTHER = ()", "has no attribute 'COMMANDS'"),
        ("COMMANDS = ('run',)", "is no tuple of Command and Group"),
        ("raise SystemError('x')", "SystemError: x"),
        (TWIN, "there is a command `run` already"),
    ],
)
def test_a_bad_one_is_left_out_and_stops_nothing(text, why, tmp_path):
    call = caller(tmp_path, package(tmp_path / "site", "twin", text))
    (tmp_path / "p.ioplan").write_text(PLAN)
    done = call("check", "p.ioplan")
    assert done.returncode == 0, done.stderr
    assert "commands of the plug-in 'twin' are left out: " in done.stderr
    assert why in " ".join(done.stderr.split())
    if text == TWIN:  # and `run` is ours
        done = call("run", "p.ioplan", "--backend", "sim", "--create", "64MiB")
        assert done.returncode == 0 and "Reads" in done.stdout


@pytest.mark.long
def test_the_main_job_needs_none_of_ours(tmp_path):
    """From plan to report with the folders of the plug-ins deleted."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(paths.ROOT / "dsl" / "ioplan", tmp_path / "ioplan", ignore=ignored)
    for folder in ("fio", "io_uring", "sim", "spdk"):
        name = f"ioplan_{folder}"
        shutil.copytree(paths.ROOT / "plugins" / folder / name, tmp_path / name)
    (tmp_path / "without.py").write_text(
        "import sys\n"
        f"sys.path = [p for p in sys.path if not p.startswith({str(paths.ROOT)!r})"
        " or 'site-packages' in p]\n"
        "from ioplan.cli import main\n"
        "sys.exit(main())\n"
    )
    (tmp_path / "p.ioplan").write_text(PLAN)
    call = caller(tmp_path, tmp_path, module="without")
    for words in (
        ("run", "p.ioplan", "--target", "scratch.bin", "--create", "64MiB"),
        ("run", "p.ioplan", "--backend", "sim", "--create", "64MiB"),
        ("resume", "last"),
        ("show", "last"),
        ("report", "last", "-o", "report.html"),
        ("doctor", "--json"),
    ):
        done = call(*words)
        assert done.returncode in (0, 1), (words, done.stderr)
        assert "Traceback" not in done.stderr
        for plugin in ("editor", "importer", "lab"):
            text = f"No module named 'ioplan_{plugin}'"
            assert done.stderr.count(text) == 1, (words, done.stderr)
    assert (tmp_path / "report.html").stat().st_size > 100_000
    shutil.copy(paths.ROOT / "plans" / "std" / "sample.iotrace", tmp_path)
    (tmp_path / "r.ioplan").write_text(REPLAY)
    assert call("run", "r.ioplan", "--backend", "sim", "--create", "64MiB").stdout
    done = call("bundle", "last", "-o", "b.ioplan-bundle", "--redact")
    assert done.returncode == 0, done.stderr
    assert "no plug-in that makes one is installed" in " ".join(done.stderr.split())
    assert call("import", "x.fio").returncode == 2
    (tmp_path / "lab.toml").write_text(LAB)
    (tmp_path / "lab.toml").chmod(0o600)
    done = call("run", "p.ioplan", "--target", "both", "--lab", "lab.toml")
    assert done.returncode == 2, done.stderr
    assert "need the plug-in ioplan_lab" in done.stderr
    assert call("lab", "check").returncode == 2
