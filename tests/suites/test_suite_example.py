"""The example of a package of suites: installed from its wheel, and used."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from zipfile import ZipFile

import paths
import pytest
from command import ioplan, plan_file, succeed

EXAMPLE = paths.ROOT / "examples/acme_suite"
USES = 'use "acme/workloads.ioplan" as acme\ntest "T" { run acme.log for 10ms }\n'
SIM = ("--backend", "sim", "--create", "64MiB")


def installed(source: Path, folder: Path) -> Path:
    """A folder with what the source's wheel has; a pure one is only unpacked."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*-none-any.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


@pytest.mark.long
def test_its_wheel_is_a_suite_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    source = shutil.copytree(EXAMPLE, tmp_path / "source", ignore=ignored)
    monkeypatch.syspath_prepend(str(installed(source, tmp_path / "wheels")))
    monkeypatch.chdir(tmp_path)
    assert "acme 0.1.0, package ioplan-acme\n" in ioplan("suites").out
    succeed("run", "acme/oltp", *SIM, "--profile", "smoke")
    checked = ioplan("suites", "check", "acme")
    assert (checked.code, checked.out) == (0, "acme 0.1.0: 12 runs are as published\n")
    assert ioplan("run", plan_file(tmp_path, USES), *SIM).code == 0


@pytest.mark.long
def test_its_own_tests_pass() -> None:
    path = EXAMPLE / "tests/test_ioplan_acme.py"
    spec = spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_they_are_right()
    module.test_they_are_in_layout()
    module.test_table_and_ids_are_published()
    (plan,) = module.PLANS
    module.test_they_can_be_run(plan)
