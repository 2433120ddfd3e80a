"""What other programs read is checked by their own checkers.

GitHub's action, workflow and forms, GitLab's template, the pods of Kubernetes, the role
of Ansible, the container's file and the scripts of the shell; Jenkins's by a parser of
Groovy, as only a Jenkins knows its steps.
"""

import json
import os
import re
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import jinja2
import pytest
import yaml
from command import ioplan, program
from paths import ROOT

from ioplan.cli import IOPLAN, Command, parse

ACTIONLINT = ROOT / "build/bin/actionlint"
FOLDER = ("examples/ansible",)
WORKFLOW = ".github/workflows/release.yml"
CI = ".github/workflows/ci.yml"
HIDDEN = ("\n.ioplan:", "\nioplan:")
"""A hidden job is one in the copies: GitLab's schema does not look into the former."""
SHELL = (
    *(".ci/run", "tests/install_tools", "examples/demo"),
    *("examples/ci/measure.sh", "examples/lab/slurm.sh", "packaging/install.sh"),
)


class Check(NamedTuple):
    """A checker with its options, and what it reads."""

    words: str
    files: tuple[str, ...]


def schema(name, file):
    """By a JSON schema that is published for a kind of file."""
    return Check(f"check-jsonschema --builtin-schema vendor.{name}", (file,))


def pods(file):
    """By the schemas of Kubernetes, which take no field that they do not know."""
    return Check("kubernetes-validate --strict", (f"examples/kubernetes/{file}",))


FORMS = ".github/ISSUE_TEMPLATE"
CHECKS = {
    "action": schema("github-actions", "action.yml"),
    "workflow": schema("github-workflows", WORKFLOW),
    "ci": schema("github-workflows", CI),
    "bug form": schema("github-issue-forms", f"{FORMS}/bug.yml"),
    "wish form": schema("github-issue-forms", f"{FORMS}/wish.yml"),
    "gitlab": schema("gitlab-ci", "examples/ci/gitlab.yml"),
    "job": pods("job.yaml"),
    "cron job": pods("cronjob.yaml"),
    "ansible": Check("ansible-lint --offline --strict --nocolor", FOLDER),
    "container": Check("hadolint", ("packaging/Containerfile",)),
    "shell": Check("shellcheck", SHELL),
    "injection": Check("zizmor --offline --no-progress", ("action.yml", ".github")),
    "actions": Check(f"{ACTIONLINT} -pyflakes=", (WORKFLOW, CI)),
}


def copied(check, folder):
    """Its files in a folder of their own."""
    for path in check.files:
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy2
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, folder / path)
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_text(file.read_text().replace(*HIDDEN))


