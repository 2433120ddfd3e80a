"""What docs/labs.md shows of a lab, done there line by line; the example for Slurm."""

import os
import re
import shlex

import pytest
from command import program
from paths import ROOT
from postgres import NEEDS_POSTGRES
from small_lab import IOPLAN, small_lab

pytestmark = [*NEEDS_POSTGRES, pytest.mark.long]
CHAPTER = (ROOT / "docs/labs.md").read_text().split("## Running")[1].split("\n## ")[0]
DRIVES = """UPDATE lab.drive SET model = 'ACME 9100', firmware = '2.4', life_used = 7,
  tags = '{qual}'"""
OURS = {"8 x model": "2 x model", "gen5-1": "d1", "gen5-2": "d2"}
JOB = re.compile(r"\b\d{8}-\d{6}-\w+")
CONSENTS = ("targets", "lab consent")
"""Of the drives of this machine; tests of the lists have these commands."""
ENDED = "SELECT bool_and(ended_at IS NOT NULL) FROM lab.drive_job"


def lines():
    for block in re.findall(r"^```sh\n(.*?)^```", CHAPTER, re.S | re.M):
        yield from block.splitlines()


def ours(line):
    """Its words, on the drives that there are."""
    for theirs, our in OURS.items():
        line = line.replace(theirs, our)
    words = shlex.split(line, comments=True)[1:]
    if "--overwrite-from" in words:
        at = words.index("--overwrite-from")
        words[at : at + 2] = []
    return [*words, "--create", "16MiB"] if "plan.ioplan" in words else words


@pytest.fixture
def lab(tmp_path):
    with small_lab(tmp_path / "lab") as made:
        made.execute(DRIVES)
        yield made


def test_each_line_works(lab, monkeypatch):
    """By an admin, on simulated drives of other names; a job is the last one."""
    monkeypatch.chdir(lab.folder)
    lab.plan()
    calls = [words for words in map(ours, lines()) if not is_consent(words)]
    assert len(calls) == 12
    for words in calls:
        last = str(lab.value("SELECT max(id) FROM lab.job"))
        lab.root.ok(*(JOB.sub(last, word) for word in words))
    assert lab.value("SELECT count(*) FROM lab.schedule") == 1
    lab.wait(lambda: bool(lab.value(ENDED)))


def is_consent(words):
    return " ".join(words).startswith(CONSENTS)


def test_a_job_of_slurm_sends_its_results_and_goes_on_after_a_requeue(lab, tmp_path):
    """`srun` is played; the role is that of a host."""
    programs = tmp_path / "bin"
    programs.mkdir()
    called = {"srun": 'exec "$@"', "ioplan": f'exec {shlex.join(IOPLAN)} "$@"'}
    for name, text in called.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    own |= {"PLAN": str(lab.plan()), "TARGET": str(tmp_path / "scratch")}
    own |= {"IOPLAN_STORE": str(tmp_path / "n.db"), "RESULTS": lab.of("host_h1")}
    script = (ROOT / "examples/lab/slurm.sh", "--create", "16MiB", "--backend", "sim")
    for restarts, shown in (("0", "1 sessions, 4 runs"), ("1", "0 sessions, 0 runs")):
        environment = {**os.environ, **own, "SLURM_RESTART_COUNT": restarts}
        done = program(*script, env=environment)
        assert done.returncode == 0, done.stderr
        assert f"{shown} sent to" in done.stdout + done.stderr
    query = "SELECT host_name, person LIKE '%@h1', tags FROM session"
    assert lab.rows(query) == [("h1", True, '["slurm=7"]')]
    assert lab.value("SELECT count(*) FROM run") == 4
