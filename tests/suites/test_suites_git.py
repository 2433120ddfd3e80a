"""Suites from git: pinned, offline afterwards, and no more of a repository believed."""

import shutil
import socket
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
from command import ioplan, plan_file, refuse, succeed
from git_servers import Repository, http_server

from ioplan import PlanError
from ioplan.cli import run
from ioplan.language import check_file

OLTP = """use "depths.ioplan"
test "OLTP" { run random 8KiB 70/30 for 100ms vary qd in 1, most }
"""
DEPTHS = "param most = 8\n"
PLANS = {"plans/oltp.ioplan": OLTP, "plans/depths.ioplan": DEPTHS, "LICENSE": "free\n"}
USES = 'use "acme/depths.ioplan" as acme\ntest "T" { run random 4KiB 100/0, qd acme.most for 1s }\n'

slow = pytest.mark.slow
REWRITE = "ioplan.cli.commands.share.add.rewrite"


# ---- addresses


@pytest.mark.parametrize(
    "text",
    [
        "https://host/x@v1", "git+https://host/x", "git+https://host/x@", "git+ext://sh/-c@v1",
        "git+https://-oProxyCommand=x/y@v1", "git+ssh://-oProxyCommand=x/y@v1",
        "git+ssh://a:secret@host/x@v1", "git+ssh://-l@host/x@v1", "git+https://host/-x@v1",
        "git+https://host/x@-v1", "git+https://host/x@--upload-pack=y", "git+https://host/x@a..b",
        "git+https://host/x@v1:refs/heads/x", "git+https://host/x@v1^{/y}", "git+https://host/x@a b",
        "git+https://host/x@v1//../y", "git+https://host/x@v1///etc", "git+https://host/x@v1//:(top)",
        "git+https://host/../x@v1", "git+http://host/x@v1", "git+file://host/x@v1",
        "git+https://ho st/x@v1", "git+https://host/x\n@v1", "git+https://host/x@v1\n", "",
        "git+https://secret@host/x@v1", "git+https://a:secret@host/x", "git+ftp://a:secret@host/x@v1",
        "git+https:///x@v1", "git+https://host/x@v1//a//b", "git+https://höst/x@v1",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text, project, monkeypatch):
    """Before git is called with any word of it."""
    monkeypatch.setenv("PATH", "")
    done = ioplan("add", text, "as", "acme")
    assert done.code == 2 and "secret" not in done.err
    assert "need the program git" not in done.err, done.err
    assert not list(project.iterdir())


LOCKED = f"[acme]\ngit='x'\nref='v'\nfolder=''\ncommit='{'0' * 40}'\nfiles={{{{'{{}}'='{'a' * 64}'}}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[acme]\n",
        "[acme]\ngit = 1\n",
        "[acme]\ngit='x'\nref='v'\nfolder=''\ncommit='zz'\nfiles={}\n",
        LOCKED.format("../../x"),
        LOCKED.format("/etc/x"),
        "x = " + "[" * 9999,
    ],
)
def test_a_lock_that_is_none_is_refused(text, tmp_path):
    (tmp_path / "ioplan.lock").write_text(text)
    with pytest.raises(PlanError, match="not as ioplan writes it"):
        check_file(plan_file(tmp_path, USES))


# ---- repositories


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "theirs").mkdir()
    found = Repository(tmp_path / "theirs")
    found.commit(PLANS, "v1")
    return found


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def locked(project):
    return tomllib.loads((project / "ioplan.lock").read_text())


def wanted(project):
    return dict(tomllib.loads((project / "ioplan.toml").read_text())["suites"])


def add(repository, ref="v1", name="acme"):
    succeed("add", f"git+file://{repository.bare}@{ref}//plans", "as", name)


