"""The language's reference says what the clause table says."""

from __future__ import annotations

import re

from paths import ROOT

from ioplan.language.clause_table import AXIS_FIELDS, CLAUSES, reference_rows
from ioplan.language.spoken import WORDS, words
from ioplan.runner.fit import FEATURES
from ioplan.workload import Stream

REFERENCE = ROOT / "dsl/language.md"
TABLE = re.compile(
    r"(?<=\| clause \| meaning \| default \|\n\|---\|---\|---\|\n)(\|.*\n)+"
)
AXES = re.compile(r"(?<=a field of the workload,\n`)[^`]*(?=`,)")


def test_the_reference_has_every_clause(renew: bool) -> None:
    """`pytest --renew` writes the table and the list of axes."""
    text = REFERENCE.read_text("utf-8")
    rows = "".join(f"{row}\n" for row in reference_rows())
    wanted = TABLE.sub(lambda _: rows, text, count=1)
    wanted = AXES.sub(lambda _: " ".join(AXIS_FIELDS), wanted, count=1)
    if renew:
        REFERENCE.write_text(wanted, "utf-8")
    assert TABLE.search(text) and AXES.search(text)
    assert text == wanted


def test_every_member_of_a_stream_is_some_clauses() -> None:
    """What no clause sets could not be asked for, nor refused in its words."""
    members = {re.split(r"[. ]", path)[0] for path in WORDS}
    assert members == set(Stream.fields_) - {"name"}


def test_every_form_is_a_feature_or_in_one() -> None:
    """`ioplan backends` answers for all that the language can say."""
    own = {clause.word for clause in CLAUSES if not clause.is_feature}
    assert own == {"pattern", "size", "mix", "sizes", "qd", "on hosts"}
    for clause in CLAUSES:
        for form, _ in clause.features():
            assert form in FEATURES


def test_the_words_of_a_stream() -> None:
    sizes = ({"size_bytes": 4096, "percent": 100},)
    plain = {"pattern": "random", "read_percent": 70}
    both = {"read_sizes": sizes, "write_sizes": sizes}
    stream = Stream.model_validate(plain | both)
    assert words(stream) == ["random", "mix", "size"]
    more = {
        "rate": {"iops": 100, "arrivals": "poisson"},
        "distribution": {"kind": "zipf", "theta": 1.1},
        "data": {"kind": "zeros"},
        "pause_ns": 5,
    }
    said = words(Stream.model_validate(plain | both | more))
    assert said[3:] == ["rate", "rate poisson", "pause", "zipf", "data zeros"]
