"""The example of a third party's backend: installed from its own folder, and used."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import paths
import pytest
from examples import call, conforms, installed

pytestmark = pytest.mark.slow

EXAMPLE = paths.ROOT / "examples" / "nbd_backend"
NEEDS_NBDKIT = pytest.mark.skipif(
    shutil.which("nbdkit") is None,
    reason="LEFT OUT: nbdkit is not installed, so no NBD server was used",
)
PLAN = """
precondition filled { write sequential 64KiB, qd 4, 1 pass }
test "Mixed" { after filled run random 4KiB 70/30, qd 8 for 300ms }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed("nbd_backend", tmp_path_factory)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
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
def test_it_is_listed(site: Path) -> None:
    done = call(site, "ioplan.cli", "backends")
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.split()[:1] == ["nbd"])
    assert line.split() == ["nbd", "0.1", "yes"]


@pytest.mark.long
@NEEDS_NBDKIT
def test_a_plan_runs_on_a_server(site: Path, server: str, tmp_path: Path) -> None:
    plan = tmp_path / "p.ioplan"
    plan.write_text(PLAN)
    arguments = ["run", plan, "--backend", "nbd", "--target", server, "--json"]
    arguments += ["--store", tmp_path / "r.db"]
    refused = call(site, "ioplan.cli", *arguments)
    assert refused.returncode == 2 and "--overwrite" in refused.stderr, refused
    done = call(site, "ioplan.cli", *arguments, "--overwrite", server)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    filled, mixed = (one["record"] for one in lines if one["type"] == "record")
    assert filled["total"]["bytes"] == 8 << 20
    assert mixed["backend"]["name"] == "nbd" and mixed["total"]["ios"] > 100


@NEEDS_NBDKIT
@pytest.mark.long
def test_what_it_cannot_do_is_refused_before(
    site: Path, server: str, tmp_path: Path
) -> None:
    plan = tmp_path / "p.ioplan"
    plan.write_text('test "R" { run random 4KiB 100/0, rate 100 iops for 1s }')
    arguments = ["--backend", "nbd", "--target", server, "--store", tmp_path / "r.db"]
    done = call(site, "ioplan.cli", "run", plan, *arguments)
    assert done.returncode == 2 and "does not support 'rate'" in done.stderr, done


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
def test_a_uri_that_leads_nowhere(
    uri: str, said: str, site: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "p.ioplan"
    plan.write_text('test "R" { run random 4KiB 100/0 for 1s }')
    arguments = ["--backend", "nbd", "--target", uri, "--store", tmp_path / "r.db"]
    done = call(site, "ioplan.cli", "run", plan, *arguments)
    assert done.returncode == 2 and said in done.stderr, done


@pytest.mark.long
@NEEDS_NBDKIT
def test_it_conforms(site: Path, tmp_path: Path) -> None:
    conforms(site, tmp_path, EXAMPLE / "test_nbd.py")


def test_it_is_short() -> None:
    text = (EXAMPLE / "ioplan_nbd.py").read_text()
    assert len(text.splitlines()) <= 60
