"""What other programs read is checked by their own checkers.

GitHub's action, workflow and forms, GitLab's template, the pods of Kubernetes, the role
of Ansible, the container's file and the scripts of the shell.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest
from command import program
from paths import ROOT

ACTIONLINT = ROOT / "build/bin/actionlint"
FOLDER = ("examples/ansible",)
WORKFLOW = ".github/workflows/release.yml"
CI = ".github/workflows/ci.yml"
HIDDEN = ("\n.ioplan:", "\nioplan:")
"""A hidden job is one in the copies: GitLab's schema does not look into the former."""
SHELL = (
    *(".ci/run", "tests/install_tools", "examples/demo"),
    *("examples/ci/measure.sh", "packaging/install.sh"),
)


class Check(NamedTuple):
    """A checker with its options, and what it reads."""

    words: str
    files: tuple[str, ...]


def schema(name: str, file: str) -> Check:
    """By a JSON schema that is published for a kind of file."""
    return Check(f"check-jsonschema --builtin-schema vendor.{name}", (file,))


def pods(file: str) -> Check:
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


def copied(check: Check, folder: Path) -> None:
    """Its files in a folder of their own."""
    for path in check.files:
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy2
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, folder / path)
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_text(file.read_text().replace(*HIDDEN))


def checked(check: Check, folder: Path) -> subprocess.CompletedProcess[str]:
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
def test_a_checker_finds_no_fault(name: str, tmp_path: Path) -> None:
    if name == "actions" and not ACTIONLINT.exists():
        pytest.skip("LEFT OUT: there is no actionlint, which `make test-tools` builds")
    copied(CHECKS[name], tmp_path)
    done = checked(CHECKS[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
