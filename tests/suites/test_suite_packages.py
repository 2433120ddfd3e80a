"""Suites of packages: how they are found, and what of them is not believed."""

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from zipfile import ZipFile

import paths
import pytest
from command import ioplan, plan_file, refuse, succeed

from ioplan import PlanError
from ioplan.language import Source, check_file, check_recorded
from ioplan.planner import Run, suite_file, suite_names, unfold
from ioplan.planner.suites.published import (
    Index,
    index_of,
    index_text,
    next_index,
    runs_of,
)
from ioplan.planner.suites.source import source_of
from ioplan.planner.suites.suite import collections

EXAMPLE = paths.ROOT / "examples/acme_suite"
USES = 'use "acme/mixes.ioplan"\ntest "T" { run oltp for 1s }\n'


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages, as pip fills one."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def package(site, name, module, suite="acme"):
    """The folder of plans of a new package, which must not be imported."""
    info = site / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n"
    )
    (info / "entry_points.txt").write_text(f"[ioplan.suites]\n{suite} = {module}\n")
    folder = site / module.replace(".", "/")
    folder.mkdir(parents=True)
    (site / module.split(".", maxsplit=1)[0] / "__init__.py").write_text(
        "raise SystemError"
    )
    return folder


def depths(plan):
    """The queue depth of each run."""
    steps = unfold(check_file(plan))
    return [one.workload.streams[0].qd for one in steps if isinstance(one, Run)]


@pytest.mark.parametrize("module", ["acme_plans", "acme_plans.of.disks"])
def test_files_of_a_suite_find_each_other_before_those_of_its_user(
    module, site, tmp_path
):
    folder = package(site, "acme", module)
    plan_file(
        folder,
        'use "depths.ioplan"\nworkload oltp = random 4KiB 100/0, qd depth\n',
        "mixes.ioplan",
    )
    plan_file(folder, "param depth = 8\n", "depths.ioplan")
    plan_file(tmp_path, "param depth = 64\n", "depths.ioplan")
    plan = plan_file(
        tmp_path,
        'use "depths.ioplan" as mine\n'
        + USES
        + 'test "U" { run random 4KiB 100/0, qd mine.depth for 1s }\n',
    )
    assert depths(plan) == [8, 64]
    checked = check_file(plan)
    assert set(checked.files) == {
        "depths.ioplan",
        "acme/mixes.ioplan",
        "acme/depths.ioplan",
    }
    source = Source(str(plan), checked.text)
    assert check_recorded(source, checked.files, {}, 1.0, "full").tests == checked.tests


@pytest.mark.promise("share.names")
def test_own_suites_cannot_be_taken_over(site):
    folder = package(site, "evil", "evil_plans", "std")
    plan_file(folder, "workload oltp = random 4KiB 100/0\n", "workloads.ioplan")
    found = suite_file("std/workloads")
    assert found and not found.is_relative_to(site)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("acme_plans.missing.", "is no entry point of a suite"),
        ("../../etc", "is no entry point of a suite"),
        ("acme_gone", "has no folder of plans"),
    ],
)
def test_what_is_no_suite_is_told(module, said, site, tmp_path):
    folder = package(site, "acme", "acme_plans")
    entry = site / "acme-1.2.dist-info/entry_points.txt"
    entry.write_text(f"[ioplan.suites]\nacme = {module}\n")
    plan_file(folder, "workload oltp = random 8KiB 100/0\n", "mixes.ioplan")
    with pytest.raises(PlanError, match=said):
        check_file(plan_file(tmp_path, USES))
    for call in (("suites",), ("run", "acme/oltp")):
        refuse(said, *call)


@pytest.mark.promise("share.names")
def test_of_two_packages_with_one_name_none_is_taken(site, tmp_path):
    for name in ("one", "two"):
        folder = package(site, name, f"{name}_plans")
        plan_file(folder, "workload oltp = random 8KiB 100/0\n", "mixes.ioplan")
    with pytest.raises(PlanError, match=r"one 1\.2 and two 1\.2; uninstall one"):
        check_file(plan_file(tmp_path, USES))


def test_a_link_out_of_a_package_leads_nowhere(site, tmp_path):
    folder = package(site, "acme", "acme_plans")
    (tmp_path / "home").mkdir()
    secret = plan_file(tmp_path, "workload oltp = random 8KiB 100/0\n", "secret.ioplan")
    (folder / "mixes.ioplan").symlink_to(secret)
    with pytest.raises(PlanError, match="there is no file"):
        check_file(plan_file(tmp_path / "home", USES))


# what is published


