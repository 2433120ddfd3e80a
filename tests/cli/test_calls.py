"""The words of a call: how they are read, what help shows, what a shell completes."""

import os
import re
import shlex
import shutil
import sys
from itertools import product
from pathlib import Path
from typing import ClassVar

import pytest
from command import commands, ioplan, plan_file, program, refuse
from sessions import session

from ioplan.cli import IOPLAN, Command, Group, parse
from ioplan.results.store import Store

pytestmark = pytest.mark.slow


COMMANDS = commands()
READS = 'test "Random reads: all" { run random 4KiB 100/0 for 1s }'


def values(*words):
    return parse(list(words), IOPLAN).values


def forms_of(kind, name):
    """An option with a value in each form that its name can have."""
    value = "1" if kind in ("number", "integer") else "x"
    if kind == "flag":
        return [[name]]
    joined = f"{name}={value}" if name.startswith("--") else f"{name}{value}"
    return [[name, value], [joined]]


@pytest.mark.parametrize("words", COMMANDS)
def test_what_cannot_be_given_twice_is_refused(words):
    """By each two of an option's names and forms, also with the same value."""
    for option in COMMANDS[words].options:
        forms = [form for name in option.names for form in forms_of(option.kind, name)]
        for first, second in product(forms, repeat=2):
            call = [*words.split(), *first, *second]
            if "--help" in option.names:
                assert parse(call, IOPLAN).values["help"]
            elif option.many:
                call += ["--help"]
                assert len(parse(call, IOPLAN).values[option.key]) == 2
            else:
                with pytest.raises(Exception, match="is given twice") as error:
                    parse(call, IOPLAN)
                assert option.names[0] in str(error.value)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("plan quick/laptop --set a=1 --set a=2", "--set says 'a' twice"),
        ("plan quick/laptop --backend fio --option x=1 --option x=2", "--option says 'x' twice"),
        ("--version --version", "is given twice"),
    ],
)  # fmt: skip
def test_a_name_with_a_value_is_given_once(words, text):
    refuse(text, *words.split())


