"""Where the files are looked for that a plan uses, and files without tests."""

import os
from hashlib import sha256

import pytest

from ioplan import PlanError
from ioplan.language import check_file

LIBRARY = "workload w = random {}KiB 100/0\n"
PLAN = 'use "lib/w.ioplan"\ntest "T" { run w for 1s }\n'


def put(folder, size):
    """A library below a folder, which tells by its block size where it is."""
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/w.ioplan").write_text(LIBRARY.format(size))
    return folder


def size_of(plan, *more):
    made = check_file(plan, more=lambda: more)
    (stream,) = made.tests[0].steps[0].workload.streams
    return int(stream.attributes["read_sizes"][0].size_bytes) >> 10


@pytest.fixture
def plan(tmp_path):
    folder = tmp_path / "project/plans"
    folder.mkdir(parents=True)
    (folder / "plan.ioplan").write_text(PLAN)
    return folder / "plan.ioplan"


def test_each_place_is_searched_in_its_turn(plan, tmp_path, monkeypatch):
    lab = put(tmp_path / "lab", 4)
    assert size_of(plan, lab) == 4
    first, second = put(tmp_path / "first", 8), put(tmp_path / "second", 16)
    monkeypatch.setenv("IOPLAN_PATH", f"{second}:{first}:/nowhere")
    assert size_of(plan, lab) == 16
    put(tmp_path / "project", 32)
    assert size_of(plan, lab) == 16
    (tmp_path / "project/ioplan.toml").touch()
    assert size_of(plan, lab) == 32
    put(plan.parent, 64)
    assert size_of(plan, lab) == 64


PINNED = """[mine]
git = "https://example.org/mine"
ref = "v1"
folder = "."
commit = "{commit}"

[mine.files]
"lib/w.ioplan" = "{digest}"
"""


def test_a_pinned_suite_is_used_as_it_was_taken(plan):
    project = plan.parent.parent
    (project / "ioplan.toml").touch()
    library = put(project / "suites/mine", 8) / "lib/w.ioplan"
    plan.write_text(PLAN.replace("lib/", "mine/lib/"))
    with pytest.raises(PlanError, match=r"mine/lib/w\.ioplan"):
        check_file(plan)
    digest = sha256(library.read_bytes()).hexdigest()
    lock = PINNED.format(commit="0" * 40, digest=digest)
    (project / "ioplan.lock").write_text(lock)
    assert size_of(plan) == 8
    library.write_text(LIBRARY.format(16))
    with pytest.raises(PlanError, match=r"w\.ioplan"):
        check_file(plan)


def test_a_project_of_another_user_is_none(plan, tmp_path):
    project = put(tmp_path / "project", 32) / "ioplan.toml"
    project.touch()
    assert size_of(plan) == 32
    if os.getuid():
        pytest.skip("LEFT OUT: files of other users, as this one is not root")
    os.chown(project, 12345, -1)
    with pytest.raises(PlanError, match="there is no file"):
        check_file(plan)


def test_the_lab_is_asked_last_and_only_where_needed(plan):
    put(plan.parent, 64)

    def asked():
        raise AssertionError("nobody needs the lab")

    assert check_file(plan, more=asked).tests


def test_a_link_may_lead_to_another_root_and_to_nothing_else(
    plan, tmp_path, monkeypatch
):
    other = put(tmp_path / "other", 8)
    (plan.parent / "lib").symlink_to(other / "lib")
    with pytest.raises(PlanError) as caught:
        check_file(plan)
    (error,) = caught.value.diagnostics
    assert error.message == (
        f"'lib/w.ioplan' is a link to a file outside, {other}/lib/w.ioplan"
    )
    assert error.help == f"copy the file, or add {other}/lib to IOPLAN_PATH"
    monkeypatch.setenv("IOPLAN_PATH", str(other))
    assert size_of(plan) == 8


def test_a_file_of_names_is_a_library(tmp_path):
    library = tmp_path / "lib.ioplan"
    library.write_text(LIBRARY.format(4))
    assert check_file(library, library=True).tests == ()
    with pytest.raises(PlanError, match="the plan has no test"):
        check_file(library)
    library.write_text("# nothing yet\n")
    with pytest.raises(PlanError, match="the plan has no test"):
        check_file(library, library=True)
