"""The canonical look: goldens, and what holds for every plan."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.survive import shape
from golden import Golden
from ioplan import PlanError
from ioplan.cli.commands.check import format_plans
from ioplan.language import Source, format_text, installed_plans
from ioplan.language.syntax import canonical, formatter
from ioplan.language.syntax.formatter import WIDTH
from ioplan.language.syntax.layout import WordsChanged, require_same_words
from ioplan.language.syntax.source import comments_of
from ioplan_editor.document import Document
from ioplan_editor.fix.fixes import formatting

FORMAT, LANGUAGE = Golden("format"), Golden("language")
FOLDER = installed_plans().resolve()
SHIPPED = {
    f"{path.relative_to(FOLDER)}": path.read_bytes().decode()
    for path in sorted(FOLDER.rglob("*.ioplan"))
}
GOOD = {name: one.input for name, one in LANGUAGE.items() if "plan" in one.expected}
PLANS = {f"look {name}": one.input for name, one in FORMAT.items()} | SHIPPED | GOOD


@pytest.mark.parametrize("case", FORMAT)
def test_a_look(case, golden):
    golden(FORMAT, case, format_text(FORMAT[case].input))


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_changes_the_look_only(text):
    written = format_text(text)
    assert format_text(written) == written
    assert shape(written) == shape(text)
    assert [c.text for c in comments_of(written)] == [c.text for c in comments_of(text)]
    assert written.endswith("\n") and not written.endswith("\n\n")


LINES = 'test "T" {\r\n  # c\r\n\r\n\r\n  idle 5s # d\r\n}\r\n'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("", ""), ("\n\n  \n", ""), ("  # alone", "# alone\n")),
        (LINES, 'test "T" {\n  # c\n\n  idle   5s  # d\n}\n'),
    ],
)
def test_blanks_and_line_ends(text, written):
    assert format_text(text) == written


def test_broken_text_is_not_rewritten():
    with pytest.raises(PlanError, match="unexpected"):
        format_text("workload w = random 4KiB 70/30,, qd 4")
    with pytest.raises(PlanError, match=r"mine\.ioplan:1:1"):
        format_text("nonsense", "mine.ioplan")


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_width(values):
    """Whatever has commas fits."""
    listed = ",".join(map(str, values))
    written = format_text(f'test "T" {{ vary qd in {listed} }}')
    assert max(map(len, written.splitlines())) <= WIDTH
    assert shape(written) == shape(f'test "T" {{ vary qd in {listed} }}')


def test_a_long_comment_stays_on_its_row():
    """Even if a list could be broken in it: the rest of it would become code."""
    comment = "# " + "why " * 20 + "{ 512B 10%, 1KiB 90% } and more"
    plan = f'{comment}\ntest "T" {{ run random 4KiB 100/0 for 1s }}\n'
    assert format_text(plan).splitlines()[0] == comment


@pytest.mark.parametrize(
    "written",
    [
        'accept "a"on # b\n  failure stop',
        'test "T" { run w, on hosts "a\\"b", h, "for" for 1s }',
        'test "T" { run w, qd 8 each # e\n over  all, on  targets a, "b-c" for 1s }',
        'test "T" { run w, rate 5% # of "U"\n of # "T"\n "T" for 1s }',
        'test "T" { run w for 1s chart lines iops, log y by# read\n read }',
        "workload w = v, sizes { 4 KiB 50 %, (1 + 70/30) 50%, } # 1\n, for (1 s)",
        "precondition p { write random 4KiB until # a\n steady waf every 1 %, at most 1 pass }",
        'test "T" { vary (hot) in hotspots { 1 in 2 } skip when ((qd == 1)) run w }',
    ],
)
def test_rare_words(written):
    """What is written in two ways comes out as one, with its words."""
    once = format_text(written)
    assert shape(once) == shape(written)
    assert format_text(once) == once


class TestDefectiveFormatter:
    """A formatter that would change what a plan says writes nothing."""

    TEXT = 'test "T" {  # why\n  run random 4KiB 100/0, qd 8 for 1s\n}\n'

    @pytest.fixture(params=["split", "lost", "comment lost", "swapped"])
    def broken(self, request, monkeypatch):
        clause = canonical.clause
        faults = {
            "split": ("clause", lambda c: [p.replace("ran", "ran ") for p in clause(c)]),
            "lost": ("clause", lambda c: clause(c) if c.kind != "qd" else [""]),
            "swapped": ("spec", lambda s: [p for c in s.clauses for p in clause(c)]),
        }  # fmt: skip
        if request.param == "comment lost":
            monkeypatch.setattr(formatter, "comments_of", lambda _: [])
        else:
            monkeypatch.setattr(canonical, *faults[request.param])

    @pytest.mark.usefixtures("broken")
    def test_the_file_is_left_alone(self, tmp_path):
        plan = tmp_path / "mine.ioplan"
        plan.write_text(self.TEXT)
        with pytest.raises(WordsChanged, match=r"mine\.ioplan.*so nothing is written"):
            format_plans([plan], check=False, stdin_name=None)
        assert plan.read_text() == self.TEXT
        with pytest.raises(WordsChanged):
            formatting(Document(plan, self.TEXT))


@given(st.data())
def test_no_word_may_change(data):
    """A text without one of its words, or with a blank in one, says something else."""
    text = data.draw(st.sampled_from([*GOOD.values()]))
    at = data.draw(st.integers(1, len(text) - 1))
    cut = data.draw(st.sampled_from(["", " "]))
    assume(text[at - 1 : at + 1].isalpha())
    with pytest.raises(WordsChanged):
        require_same_words(Source("", text), text[:at] + cut + text[at + (not cut) :])
