"""What other programs read is checked by their own checkers, which find faults in it.

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
    """A checker with its options, what it reads, and a fault that it must find."""

    words: str
    files: tuple[str, ...]
    good: str
    bad: str
    said: str


def schema(name: str, file: str, good: str, bad: str, said: str) -> Check:
    """By a JSON schema that is published for a kind of file."""
    return Check(
        f"check-jsonschema --builtin-schema vendor.{name}", (file,), good, bad, said
    )


def pods(file: str, good: str, bad: str, said: str) -> Check:
    """By the schemas of Kubernetes, which take no field that they do not know."""
    path = f"examples/kubernetes/{file}"
    return Check("kubernetes-validate --strict", (path,), good, bad, said)


CHECKS = {
    "action": schema("github-actions", "action.yml", "composite", "docker", "action"),
    "workflow": schema("github-workflows", WORKFLOW, "runs-on", "run-on", "run-on"),
    "ci": schema("github-workflows", CI, "runs-on", "run-on", "run-on"),
    "bug form": schema(
        *("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
        *("type: markdown", "type: prose", "prose"),
    ),
    "wish form": schema(
        *("github-issue-forms", ".github/ISSUE_TEMPLATE/wish.yml"),
        *("name:", "names:", "names"),
    ),
    "gitlab": schema(
        "gitlab-ci", "examples/ci/gitlab.yml", "when: always", "when: ever", "ever"
    ),
    "job": pods("job.yaml", "backoffLimit: 0", "backoff: 0", "backoff"),
    "cron job": pods(
        "cronjob.yaml", "volumeMode: Block", "volumeMode: 7", "volumeMode"
    ),
    "ansible": Check(
        "ansible-lint --offline --strict --nocolor",
        FOLDER,
        *("  changed_when: false\n", "", "no-changed-when"),
    ),
    "container": Check(
        *("hadolint", ("packaging/Containerfile",)),
        *("debian:bookworm-slim", "debian", "DL3006"),
    ),
    "shell": Check("shellcheck", SHELL, '"$(dirname', "$(dirname", "SC2046"),
    "injection": Check(
        *("zizmor --offline --no-progress", ("action.yml", ".github")),
        *(
            '"$GITHUB_ACTION_PATH/examples',
            '"${{ github.head_ref }}',
            "template-inject",
        ),
    ),
    "actions": Check(
        str(ACTIONLINT) + " -pyflakes=",
        (WORKFLOW, CI),
        *("steps.signed.outputs", "steps.nobody.outputs", "nobody"),
    ),
}


def copied(check: Check, folder: Path) -> list[Path]:
    """Its files in a folder of their own."""
    for path in check.files:
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy2
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, folder / path)
    files = [*filter(Path.is_file, folder.rglob("*"))]
    for file in files:
        file.write_text(file.read_text().replace(*HIDDEN))
    return files


def checked(check: Check, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a checker says of copies; of a whole folder it is called in that."""
    words, scripts = check.words.split(), sysconfig.get_path("scripts")
    is_folder = check.files == FOLDER
    return subprocess.run(
        [
            shutil.which(words[0], path=scripts) or words[0],
            *words[1:],
            *(() if is_folder else check.files),
        ],
        cwd=folder / check.files[0] if is_folder else folder,
        env={"PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


NAMES = [
    pytest.param(name, marks=pytest.mark.long if name == "ansible" else ())
    for name in CHECKS
]


def has_its_checker(name: str) -> None:
    if name == "actions" and not ACTIONLINT.exists():
        pytest.skip("LEFT OUT: there is no actionlint, which `make test-tools` builds")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_checker_finds_no_fault(name: str, tmp_path: Path) -> None:
    has_its_checker(name)
    copied(CHECKS[name], tmp_path)
    done = checked(CHECKS[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKS)
def test_a_checker_finds_the_fault_that_is_there(name: str, tmp_path: Path) -> None:
    has_its_checker(name)
    check = CHECKS[name]
    texts = {file: file.read_text() for file in copied(check, tmp_path)}
    assert any(check.good in text for text in texts.values())
    for file, text in texts.items():
        file.write_text(text.replace(check.good, check.bad))
    done = checked(check, tmp_path)
    assert done.returncode != 0 and check.said in done.stdout + done.stderr
