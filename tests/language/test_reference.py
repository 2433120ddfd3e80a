"""The language's reference says what the clause table says."""

import re

import pytest
from paths import ROOT

from ioplan.language import CLAUSES, METRICS, Source, clause_table, parse
from ioplan.language.clause_table import AXIS_FIELDS, reference_rows
from ioplan.language.output_table import METRIC_MEANINGS
from ioplan.language.spoken import COMMON, VOCABULARY, WORDS, speaking
from ioplan.language.statement_table import BY_WORD, ITEMS, PREPARES, STATEMENTS, TIMING
from ioplan.language.syntax.grammar import CLAUSE_WORDS, ITEM_WORDS, STATEMENT_WORDS
from ioplan.runner import FEATURES
from ioplan.workload import Stream

REFERENCE = ROOT / "docs/language.md"
TABLE = re.compile(
    r"(?<=\| clause \| meaning \| default \|\n\|---\|---\|---\|\n)(\|.*\n)+"
)
ITEM_TABLE = re.compile(r"(?<=\| item \| meaning \|\n\|---\|---\|\n)(\|.*\n)+")
STATEMENT_TABLE = re.compile(
    r"(?<=\| statement \| meaning \|\n\|---\|---\|\n)(\|.*\n)+"
)
AXES = re.compile(r"(?<=a field of the workload,\n`)[^`]*(?=`,)")


def test_the_reference_has_every_clause(renew):
    """`pytest --renew` writes the tables and the list of axes."""
    text = REFERENCE.read_text("utf-8")
    rows = "".join(f"{row}\n" for row in reference_rows())
    wanted = TABLE.sub(lambda _: rows, text, count=1)
    for table, entries in ((ITEM_TABLE, ITEMS), (STATEMENT_TABLE, STATEMENTS)):
        rows = "".join(f"{row}\n" for entry in entries for row in entry.rows())
        wanted = table.sub(lambda _, rows=rows: rows, wanted, count=1)
    wanted = AXES.sub(lambda _: " ".join(AXIS_FIELDS), wanted, count=1)
    if renew:
        REFERENCE.write_text(wanted, "utf-8")
    parts = (TABLE, ITEM_TABLE, STATEMENT_TABLE, AXES)
    assert all(part.search(text) for part in parts)
    assert text == wanted


def test_every_word_of_the_grammar_has_an_entry():
    words = {*ITEM_WORDS, *STATEMENT_WORDS, *CLAUSE_WORDS}
    assert words == {*BY_WORD} | {*clause_table.BY_WORD} - {
        "pattern",
        "random share",
        "mix",
    }
    assert {*METRICS} == {*METRIC_MEANINGS}


INSIDE = (
    (ITEMS, "{}"),
    (STATEMENTS, 'test "T" {{ {} }}'),
    (PREPARES, "precondition p {{ {} }}"),
    (TIMING, 'test "T" {{ run random 4KiB, {} }}'),
)
"""Where the entries of each table stand."""


@pytest.mark.parametrize(
    ("text", "around"), [(one.example, text) for table, text in INSIDE for one in table]
)
def test_the_grammar_takes_every_template(text, around):
    _, errors = parse(Source("plan.ioplan", around.format(text)))
    assert not errors


def test_every_member_of_a_stream_is_some_clauses():
    """What no clause sets could not be asked for, nor refused in its words."""
    members = {re.split(r"[. ]", path)[0] for path in WORDS}
    assert members == set(Stream.model_fields) - {"name"}


def test_every_form_is_a_feature_or_in_one():
    """`ioplan backends` answers for all that the language can say."""
    own = {clause.word for clause in CLAUSES if not clause.is_feature}
    hosts = {"on hosts", "on targets"}
    assert own == {"pattern", "size", "mix", "sizes", "qd", "footprint of"} | hosts
    for clause in CLAUSES:
        for form, _ in clause.features():
            assert form in FEATURES


def test_a_backend_cannot_speak_a_word_that_no_clause_has():
    assert speaking(*COMMON, "burst") == {*COMMON, "burst"} <= VOCABULARY
    with pytest.raises(ValueError, match="'zpif', did you mean 'zipf'"):
        speaking(*COMMON, "zpif")