@slow
@pytest.mark.long
@pytest.mark.promise("share.pinned")
def test_it_is_pinned_used_and_needs_no_network(repository, project):
    done = succeed("add", f"git+file://{repository.bare}@v1//plans", "as", "acme")
    assert "acme/oltp (full), OLTP: qd=8: new" in done.out
    assert "runs: 0 the same, 0 with other ids, 2 new, 0 gone" in done.out
    shutil.rmtree(repository.bare)
    files = {
        str(one.relative_to(project)) for one in project.rglob("*") if one.is_file()
    }
    own = {"suites/acme/oltp.ioplan", "suites/acme/depths.ioplan"}
    assert files == {"ioplan.toml", "ioplan.lock", *own}
    assert check_file(plan_file(project, USES)).parameters == {"acme.most": "8"}
    assert (
        ioplan("run", "acme/oltp", "--backend", "sim", "--create", "64MiB", "-q").code
        == 0
    )
    listed = ioplan("suites").out
    assert f"acme v1 ({locked(project)['acme']['commit'][:7]})" in listed
    assert "acme/oltp" in listed
    again = ioplan("add", f"git+file://{repository.bare}@v1//plans", "as", "acme")
    assert again.code == 2 and "was added already" in again.err

    changed = project / "suites/acme/depths.ioplan"
    changed.write_text("param most = 4\n")
    for call in (
        ("check", "plan.ioplan"),
        ("run", "acme/oltp"),
        ("check", "suites/acme/oltp.ioplan"),
    ):
        refuse("differs from", *call)
    changed.unlink()
    changed.symlink_to(plan_file(project, "param most = 4\n", "mine.ioplan"))
    refuse("differs from", "check", "suites/acme/oltp.ioplan")
    changed.unlink()
    changed.write_text(DEPTHS)
    assert ioplan("check", "suites/acme/oltp.ioplan").code == 0
    (project / "suites/acme/more.ioplan").write_text(DEPTHS)
    refuse("is not in", "check", plan_file(project, USES.replace("depths", "more")))


@slow
@pytest.mark.long
def test_two_adds_at_once_lose_nothing_and_one_that_was_killed_is_finished(
    repository, project, monkeypatch
):
    names = ("one", "two", "three")
    at_once = Barrier(len(names))

    def slow(path, content):
        if path == project / "ioplan.toml":  # all have read by now, if none waits
            with suppress(BrokenBarrierError):
                at_once.wait(0.2)
        path.write_bytes(content)

    def added(name):
        assert run(["add", source, "as", name]) == 0

    source = f"git+file://{repository.bare}@v1//plans"
    with monkeypatch.context() as patch:
        patch.setattr(REWRITE, slow)
        with ThreadPoolExecutor() as pool:
            list(pool.map(added, names))
    assert {*names} == locked(project).keys() == wanted(project).keys()

    def killed(path, content):
        if path == project / "ioplan.lock":
            raise KeyboardInterrupt
        path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr(REWRITE, killed)
        assert ioplan("add", source, "as", "acme").code == 130
    refuse("ioplan update acme --take", "add", source, "as", "acme")
    assert ioplan("update", "acme", "--take").code == 0
    assert check_file(plan_file(project, USES))


@slow
@pytest.mark.long
@pytest.mark.promise("share.take")
def test_an_update_is_shown_before_it_is_taken(repository, project):
    add(repository)
    assert "up to date" in ioplan("update").out
    before = {one: one.read_bytes() for one in project.rglob("*") if one.is_file()}
    repository.commit({
        "plans/depths.ioplan": "param most = 16\n",
        "plans/oltp.ioplan": OLTP.replace("8KiB 70/30 for", "8KiB 60/40 for"),
        "plans/new.ioplan": 'test "N" { run random 4KiB 100/0 for 1s }\n',
    }, "v2")  # fmt: skip
    assert "up to date" in ioplan("update").out, "v1 is still where it was"
    shown = ioplan("update", "acme", "--to", "v2")
    assert shown.code == 1
    assert "depths.ioplan: changed" in shown.out and "new.ioplan: new" in shown.out
    assert "acme/oltp (full), OLTP: qd=1: id " in shown.out
    assert "acme/oltp (full), OLTP: qd=8: gone" in shown.out
    assert "runs: 0 the same, 1 with other ids, 2 new, 1 gone" in shown.out
    assert "not installed" in shown.out
    assert {
        one: one.read_bytes() for one in project.rglob("*") if one.is_file()
    } == before
    taken = ioplan("update", "acme", "--to", "v2", "--take")
    assert taken.code == 0 and taken.out.endswith("installed\n")
    assert wanted(project)["acme"]["ref"] == "v2" == locked(project)["acme"]["ref"]
    assert "up to date" in ioplan("update").out
    repository.commit({"plans/new.ioplan": None}, "v2")
    moved = ioplan("update", "--take")
    assert "v2 was moved" in moved.out and "new.ioplan: gone" in moved.out
    assert not (project / "suites/acme/new.ioplan").exists()


