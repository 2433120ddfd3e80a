"""What a new user meets first: what a machine lacks, and what runs without it."""

import json
import os
import platform
import re
import shlex
import sys

import pytest
from command import ioplan, plan_file, program, refuse
from fio_jobs import NEEDS_FIO
from paths import ROOT
from scripts import packaging_script
from terminals import on_a_terminal

from targets import needs_root

pytestmark = pytest.mark.usefixtures("store_path")

PLAN = 'test "Reads" { run random 4KiB 100/0 for 100ms }'
clone = packaging_script("clone")


@pytest.fixture
def without_engine(monkeypatch):
    """As where no Rust was found: the engine's program is not there."""
    monkeypatch.setenv("IOPLAN_ENGINE", "/nowhere/ioplan-engine")


def run(folder, *words):
    """Run a short plan on a scratch file."""
    plan = plan_file(folder, PLAN)
    target = ("--target", folder / "scratch.bin", "--create", "1MiB")
    done = ioplan("run", plan, *target, *words)
    return done.code, done.err


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.usefixtures("without_engine")
@pytest.mark.promise("first_minutes.without_engine")
def test_without_an_engine_fio_does_the_io_and_is_named(tmp_path):
    code, said = run(tmp_path)
    assert code == 0 and said.startswith("by fio, as io_uring cannot run: "), said
    code, said = run(tmp_path, "--backend", "io_uring")
    assert code == 2 and "'io_uring' cannot run here" in said


