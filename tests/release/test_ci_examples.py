"""The files for CI and clusters: the script is run, the rest is whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from command import ioplan, program
from paths import ROOT

CI = ROOT / "examples" / "ci"
CLUSTER = ROOT / "examples" / "kubernetes"
PLAN = 'test "R" { run random 4KiB 100/0 for 1s vary qd in 1, 4 expect p99 < LIMIT }'


def measured(
    folder: Path, branch: str, limit: str = "1s"
) -> subprocess.CompletedProcess[str]:
    """The script as a pipeline of a branch calls it."""
    (folder / "p.ioplan").write_text(PLAN.replace("LIMIT", limit))
    own = {"PLAN": "p.ioplan", "BRANCH": branch, "BACKEND": "sim", "STORE": "kept/r.db"}
    own |= {"IOPLAN": f"{sys.executable} -m ioplan.cli", "GITHUB_ACTIONS": "true"}
    return program(CI / "measure.sh", cwd=folder, env={**os.environ, **own})


@pytest.mark.long
def test_a_branch_is_compared_with_the_main_branch(tmp_path: Path) -> None:
    out = tmp_path / "ioplan-report"
    for _ in range(3):
        first = measured(tmp_path, "main")
        assert first.returncode == 0, first.stderr
    branch = measured(tmp_path, "feature/faster reads")
    assert branch.returncode == 0, branch.stderr
    assert (out / "report.html").stat().st_size > 10_000
    assert "| qd=1 " in (out / "comparison.md").read_text()
    cases = ElementTree.parse(out / "comparison.xml").iter("testcase")
    assert len(list(cases)) > 1
    listed = ioplan("ls", "--store", tmp_path / "kept/r.db", "--format", "csv").out
    assert listed.count("branch=main") == 3
    assert listed.count("branch=feature_faster_reads") == 1


@pytest.mark.long
def test_what_fails_ends_the_pipeline(tmp_path: Path) -> None:
    assert measured(tmp_path, "main").returncode == 0
    failed = measured(tmp_path, "slow", limit="1ns")
    assert failed.returncode == 1
    assert (tmp_path / "ioplan-report/report.html").exists()
    broken = measured(tmp_path, "slow", limit="1 parsec")
    assert broken.returncode == 2 and "parsec" in broken.stderr


def test_the_action_s_steps_use_inputs_that_it_has() -> None:
    text = (ROOT / "action.yml").read_text()
    action = yaml.safe_load(text)
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"])
    assert all(
        one["shell"] == "bash" for one in action["runs"]["steps"] if "run" in one
    )
    for path in re.findall(r"\$GITHUB_ACTION_PATH/([\w./]+)", text):
        assert os.access(ROOT / path, os.X_OK), path
    script = (CI / "measure.sh").read_text()
    steps = [one.get("env", {}) for one in action["runs"]["steps"]]
    passed = {name for env in steps for name in env} - {"GH_TOKEN", "COMMENT"}
    assert passed <= set(re.findall(r"\b[A-Z]{4,}\b", script)) | {"IOPLAN"}


def test_gitlab_s_variables_are_the_script_s() -> None:
    (job,) = yaml.safe_load((CI / "gitlab.yml").read_text()).values()
    script = (CI / "measure.sh").read_text()
    assert all(f"${{{name}:" in script for name in job["variables"])


@pytest.mark.parametrize("path", sorted(CLUSTER.glob("*.yaml")), ids=lambda p: p.name)
def test_what_a_pod_mounts_is_there(path: Path) -> None:
    claim, job = yaml.safe_load_all(path.read_text())
    spec = job["spec"]
    pod: dict[str, Any] = spec.get("jobTemplate", job)["spec"]["template"]["spec"]
    (box,) = pod["containers"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    devices = box.get("volumeDevices", [])
    assert {one["name"] for one in (*box["volumeMounts"], *devices)} == set(volumes)
    named = volumes["volume"]["persistentVolumeClaim"]["claimName"]
    assert named == claim["metadata"]["name"]
    assert (claim["spec"].get("volumeMode") == "Block") == bool(devices)
    for line in box["args"][0].splitlines():
        if (words := line.split("&&")[0].split()) and words[0] == "ioplan":
            done = ioplan(words[1], "--help")
            options = [word for word in words if word.startswith("--")]
            assert done.code == 0 and all(one in done.out for one in options)