class TestWords:
    EXPORT: ClassVar = {
        **{"session": "s", "format": "csv", "output": Path("o"), "series": True}
    }

    @pytest.mark.parametrize(
        ("words", "read"),
        [
            ("export s --format csv --output o --series", EXPORT),
            ("export --format=csv -o o s --series", EXPORT),
            ("export --series -oo --format=csv s", EXPORT),
            ("run -q p", {"quiet": True}),
            ("run -qh p", {"quiet": True, "help": True}),
            ("run p", {"plan": Path("p"), "profile": "full", "settings": []}),
            ("run p", {"targets": [], "quiet": False}),
            ("show", {"sessions": []}),
            ("report", {"output": Path("report.html")}),
            ("plan p --set a=1 --set=b=2 --profile x", {"settings": ["a=1", "b=2"]}),
            ("run p --target a --target=b", {"targets": ["a", "b"]}),
            ("show --test --odd", {"test": "--odd"}),
            ("check -- --format -x", {"plans": [Path("--format"), Path("-x")]}),
            ("plan p --scale-time 0.5", {"scale_time": 0.5}),
            ("crosscheck p --backends a,b --rounds 7", {"rounds": 7}),
            ("compare -h", {"help": True}),
            ("lab worker --lab x --help", {"help": True}),
        ],
    )
    def test_options_stand_anywhere_and_in_every_usual_form(self, words, read):
        """A value may begin with a dash, and two dashes end options; help is given
        whatever else is wrong; what is not given has its default."""
        assert read.items() <= values(*words.split()).items()

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("quux",), "No such command 'quux'."),
            (("chek",), "No such command 'chek'. Did you mean 'check', 'schema'?"),
            (("lab", "upp"), "No such command 'upp'. Did you mean 'up'?"),
            (("--foo",), "No such option: --foo"),
            (("run", "p", "-x"), "No such option: -x"),
            (("run", "--targt", "x"), "No such option: --targt (Possible options: --target, --tag, --test)"),
            (("run", "p", "--lan"), "No such option: --lan (Possible options: --lab, --on, --tag)"),
            (("run",), "Missing argument 'PLAN'."),
            (("crosscheck", "p"), "Missing option '--backends'."),
            (("run", "p", "--target"), "Option '--target' requires an argument."),
            (("ls", "-o"), "Option '-o' requires an argument."),
            (("run", "--quiet=3", "p"), "Option '--quiet' does not take a value."),
            (("run", "a", "b", "c"), "Got unexpected extra argument(s) (b c)"),
            (
                ("plan", "p", "--scale-time", "soon"),
                "Invalid value for '--scale-time': 'soon' is not a number",
            ),
            (
                ("crosscheck", "p", "--rounds", "1.5"),
                "Invalid value for '--rounds': '1.5' is not a whole number",
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_told(self, words, text):
        done = ioplan(*words)
        assert done.code == 2 and done.out == ""
        assert done.err.startswith("Usage: ioplan") and "╭─ Error ─" in done.err
        assert text in " ".join(done.err.replace("│", " ").split())
        assert re.search("Try 'ioplan.* -h' for help.", done.err)


class TestHelp:
    def entries(self):
        (lab,) = (one for one in IOPLAN.entries if one.name == "lab")
        return [("", IOPLAN), ("lab", lab), *COMMANDS.items()]

    def test_each_page_has_all_that_there_is_in_80_columns(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        for words, entry in self.entries():
            done = ioplan(*words.split(), "--help")
            assert all(example in done.out for example in entry.examples)
            assert done.code == 0 and done.err == ""
            assert all(len(line) <= 80 for line in done.out.splitlines())
            text = " ".join(re.sub("[│─╭╮╰╯]", " ", done.out).split())
            assert entry.summary in text
            for one in entry.options:
                assert one.hidden or {*one.names} <= {*text.split()}
            for command in entry.shown if isinstance(entry, Group) else ():
                assert command.name in text.split() and command.summary in text

    def test_each_has_examples_that_can_be_called(self):
        for words, entry in self.entries():
            shown = words not in ("lab", "lsp")
            assert bool(entry.examples) == (
                shown and not getattr(entry, "hidden", False)
            )
            for example in entry.examples:
                assert example.startswith(f"ioplan {words}".strip())
                call = shlex.split(re.split(r" [<>] (?=[\w.-]+$)", example)[0])
                assert isinstance(parse(call[1:], IOPLAN).entry, Command)

    def test_it_is_as_wide_as_the_terminal(self, monkeypatch):
        for columns, width in ((60, 60), (10, 60), (90, 90), (300, 100)):
            monkeypatch.setenv("COLUMNS", str(columns))
            lines = ioplan("run", "-h").out.splitlines()
            assert max(len(line) for line in lines if line[:1] in {*"╭│╰"}) == width

    def test_without_a_command_it_is_help_but_an_error(self):
        assert ioplan().out == ioplan("--help").out and ioplan().code == 2
        assert ioplan("lab").out == ioplan("lab", "--help").out

    def test_what_is_hidden_is_not_shown(self):
        assert "--lane" not in ioplan("run", "--help").out

    def test_into_a_pipe_it_has_no_colours(self):
        assert "\x1b" not in ioplan("--help").out

    def test_the_version_is_told_whatever_follows(self):
        assert ioplan("--version", "check").out == ioplan("--version").out


def answers(shell, typed, number=""):
    """What a shell is told may follow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_IOPLAN_COMPLETE", f"complete_{shell}")
        patch.setenv("COMP_WORDS", typed)
        if number:
            patch.setenv("COMP_CWORD", number)
        return ioplan().out


def script_of(shell):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{SCRIPTS}._shell", lambda: shell)
        done = ioplan("--show-completion")
    assert done.code == 0, done.err
    return done.out


SCRIPTS = "ioplan.cli.shell.shell_scripts"
PLACES = {
    "bash": ".bash_completions/ioplan.sh",
    "zsh": ".zfunc/_ioplan",
    "fish": ".config/fish/completions/ioplan.fish",
}


class TestCompletion:
    """The answers, and each shell that is installed asking for them."""

    @pytest.mark.parametrize(
        ("typed", "names"),
        [
            ("ioplan ch", ["check"]),
            ("ioplan re", ["resume", "report"]),
            ("ioplan --", ["--version", "--install-completion", "--show-completion", "--help"]),
            ("ioplan run --s", ["--set", "--scale-time", "--sim", "--store"]),
            ("ioplan run --set a=1 --pro", ["--profile"]),
            ("ioplan lab ca", ["cancel"]),
            ("ioplan lab consent ", ["key", "sign", "show"]),
            ("ioplan lab worker --l", ["--lab"]),
            ("ioplan run --target ", []),
            ("ioplan run --target --s", []),
            ("ioplan run --lan", []),
            ("ioplan run pts/pts_io", ["pts/pts_iops"]),
            ("ioplan run nowhere/", []),
            ("ioplan run p --profile", ["--profile"]),
            ("ioplan run pts/pts_iops --profile ", ["quick", "short", "smoke", "full"]),
            ("ioplan run pts/pts_iops --profile=s", []),
            ("ioplan plan nothing --test ", []),
            ("ioplan plan quick/laptop --set run", ["run_time="]),
            ("ioplan plan p --backend s", ["sim", "spdk"]),
            ("ioplan export --format j", ["json", "jsonl"]),
            ("ioplan compare last last --format g", ["github"]),
            ("ioplan suites std/", ["std/preconditions", "std/workloads"]),
            ("ioplan new --template s", ["size", "steady"]),
            ("ioplan explain zi", ["zipf"]),
            ("ioplan foo", []),
        ],
    )  # fmt: skip
    def test_what_may_follow(self, typed, names):
        assert answers("bash", typed).split() == names

    def test_values_of_the_store_the_lab_and_the_folder(self, tmp_path, store_path):
        lab = tmp_path / "lab.toml"
        lab.write_text('[targets.fast]\npath = "/dev/x"\n[groups]\nall = ["fast"]\n')
        plan = plan_file(tmp_path, READS, "my plan.ioplan")
        with Store.open(store_path) as store:
            store.begin(session())
        for typed, names in {
            "show ": ["last", session().id],
            "resume 2026": [session().id],
            f"run p --lab {lab} --target ": ["fast", "all"],
            f"check {tmp_path}/my": [f"{tmp_path}/my\\ plan.ioplan"],
        }.items():
            assert answers("bash", f"ioplan {typed}").splitlines() == names
        typed = f"ioplan\nrun\n{plan}\n--test\n=\nRandom\\ r"
        assert answers("bash", typed, "5") == "Random\\ reads:\\ all\n"
        assert answers("zsh", typed, "5") == "Random reads\\: all:test\n"
        store_path.write_bytes(b"no store")
        assert answers("bash", "ioplan show ") == ""  # an error is no value

    def test_a_shell_says_which_word_it_means_and_reads_it_in_its_own_way(self):
        assert answers("bash", "ioplan\nch\n--lab", "1") == "check\n"
        fitting = {"--on", "--option", "--only-exact", "--overwrite"}
        fitting |= {"--overwrite-from", "--overwrite-data"}
        assert {*answers("bash", "ioplan\nrun\nmy plan\n--o", "3").split()} == fitting
        summary = COMMANDS["fmt"].summary
        assert answers("fish", "ioplan fm") == f"fmt\t{summary}\n"
        assert answers("zsh", "ioplan fm") == f"fmt:{summary}\n"

    ASK = {
        "bash": (
            'COMP_WORDS=(ioplan run --sc); COMP_CWORD=2; _ioplan_completion ioplan; '
            'echo "${COMPREPLY[@]}"'
        ),
        "fish": 'complete -C "ioplan run --sc"',
    }  # fmt: skip

    @pytest.mark.slow
    @pytest.mark.parametrize("shell", ASK)
    def test_the_script_works_in_its_shell(self, shell, tmp_path):
        if not shutil.which(shell):
            pytest.skip(f"LEFT OUT: completion in {shell}, which is not installed")
        script = tmp_path / "ioplan"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m ioplan.cli "$@"\n')
        script.chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = program(
            shell,
            "-c",
            f"{script_of(shell)}\n{self.ASK[shell]}",
            check=True,
            env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
        )
        assert done.stdout.split()[:1] == ["--scale-time"], done.stderr

    @pytest.mark.parametrize("shell", PLACES)
    def test_it_is_installed_once(self, shell, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
        monkeypatch.setattr(f"{SCRIPTS}._name_of", lambda process: "make")
        (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
        (tmp_path / ".zshrc").write_text("alias ll='ls -l'")
        done = ioplan("--install-completion")
        assert done.code == 0 and f"completion for {shell}" in done.out
        place = tmp_path / PLACES[shell]
        assert place.read_text() == ioplan("--show-completion").out
        once = [path.read_text() for path in tmp_path.glob(".*rc")]
        ioplan("--install-completion")
        assert [path.read_text() for path in tmp_path.glob(".*rc")] == once
        assert all(text.startswith("alias ll='ls -l'") for text in once)

    def test_for_another_shell_there_is_none(self, monkeypatch):
        monkeypatch.setenv("SHELL", "/bin/tcsh")
        monkeypatch.setattr(f"{SCRIPTS}._name_of", lambda process: "make")
        done = ioplan("--show-completion")
        assert done.code == 2
        assert done.err == (
            "error: there is no completion for make; there is for: bash, zsh, fish\n"
        )


@pytest.mark.parametrize(
    "words", ["answer", "journal", "report --pdf", "report --drive"]
)
def test_a_call_of_what_was_removed_names_what_to_use_instead(words):
    done = ioplan(*words.split())
    assert done.code == 2 and ". It was removed: " in done.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "text", "call"),
    [
        (
            "plan.ioplan",
            'test "T" { run random 4KiB, qd 1 for 1s\nskip when predicted within 2% }',
            ("check",),
        ),
        (
            "lab.toml",
            '[targets.fast]\npath = "/dev/zram0"\njournal = true\n',
            ("targets", "--lab"),
        ),
    ],
)
def test_a_file_that_says_what_was_removed_is_told(name, text, call, tmp_path):
    (tmp_path / name).write_text(text)
    refuse("' was removed", *call, tmp_path / name)