def checked(check, folder):
    """What a checker says of copies; of a whole folder it is called in that."""
    words, scripts = check.words.split(), sysconfig.get_path("scripts")
    is_folder = check.files == FOLDER
    return program(
        shutil.which(words[0], path=scripts) or words[0],
        *words[1:],
        *(() if is_folder else check.files),
        cwd=folder / check.files[0] if is_folder else folder,
        env={"PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(folder)},
    )


NAMES = [
    pytest.param(name, marks=pytest.mark.long if name == "ansible" else ())
    for name in CHECKS
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_checker_finds_no_fault(name, tmp_path):
    if name == "actions" and not ACTIONLINT.exists():
        pytest.skip("LEFT OUT: there is no actionlint, which `make test-tools` builds")
    copied(CHECKS[name], tmp_path)
    done = checked(CHECKS[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


# the examples of a lab

JENKINSFILE = ROOT / "examples/lab/Jenkinsfile"
ROLE = ROOT / "examples/ansible/roles/ioplan_host"


@pytest.mark.slow
def test_jenkins_s_file_is_groovy_and_its_steps_are_calls(tmp_path):
    parser = pytest.importorskip(
        "groovy_parser.parser", reason="LEFT OUT: groovy-parser is not installed"
    )
    text = JENKINSFILE.read_text()
    assert parser.parse_groovy_content(text)
    with pytest.raises(Exception, match="Unexpected"):
        parser.parse_groovy_content(text.rstrip().removesuffix("}"))
    steps = re.findall(r"^ +sh '(.*)'$", text, re.M)
    assert len(steps) == 3
    for step in steps:
        assert isinstance(parse(shlex.split(step)[1:], IOPLAN).entry, Command)
    script = tmp_path / "steps.sh"
    script.write_text("\n".join(["#!/bin/sh", *steps, ""]))
    done = checked(Check("shellcheck", ("steps.sh",)), tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_role_writes_a_lab_file_and_a_unit(tmp_path):
    drives = {"gen5-1": {"serial": "S4EVNX0R123456", "writable": True}}
    values = {"ioplan_targets": drives, "ioplan_lab": {"backend": "fio"}}
    values |= {"ansible_managed": "Ansible", "ioplan_folder": "/opt/ioplan"}
    values |= {"ioplan_results": "postgresql://host_h1@lab/ioplan"}
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROLE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["to_json"] = json.dumps
    lab = tmp_path / "lab.toml"
    lab.write_text(templates.get_template("lab.toml.j2").render(values))
    lab.chmod(0o600)
    done = ioplan("lab", "check", "--lab", lab)
    assert done.code == 0 and "S4EVNX0R123456   fio" in done.out, done
    unit = templates.get_template("ioplan-worker.service.j2").render(values)
    (words,) = re.findall("^ExecStart=(.*)$", unit, re.M)
    assert isinstance(parse(words.split()[1:], IOPLAN).entry, Command)
    assert "KillMode=process" in unit


# the files for CI and clusters: the script is run, the rest is whole

SCRIPTS = ROOT / "examples" / "ci"
CLUSTER = ROOT / "examples" / "kubernetes"
PLAN = 'test "R" { run random 4KiB 100/0 for 1s vary qd in 1, 4 expect p99 < LIMIT }'


def measured(folder, branch, limit="1s"):
    """The script as a pipeline of a branch calls it."""
    (folder / "p.ioplan").write_text(PLAN.replace("LIMIT", limit))
    own = {"PLAN": "p.ioplan", "BRANCH": branch, "BACKEND": "sim", "STORE": "kept/r.db"}
    own |= {"IOPLAN": f"{sys.executable} -m ioplan.cli", "GITHUB_ACTIONS": "true"}
    return program(SCRIPTS / "measure.sh", cwd=folder, env={**os.environ, **own})


@pytest.mark.long
def test_a_branch_is_compared_with_the_main_branch(tmp_path):
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
def test_what_fails_ends_the_pipeline(tmp_path):
    assert measured(tmp_path, "main").returncode == 0
    failed = measured(tmp_path, "slow", limit="1ns")
    assert failed.returncode == 1
    assert (tmp_path / "ioplan-report/report.html").exists()
    broken = measured(tmp_path, "slow", limit="1 parsec")
    assert broken.returncode == 2 and "parsec" in broken.stderr


def test_the_action_s_steps_use_inputs_that_it_has():
    text = (ROOT / "action.yml").read_text()
    action = yaml.safe_load(text)
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"])
    assert all(
        one["shell"] == "bash" for one in action["runs"]["steps"] if "run" in one
    )
    for path in re.findall(r"\$GITHUB_ACTION_PATH/([\w./]+)", text):
        assert os.access(ROOT / path, os.X_OK), path
    script = (SCRIPTS / "measure.sh").read_text()
    steps = [one.get("env", {}) for one in action["runs"]["steps"]]
    passed = {name for env in steps for name in env} - {"GH_TOKEN", "COMMENT"}
    assert passed <= set(re.findall(r"\b[A-Z]{4,}\b", script)) | {"IOPLAN"}


def test_gitlab_s_variables_are_the_script_s():
    (job,) = yaml.safe_load((SCRIPTS / "gitlab.yml").read_text()).values()
    script = (SCRIPTS / "measure.sh").read_text()
    assert all(f"${{{name}:" in script for name in job["variables"])


@pytest.mark.parametrize("path", sorted(CLUSTER.glob("*.yaml")), ids=lambda p: p.name)
def test_what_a_pod_mounts_is_there(path):
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