@pytest.fixture
def source(tmp_path):
    """The example's source."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "source"))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.promise("share.version")
def test_a_version_stands_for_its_runs(source):
    plan, project = source / "ioplan_acme/oltp.ioplan", source / "pyproject.toml"
    assert ioplan("suites", "check", source).code == 0
    edit(plan, "1..32", "2..64")
    changed = ioplan("suites", "check", source)
    assert changed.code == 1
    assert "qd=64: its id is" in changed.err and "which is not published" in changed.err
    assert "qd=1: published as 5f633bb21ac5, and missing now" in changed.err
    refuse("raise the version", "suites", "publish", source)
    edit(project, "0.1.0", "0.2.0")
    assert "publish it" in ioplan("suites", "check", source).err
    assert ioplan("suites", "publish", source).code == 0
    assert ioplan("suites", "check", source).code == 0
    index = index_of((source / "ioplan_acme/index.json").read_text())
    versions = {entry.place.run: entry.versions for entry in index.entries}
    assert versions["qd=1"] == "0.1.0 to 0.1.0"
    assert versions["qd=2"] == "0.1.0 on" and versions["qd=64"] == "0.2.0 on"


def test_the_name_alone_makes_no_result_the_same(source):
    """Other I/O in the same cell is told with both ids."""
    edit(source / "ioplan_acme/workloads.ioplan", "8KiB 70/30", "8KiB 60/40")
    done = ioplan("suites", "check", source)
    assert done.code == 1 and "qd=1: its id is" in done.err
    assert ", published is 5f633bb21ac5" in done.err


def test_words_around_a_run_change_nothing(source):
    edit(source / "ioplan_acme/oltp.ioplan", "errors == 0", "errors < 5")
    assert ioplan("suites", "check", source).code == 0
    edit(source / "README.md", "| 6 |", "| 7 |")
    done = ioplan("suites", "check", source)
    assert done.code == 1 and "table of README.md is old" in done.err


def test_an_index_is_what_it_says_or_refused(source):
    index = next_index(None, source_of(source))
    assert index_of(index_text(index)) == index
    assert next_index(index, source_of(source)) == index
    path = source / "ioplan_acme/index.json"
    for text in ("", "[]", "{}", path.read_text().replace("5f63", "5f6g"), "[" * 9999):
        path.write_text(text)
        refuse("not an index of a suite", "suites", "check", source)


def test_a_session_tells_which_versions_its_runs_are_of(source):
    plan = source / "ioplan_acme/oltp.ioplan"
    sim = ("--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan("run", plan, *sim, "--profile", "smoke").code in (0, 1)
    done = ioplan("suites", "check", source, "--session", "last")
    assert done.code == 0 and "6 of 6 runs are of acme 0.1.0 on" in done.out
    assert ioplan(
        "run", plan, *sim, "--profile", "smoke", "--set", "run_time=50ms"
    ).code in (0, 1)
    done = ioplan("suites", "check", source, "--session", "last")
    assert done.code == 1 and "0 of 6 runs" in done.out


@pytest.mark.long
def test_ioplans_own_suites_are_as_published(renew):
    """Old results of a suite's name are compared with new ones."""
    own = next(collections())
    path = own.folder / "index.json"
    before = index_of(path.read_text("utf-8"))
    if renew:
        path.write_text(
            index_text(Index(own.name, own.version, next_index(None, own).entries))
        )
    assert set(before.present) == set(runs_of(own))
    assert before.version == own.version


def test_the_example_is_what_new_writes(tmp_path):
    made = tmp_path / "made"
    assert ioplan("suites", "new", "acme", "-o", made).code == 0
    texts = [
        {
            str(path.relative_to(folder)): path.read_text()
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        for folder in (made, EXAMPLE)
    ]
    assert texts[0] == texts[1]
    assert ioplan("suites", "new", "acme", "-o", made).code == 2
    assert ioplan("suites", "new", "../acme").code == 2
    assert "acme/oltp" not in suite_names()


# the example of a package: installed from its wheel, and used

WORKLOADS = 'use "acme/workloads.ioplan" as acme\ntest "T" { run acme.log for 10ms }\n'
SIM = ("--backend", "sim", "--create", "64MiB")


def installed(source, folder):
    """A folder with what the source's wheel has; a pure one is only unpacked."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*-none-any.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


@pytest.mark.long
def test_its_wheel_is_a_suite_by_name(tmp_path, monkeypatch):
    ignored = shutil.ignore_patterns("__pycache__")
    source = shutil.copytree(EXAMPLE, tmp_path / "source", ignore=ignored)
    monkeypatch.syspath_prepend(str(installed(source, tmp_path / "wheels")))
    monkeypatch.chdir(tmp_path)
    assert "acme 0.1.0, package ioplan-acme\n" in ioplan("suites").out
    succeed("run", "acme/oltp", *SIM, "--profile", "smoke")
    checked = ioplan("suites", "check", "acme")
    assert (checked.code, checked.out) == (0, "acme 0.1.0: 12 runs are as published\n")
    assert ioplan("run", plan_file(tmp_path, WORKLOADS), *SIM).code == 0


@pytest.mark.long
def test_its_own_tests_pass():
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
