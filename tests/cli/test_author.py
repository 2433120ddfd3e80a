"""The author's loop: one test at a time, standard input, libraries, files of a plan."""

import re
import signal
import subprocess
import sys

import pytest
from command import ioplan, last_records, plan_file, refuse, succeed

from ioplan.language import CLAUSES
from ioplan.results.store import Store

LIBRARY = "param t = 5ms\nworkload w = random 4KiB 100/0\n"
PLAN = """use "lib/w.ioplan"
test "Random reads" { vary qd in 1, 2 run w for t }
test "Random writes" { run w, 0/100 for t }
test "Odd [title]*" { run w, qd 3 for t }
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "lib").mkdir()
    plan_file(tmp_path / "lib", LIBRARY, "w.ioplan")
    return plan_file(tmp_path, PLAN)


def run(plan, *more):
    return ioplan("run", plan, "--backend", "sim", "--create", "1MiB", *more)


def titles(store):
    return [one.asked.test for one in last_records(store)]


class TestSelection:
    def test_tests_are_listed_and_nothing_is_done(self, plan, store_path):
        for command in ("run", "plan", "check"):
            done = ioplan(command, plan, "--list", "--test", "random*")
            assert done.code == 0 and done.out == (
                "Random reads   2 cells over qd\nRandom writes  1 cell\n"
            )
        assert not store_path.exists()

    @pytest.mark.parametrize(
        ("globs", "kept"),
        [
            (("Random*",), "Random reads, Random writes"),
            (("random writes", "*reads"), "Random reads, Random writes"),
            (("Odd [title]*",), "Odd [title]*"),
            (("*",), "Random reads, Random writes, Odd [title]*"),
        ],
    )
    def test_by_globs_of_their_titles(self, plan, globs, kept):
        words = [word for glob in globs for word in ("--test", glob)]
        rows = ioplan("check", plan, "--list", *words).out.splitlines()
        assert ", ".join(row.split("  ")[0] for row in rows) == kept

    @pytest.mark.parametrize(
        ("glob", "help"),
        [
            ("reads", ", did you mean '*reads*'?"),
            ("Random raeds", ", did you mean 'Random reads'?"),
            ("x*", ""),
        ],
    )
    def test_one_that_fits_none_is_an_error(self, plan, glob, help):
        done = ioplan("plan", plan, "--test", glob)
        assert done.code == 2
        assert done.err == (
            f"error: no test of {plan} is called {glob!r}{help}; --list shows all\n"
        )

    def test_a_session_is_of_its_tests(self, plan, store_path, rough_sim):
        assert run(plan, "--test", "* writes", "--quiet").code == 0
        assert titles(store_path) == ["Random writes"]
        assert "Random reads" not in ioplan("show").out
        assert run(plan, "--quiet").code == 0
        shown = ioplan("show", "--tables", "--test", "odd [TITLE]*").out
        assert re.findall(r"^(\w.*?) ─{8}", shown, re.M) == [
            "Odd [title]*",
            "Headlines, SIMULATED",
        ]

    def test_an_export_is_of_all_tests(self, plan, rough_sim):
        done = ioplan("show", "--test", "x", "--format", "csv")
        assert done.code == 2 and "--format writes the whole session" in done.err

    def test_some_tests_of_a_session_go_on(self, plan, store_path, rough_sim):
        assert run(plan, "--test", "random*", "--quiet").code == 0
        with Store.open(store_path) as store:
            session = store.session("last").id
            store.finish(session, "interrupted", "2026-01-01T00:00:00")
        plan.write_text(PLAN.replace("qd in 1, 2", "qd in 1, 4").replace("0/1", "10/9"))
        plan.write_text(plan.read_text().replace("10/900", "10/90"))
        assert ioplan("resume", "--list").out.count("\n") == 2
        done = succeed("resume", "--test", "*reads")
        assert f"other tests are left: ioplan resume {session}" in done.out
        assert titles(store_path).count("Random reads") == 3
        assert titles(store_path).count("Random writes") == 1
        assert ioplan("resume").code == 0
        assert titles(store_path).count("Random writes") == 2
        assert "has ended" in ioplan("resume").out


class TestStandardInput:
    def test_a_plan_is_checked(self, tmp_path, plan):
        assert ioplan("check", "-", "--stdin-name", plan, stdin=PLAN).code == 0
        done = ioplan("check", "-", stdin='test "T" { run random 4k 100/0 for 1s }')
        assert done.code == 2 and "--> stdin.ioplan:1:23" in done.err
        assert ioplan("check", "-", stdin=LIBRARY).code == 0

    def test_a_plan_is_formatted(self, tmp_path):
        done = ioplan("fmt", "-", stdin="workload  w=random 4KiB  100/0")
        assert (done.code, done.out) == (0, "workload w = random 4KiB 100/0\n")
        assert ioplan("fmt", "-", "--check", stdin=done.out).code == 0
        done = ioplan("fmt", "-", "--check", "--stdin-name", "x", stdin="workload w=a")
        assert (done.code, done.out) == (1, "x is not formatted\n")
        done = ioplan("fmt", "-", "--stdin-name", "x.ioplan", stdin="workload w=")
        assert done.code == 2 and "--> x.ioplan:1" in done.err


class TestLibraries:
    def test_one_is_checked_and_cannot_be_run(self, plan):
        library = plan.parent / "lib/w.ioplan"
        done = ioplan("check", library)
        assert (done.code, done.out, done.err) == (0, "", "")
        assert "the plan has no test" in ioplan("plan", library).err

    def test_the_lab_has_some(self, tmp_path, plan):
        (tmp_path / "lab").mkdir()
        (tmp_path / "lib").rename(tmp_path / "lab/plans")
        plan.write_text(PLAN.replace("lib/w", "w"))
        lab = tmp_path / "lab/lab.toml"
        lab.write_text('plans = ["plans"]\n')
        assert ioplan("check", plan).code == 2
        assert ioplan("check", plan, "--lab", lab).code == 0
        assert ioplan("plan", plan, "--lab", lab).code == 0

    def test_a_record_has_all_files(self, plan, store_path, rough_sim):
        assert run(plan, "--quiet").code == 0
        library = plan.parent / "lib/w.ioplan"
        library.unlink()
        shown = ioplan("show", "--plan").out
        assert shown.startswith(PLAN) and "#   lib/w.ioplan:" in shown
        assert "#   workload w = random 4KiB 100/0" in shown
        assert "Random reads" in ioplan("show").out
        again = plan_file(plan.parent, shown, "again.ioplan")
        library.write_text(LIBRARY)
        assert ioplan("check", again).code == 0

    def test_a_session_goes_on_with_an_edited_library(
        self, plan, store_path, rough_sim
    ):
        assert run(plan, "--quiet").code == 0
        (plan.parent / "lib/w.ioplan").write_text(LIBRARY.replace("4KiB", "8KiB"))
        done = succeed("resume")
        assert "was edited since: 0 finished runs are still in it, 4 are to" in done.err
        assert "#   workload w = random 8KiB" in ioplan("show", "--plan").out
        assert "has ended" in ioplan("resume").out


KNOWN = [
    *{clause.word.split()[0] for clause in CLAUSES if clause.reference},
    *("vary", "expect", "no-space"),
]


class TestExplain:
    def test_every_word_is_explained_and_examples_of_clauses_are_right(self):
        listed = ioplan("explain")
        assert all(len(row) <= 80 for row in listed.out.splitlines())
        words = {*re.findall(r"[a-z][\w-]+", listed.out)} & {*KNOWN}
        assert words == {*KNOWN}
        shown = {word: ioplan("explain", word) for word in words}
        for word, done in shown.items():
            assert done.code == 0 and done.out.startswith(f"{word}: "), word
            assert not re.search(r"[`\]]|\$\{", done.out.replace("dict[", "")), word
        runs = {
            row.strip()
            for done in shown.values()
            for row in done.out.splitlines()
            if row.startswith("    run ") and "{ " not in row.replace("s { ", "")
        }
        assert len(runs) > 20
        head = 'trace web = "std/logged.iotrace"\n'
        head += 'trace answered = "std/answered.iotrace"\n'
        tests = (f'test "{n}" {{ {run} }}\n' for n, run in enumerate(sorted(runs)))
        succeed("check", "-", stdin=head + "".join(tests))

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("verify", "verify: a clause of a workload\n"),
            ("verify", "verify: the name of an error\n"),
            ("direct", "I/O is always direct"),
            ("iodepth", "is written as: qd 32\n"),
            ("read random", "read random: a clause"),
            ("steady state", "steady: a part of "),
            ("steady", "steady: a part of until, a "),
            ("steady", "steady: a part of rounds, a "),
            ("METRIC", "METRIC: a part of expect, a "),
            ("zipf pareto", "zipf: "),
            ("zipf pareto", "\npareto: "),
        ],
    )
    def test_words_are_a_term_or_each_for_itself(self, words, told):
        """One of several meanings has all of them, or the statements it is a part of."""
        done = ioplan("explain", *words.split())
        assert done.code == 0 and told in done.out
        assert words != "read random" or "\nrandom: " not in done.out

    def test_other_words_are_not_known(self):
        near, far = ioplan("explain", "zipff"), ioplan("explain", "nobody", "here")
        assert near.code == far.code == 2
        assert "unknown word 'zipff', did you mean 'zipf'?; ioplan" in near.err
        assert "unknown word 'nobody here'" in far.err


class TestNew:
    @pytest.mark.parametrize("template", ["depth", "size", "steady", "library"])
    def test_each_template_is_right_and_formatted(self, template, tmp_path):
        path = tmp_path / "my_review.ioplan"
        succeed("new", path, "--template", template)
        assert ioplan("check", path).code == 0
        assert ioplan("fmt", "--check", path).code == 0
        titled = template == "library" or 'plan "My review"' in path.read_text()
        assert titled and "FILE" not in path.read_text()

    def test_nothing_is_overwritten(self, tmp_path):
        path = plan_file(tmp_path, "mine")
        refuse("exists already", "new", path, "--template", "depth")
        assert path.read_text() == "mine"

    def test_without_a_terminal_it_is_the_first(self, tmp_path, monkeypatch):
        """As docs/getting-started.md has it: ioplan new review.ioplan."""
        monkeypatch.chdir(tmp_path)
        done = succeed("new", "review.ioplan", stdin="2\nMine\n")
        assert "the template is depth" in done.err and "  steady  " in done.err
        assert 'plan "Review"' in (tmp_path / "review.ioplan").read_text()
        assert ioplan("check", "review.ioplan").code == 0
        assert ioplan("new", "review.ioplan", stdin="").code == 2

    def test_what_is_not_said_is_asked(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("ioplan.cli.commands.author.new._can_ask", lambda: True)
        done = ioplan("new", stdin="2\nMine\n")
        assert "  2  how fast is it at which block size and mix?" in done.err
        assert 'plan "Mine"' in (tmp_path / "size.ioplan").read_text()
        assert ioplan("new", "a", stdin="\n\n").code == 0
        assert 'plan "A"' in (tmp_path / "a.ioplan").read_text()
        assert "did you mean 'steady'?" in ioplan("new", stdin="stedy\n").err
        assert "no quotes" in ioplan("new", "b", stdin='1\n"\n').err


@pytest.mark.long
def test_a_plan_is_watched_with_its_library(plan):
    pytest.importorskip("watchfiles")
    call = [sys.executable, "-m", "ioplan.cli", "watch", str(plan), "--scale-time"]
    library = plan.parent / "lib/w.ioplan"
    with subprocess.Popen(
        [*call, "0.01"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        assert process.stdout

        def told(text):
            assert any(text in line for line in iter(process.stdout.readline, "")), text

        told("rehearsed on ioplan sim")
        library.write_text(LIBRARY.replace("100/0", "100/1"))
        told("the mix 100/1 adds up to 101 %")
        library.write_text(LIBRARY)
        told("rehearsed on ioplan sim")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