@pytest.mark.usefixtures("without_engine")
@pytest.mark.promise("first_minutes.without_engine")
def test_without_both_nothing_runs_and_the_simulated_drive_is_named(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = run(tmp_path)
    assert code == 2 and "no backend can run here" in said
    assert "--backend sim" in said and not (tmp_path / "scratch.bin").exists()


def test_the_last_line_leads_to_the_session_in_its_store(tmp_path):
    plan, store = plan_file(tmp_path, PLAN), tmp_path / "another one.db"
    done = ioplan("run", plan, "--backend", "sim", "--store", store)
    hint = shlex.split(done.out.splitlines()[-1].partition(": ioplan ")[2])
    assert done.code == 0 and "--store" in hint
    assert "Reads" in ioplan(*hint).out
    done = ioplan("run", plan, "--backend", "sim")
    assert "--store" not in done.out


@pytest.mark.usefixtures("rough_sim")
def test_the_last_line_counts_the_runs_that_ls_counts(tmp_path):
    """Preparations, probes and the record of what a seek found are records, too."""
    seek = "seek highest qd in 1..8 where p99 <= 1s"
    text = f"""precondition full {{ write sequential 128KiB, 1 pass }}
test "Found" {{ after full run random 4KiB 100/0 for 100ms {seek} }}"""
    words = ("--backend", "sim", "--create", "8MiB")
    done = ioplan("run", plan_file(tmp_path, text), *words)
    (session,) = json.loads(ioplan("ls", "--format", "json").out)["sessions"]
    runs = session["runs"]
    assert f"\n{runs} runs kept: " in done.out and runs > 3, done.out


@pytest.mark.parametrize("name", ["report.pdf", "report.docx"])
def test_a_report_is_not_named_as_what_it_is_not(name, tmp_path):
    ioplan("run", plan_file(tmp_path, PLAN), "--backend", "sim")
    refuse("-o report.html", "report", "last", "-o", tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_page_of_a_simulated_drive_says_so_in_its_title(tmp_path):
    ioplan("run", plan_file(tmp_path, PLAN), "--backend", "sim")
    page = tmp_path / "report.html"
    assert ioplan("report", "last", "-o", page).code == 0
    assert re.search("<title>SIMULATED: .*</title>", page.read_text())


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", ["PYTHONIOENCODING", "LC_ALL"])
def test_where_the_locale_is_ascii_a_pipe_has_nothing_else(name, tmp_path):
    plan = plan_file(tmp_path, PLAN)
    env = os.environ | {name: {"LC_ALL": "C"}.get(name, "ascii")}
    env["IOPLAN_STORE"] = str(tmp_path / "r.db")
    commands = (["run", plan, "--backend", "sim"], ["show", "--tables"], ["-h"])
    for words in commands:
        done = program(sys.executable, "-m", "ioplan.cli", *words, env=env, text=False)
        assert done.returncode == 0, done.stderr
        assert (done.stdout + done.stderr).isascii(), done.stdout.decode()
        assert words == ["-h"] or b"####" in done.stdout


CURVES = """test "Reads" { run random 4KiB 100/0 for 1s vary qd in 1, 2 vary size in 4KiB, 8KiB
  chart lines iops by qd per size }"""


@pytest.mark.slow
def test_a_terminal_has_colours_and_braille_and_letters_only_without(
    tmp_path, store_path, monkeypatch
):
    """At 80 columns, where a pipe and NO_COLOR have the same characters."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    plan = plan_file(tmp_path, CURVES)
    ran = on_a_terminal("run", plan, "--backend", "sim", cwd=tmp_path)
    colored = on_a_terminal("show", cwd=tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    bare = on_a_terminal("show", cwd=tmp_path)
    piped = ioplan("show").out
    assert "\x1b[38;5;" in colored or "\x1b[9" in colored
    assert re.search("[⠁-⣿]", colored) and not re.search("aaa|bbb", colored)
    assert not re.search(r"\x1b\[[\d;]*3\d", bare) and "bbbb" in bare
    assert "\x1b" not in piped and "bbbb" in piped
    for text in (ran, colored, bare, piped):
        lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text).splitlines()
        assert max(map(len, lines)) <= 80, max(lines, key=len)


@needs_root
@pytest.mark.machine
def test_a_user_without_a_home_is_told_which_variable_helps(tmp_path):
    """As in a container with an unknown uid."""
    words = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    words += [sys.executable, "-m", "ioplan.cli", "ls"]
    own = ("HOME", "IOPLAN_STORE")
    env = {k: v for k, v in os.environ.items() if k not in own and k[:4] != "XDG_"}
    done = program(*words, env=env, cwd="/")
    assert done.returncode == 2 and "set HOME" in done.stderr, done.stderr


@needs_root
@pytest.mark.machine
def test_without_proc_nothing_is_made(tmp_path):
    """As in a chroot where nothing is mounted."""
    plan = plan_file(tmp_path, PLAN)
    words = f"{sys.executable} -m ioplan.cli run {plan} --target x.bin --create 1MiB"
    script = f"mount --make-rprivate / && umount -l /proc && exec {words}"
    done = program("unshare", "--mount", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "mount /proc and /sys" in done.stderr
    assert not (tmp_path / "x.bin").exists()


# What `make` says that is missing.


def write_program(folder, name, text):
    """A program that prints a text, in the folder that is PATH."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("cargo", "said"),
    [
        ("", "Rust 1.85 or newer is needed, and cargo was not found"),
        ("echo cargo 1.65.0", "Rust 1.85 or newer is needed, and cargo is 1.65"),
        ("echo no toolchain >&2; exit 1", "does not work: no toolchain"),
        ("echo cargo 1.85.0", "a C compiler is needed"),
    ],
)
@pytest.mark.promise("first_minutes.missing")
def test_a_rust_that_builds_nothing_is_named(cargo, said, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    if cargo:
        write_program(tmp_path, "cargo", cargo)
    assert said in clone.rust_fault()
    write_program(tmp_path, "cc", "")
    write_program(tmp_path, "cargo", "echo cargo 1.85.0")
    assert clone.rust_fault() == ""


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, "apt-get install cargo-web"),
        ({"ID": "debian", "VERSION_ID": "13"}, "apt-get install cargo"),
        ({"ID": "mint", "ID_LIKE": "ubuntu debian"}, "rustup default stable"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "dnf install cargo"),
        ({"ID": "arch"}, "pacman -S rust"),
        ({"ID": "unheard-of"}, "rustup.rs"),
    ],
)
@pytest.mark.promise("first_minutes.missing")
def test_the_command_is_that_of_the_distribution(system, command, monkeypatch):
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: system)
    assert command in clone.advice(clone.RUST_COMMANDS, clone.OTHER_RUST)


def test_a_full_disk_is_named_before_anything_is_installed(monkeypatch):
    assert not clone.faults("demo")
    monkeypatch.setitem(clone.NEEDED_MB, "demo", 1 << 40)
    monkeypatch.setattr(clone, "VENV", ROOT / "nowhere")
    (text,) = clone.faults("demo")
    assert "MB of disk are needed" in text


def test_a_read_only_clone_is_to_be_copied(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    (text,) = clone.faults("demo")
    assert text.endswith("is read-only: copy it, and call make in the copy")


@pytest.mark.slow
def test_a_build_says_how_far_it_is_and_ends_with_cargos_error(
    tmp_path, monkeypatch, capsys
):
    bar = "sleep 0.3; printf '  Building [=> ] 1/4: libc\\r' >&2; sleep 1.5"
    error = "echo 'error: could not compile libc' >&2; exit 101"
    write_program(tmp_path, "cargo", f"{bar}; {error}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in clone.SHOW_COUNT:
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(clone, "fits", lambda _: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(SystemExit) as ended:
        clone.build_programs()
    shown = capsys.readouterr().err
    assert "1 of 4 crates, " in shown and " s left" in shown, shown
    said = str(ended.value)
    assert "could not compile libc\nfailed: cargo build of" in said, said
    assert "Building" not in said
