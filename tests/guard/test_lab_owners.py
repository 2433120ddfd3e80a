"""A lab file that another user can change is not read."""

import os

import pytest
from command import ioplan, plan_file
from refused import refused

from ioplan import LabFault
from ioplan.runner import read_lab

NOBODY = 65534
needs_chown = pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: chown needs root")


@pytest.fixture
def lab(tmp_path):
    folder = tmp_path / "labs"
    folder.mkdir()
    path = folder / "lab.toml"
    path.write_text('backend = "sim"\n')
    return path


def not_yours(path, text):
    with refused(LabFault.LAB_NOT_YOURS, text):
        read_lab(path)


@pytest.mark.promise("security.lab_owner")
def test_a_file_or_folder_that_others_may_write(lab, tmp_path):
    for mode in (0o666, 0o602):
        lab.chmod(mode)
        not_yours(lab, f"{lab} can be written by other users")
    lab.chmod(0o664)
    assert read_lab(lab).backend == "sim", "a group of one user"
    if not os.geteuid():
        os.chown(lab, 0, NOBODY)
        not_yours(lab, "can be written by other users")
    lab.chmod(0o644)
    link = tmp_path / "link.toml"
    link.symlink_to("labs/lab.toml")
    for mode in (0o755, 0o1777):
        lab.parent.chmod(mode)
        assert read_lab(lab).backend == read_lab(link).backend == "sim"
    lab.parent.chmod(0o777)
    for path in (lab, link):
        not_yours(path, f"{lab.parent} can be written by other users")


@needs_chown
@pytest.mark.promise("security.lab_owner")
def test_what_belongs_to_others(lab, tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(lab)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    not_yours(link, rf"{link} belongs to another user \(uid {NOBODY}\)")
    for place in (lab.parent, lab):
        os.chown(place, NOBODY, NOBODY)
        not_yours(lab, f"{place} belongs to another user")
        os.chown(place, 0, 0)


@needs_chown
def test_root_by_sudo_reads_the_callers(lab, monkeypatch):
    os.chown(lab, NOBODY, NOBODY)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert read_lab(lab).backend == "sim"


@pytest.mark.promise("security.lab_owner")
def test_no_program_of_it_is_run(lab, tmp_path, store_path):
    ran = tmp_path / "ran"
    meter = tmp_path / "meter"
    meter.write_text(f"#!/bin/sh\ntouch {ran}\necho 5\n")
    meter.chmod(0o755)
    lab.write_text(f'backend = "sim"\npower = {{ command = ["{meter}"] }}\n')
    lab.chmod(0o666)
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB for 1s }')
    done = ioplan("run", plan, "--lab", lab, "--create", "64MiB")
    assert (done.code, ran.exists()) == (2, False)
    assert "can be written by other users" in done.err