@slow
@pytest.mark.long
def test_over_http_by_tag_branch_and_commit(repository, project):
    commit = repository.commit({"plans/depths.ioplan": "param most = 2\n"})
    with http_server(repository.bare.parent) as url:
        for number, ref in enumerate(("v1", "main", commit)):
            succeed("add", f"git+{url}/disks.git@{ref}//plans", "as", f"s{number}")
        missing = ioplan("add", f"git+{url}/disks.git@v9//plans", "as", "x")
        assert missing.code == 2 and "no tag and no branch 'v9'" in missing.err
    found = locked(project)
    assert (
        found["s1"]["commit"]
        == found["s2"]["commit"]
        == commit
        != found["s0"]["commit"]
    )
    assert found["s1"]["files"] == found["s2"]["files"] != found["s0"]["files"]
    refuse("git ls-remote", "update")


@slow
def test_over_ssh(repository, project, tmp_path, monkeypatch):
    """By the command that the user's git has for it, which here reaches this host."""
    command = tmp_path / "ssh"
    command.write_text('#!/bin/sh\nfor asked; do :; done\nexec sh -c "$asked"\n')
    command.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(command))
    succeed("add", f"git+ssh://me@host{repository.bare}@v1//plans", "as", "acme")
    assert check_file(plan_file(project, USES))


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A program that git must not start; by all settings that could make it."""
    sprung, program = tmp_path / "sprung", tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {sprung}\nexec true\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-merge", "post-update"):
        shutil.copy(program, hooks / hook)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[core]\nhooksPath = {hooks}\nfsmonitor = {program}\n[init]\ntemplateDir = {hooks}\n"
        f'[url "ext::{program} "]\ninsteadOf = https://elsewhere/\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ext:file")
    yield sprung
    assert not sprung.exists()


@slow
def test_git_starts_nothing_else(trap, repository, project):
    repository.commit({
        ".gitmodules": '[submodule "x"]\npath = plans/x\nurl = ext::sh -c "touch /tmp/x"\n',
        ".gitattributes": "* filter=x\n",
    }, "feature/a")  # fmt: skip
    add(repository, "feature/a")
    refused = ioplan("add", "git+https://elsewhere/x@v1", "as", "x")
    assert refused.code == 2 and "transport 'ext' not allowed" in refused.err


OUT = {
    "plans/alias.ioplan": "/etc/passwd",
    "plans/other": "../../../../etc/hosts",
    "plans/deep/other.ioplan": "a/../../../secret.ioplan",
}


@slow
@pytest.mark.long
def test_links_stay_inside(repository, project):
    repository.commit({"plans/sub/x": "", "plans/folder": Path("sub")})
    for number, (name, to) in enumerate(OUT.items()):
        repository.commit({"secret.ioplan": "x", name: Path(to)}, f"o{number}")
        source = f"git+file://{repository.bare}@o{number}//plans"
        refuse("leads outside", "add", source, "as", "acme")
        repository.commit({name: None})
    repository.commit({"plans/alias.ioplan": Path("oltp.ioplan")}, "good")
    repository.commit({"plans/alias.ioplan": Path("alias.ioplan")}, "circle")
    refused = ioplan("add", f"git+file://{repository.bare}@circle//plans", "as", "acme")
    assert refused.code == 2 and "in a circle" in refused.err
    assert not (project / "suites").exists() and not (project / "ioplan.lock").exists()
    add(repository, "good")
    alias = project / "suites/acme/alias.ioplan"
    assert alias.read_text() == OLTP and not alias.is_symlink()


@slow
def test_what_is_no_suite_is_refused(repository, project, monkeypatch):
    source = f"git+file://{repository.bare}@v1"
    for words, said in (
        ((f"{source}//nowhere", "as", "acme"), "has no folder 'nowhere'"),
        ((f"{source}//plans", "as", "std"), "a suite 'std' already"),
        ((f"{source}//plans", "as", "../x"), "usage: ioplan add"),
        ((f"{source}//plans", "to", "acme"), "usage: ioplan add"),
    ):
        refuse(said, "add", *words)
    for name, limit, said in (
        ("MOST_SAID_BYTES", 150, "printed more than 150 B"),
        ("MOST_TOTAL_BYTES", 10, "the most are"),
        ("MOST_BYTES", 10, "is it a plan"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"ioplan.planner.suites.git.fetch.{name}", limit)
            refused = ioplan("add", f"{source}//plans", "as", "acme")
        assert refused.code == 2 and said in refused.err, refused


@slow
def test_what_else_a_project_says_stays(repository, project):
    add(repository)
    file = project / "ioplan.toml"
    own = file.read_text().rstrip() + '\nnote = "kept"\n[more]\ny = 2\n'
    file.write_text(f"# mine\n[tool]\nx = 1\n\n{own}")
    repository.commit({"plans/depths.ioplan": "param most = 4\n"}, "v2")
    assert ioplan("update", "acme", "--to", "v2", "--take").code == 0
    text = file.read_text()
    found = tomllib.loads(text)
    assert text.startswith("# mine\n") and found["tool"] == {"x": 1}
    assert found["more"] == {"y": 2} and found["suites"]["acme"]["note"] == "kept"
    assert found["suites"]["acme"]["ref"] == "v2"


@slow
def test_a_project_file_is_changed_only_where_it_is_understood(repository, project):
    """Else the next call would find a file that is wrong."""
    for before in (
        "[suites.acme] # theirs\nref = 'old'\n",
        "[suites]\nacme = { git = 'x' }\n",
        'suites.acme.git = "x"\n',
        'note = """\n[suites.acme]\n"""\n',
        "x = " + "[" * 9999,
    ):
        (project / "ioplan.toml").write_text(before)
        done = ioplan("add", f"git+file://{repository.bare}@v1//plans", "as", "acme")
        assert done.code == 2, before
        assert (project / "ioplan.toml").read_text() == before
    assert not (project / "ioplan.lock").exists()


@slow
def test_files_are_not_written_through_a_link(repository, project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (project / "suites").symlink_to(tmp_path / "elsewhere")
    refuse("is a link", "add", f"git+file://{repository.bare}@v1//plans", "as", "acme")
    assert not list((tmp_path / "elsewhere").rglob("*.ioplan"))


@slow
def test_a_file_that_is_gone_is_not_removed_through_a_link(
    repository, project, tmp_path
):
    repository.commit({"plans/sub/x.ioplan": DEPTHS}, "v1")
    add(repository)
    shutil.move(project / "suites/acme/sub", tmp_path / "elsewhere")
    (project / "suites/acme/sub").symlink_to(tmp_path / "elsewhere")
    repository.commit({"plans/sub/x.ioplan": None}, "v2")
    refuse("is a link", "update", "acme", "--to", "v2", "--take")
    assert (tmp_path / "elsewhere/x.ioplan").is_file()


@slow
def test_a_tag_that_is_called_as_a_commit_is_not_taken(repository, project):
    asked = repository.commit({"plans/x.ioplan": DEPTHS})
    other = repository.commit({"plans/x.ioplan": "param most = 9\n"}, "v2")
    refs = repository.bare / "refs"
    (refs / "tags" / asked).write_text(f"{other}\n")
    (refs / "heads" / asked).write_text(f"{other}\n")
    add(repository, asked)
    assert locked(project)["acme"]["commit"] == asked


@slow
def test_a_host_that_does_not_answer_is_told(project):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        done = ioplan("add", f"git+http://127.0.0.1:{port}/x@v1", "as", "acme")
    assert done.code == 2 and "git ls-remote:" in done.err
