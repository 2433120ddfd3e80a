"""The sentence of a report: by rules over headlines, and nothing that they do not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paths
import pytest
from command import ioplan
from page_text import sentence_of

from ioplan.results.report import Headline, overall
from ioplan.results.report.headlines.sentence import faster, sentence, text

QUIET, BUSY = {"load": 1, "where": "QD 1"}, {"load": 64, "where": "QD 64"}


def headline(value: float | None, **more: Any) -> Headline:
    fields: dict[str, Any] = {
        "name": "IOPS",
        "metric": "iops",
        "value": value,
        "unit": "1/s",
        "kind": "",
        "where": "QD 1",
        "cell": {},
        "among": frozenset(),
        "definition": "",
        "load": 1,
        "access": "random reads",
    }
    return Headline(**fields | more)


def said(**tests: dict[str, Headline | list[Headline]]) -> str:
    """Of two drives or more, by test and label."""
    listed = {
        test: {n: h if isinstance(h, list) else [h] for n, h in by_label.items()}
        for test, by_label in tests.items()
    }
    labels = [*dict.fromkeys(label for some in listed.values() for label in some)]
    return text(sentence(overall(listed, labels)))


def test_a_person_would_say_so() -> None:
    told = said(
        quiet={"A": headline(11_000.0), "B": headline(99_000.0)},
        busy={"A": headline(4e5, **BUSY), "B": headline(4.1e5, **BUSY)},
    )
    assert told == (
        "B is 9.0 times faster at queue depth 1; equal at queue depth 64, compared with A."
    )


def test_a_latency_that_is_half_is_faster() -> None:
    ns = {"unit": "ns", "metric": "p99", "name": "p99"}
    told = said(t={"A": headline(200.0, **ns), "B": headline(50.0, **ns)})
    assert told == "B is 4.0 times faster, compared with A."


def test_what_is_within_its_own_error_is_equal() -> None:
    sure = said(t={"A": headline(100.0), "B": headline(120.0)})
    assert sure == "B is 20 % faster, compared with A."
    loose = {"error_percent": 15.0}
    unsure = said(t={"A": headline(100.0, **loose), "B": headline(120.0, **loose)})
    assert unsure == "B is equal, compared with A."


def test_a_drive_is_not_compared_with_a_simulated_one() -> None:
    sim = {"is_simulated": True, "against": ("simulated",)}
    beside = {"A": headline(10.0), "S": headline(400.0, **sim)}
    assert said(t=beside) == ""
    three = said(t={**beside, "B": headline(20.0)})
    assert three == "B is 2.0 times faster, compared with A, the next of them."
    doubted = {**beside, "A": headline(10.0, against=("warned",))}
    assert said(t=doubted) == "A: warned."
    alone = {"S": headline(400.0, **sim), "T": headline(100.0, **sim)}
    assert said(t=alone) == "S is 4.0 times faster, compared with T."


def test_both_sides_are_told() -> None:
    """Neither a mean that hides them, nor the better half alone."""
    writes = {"access": "random writes"}
    told = said(
        reads={"A": headline(10.0), "B": headline(40.0)},
        writes={"A": headline(10.0, **writes), "B": headline(5.0, **writes)},
    )
    assert told == (
        "B is 4.0 times faster in random reads, 2.0 times slower in random writes, "
        "compared with A."
    )
    mixed = said(
        one={"A": headline(10.0), "B": headline(40.0)},
        two={"A": headline(10.0), "B": headline(5.0)},
    )
    assert "2.0 times slower to 4.0 times faster" in mixed


def test_what_speaks_against_a_drive_is_told() -> None:
    doubted = headline(10.0, against=("simulated", "not steady"))
    assert said(t={"A": doubted, "B": headline(40.0)}).endswith("; A: not steady.")
    gone = headline(None, why="failed")
    told = said(
        t={"A": headline(1.0), "B": headline(4.0)},
        u={"A": gone, "B": headline(4.0, access="random writes")},
    )
    assert told.endswith("; A: 1 of 2 figures.")


def test_the_end_of_a_search_is_no_figure() -> None:
    """Two searches that ended at 128 are not equal: nobody knows."""
    found = {"name": "highest QD", "unit": "", "metric": "qd"}
    both = {n: headline(128.0, bound="≥", **found) for n in ("A", "B")}
    assert said(t=both) == ""
    told = said(t=both, u={"A": headline(10.0), "B": headline(40.0)})
    assert told == "B is 4.0 times faster, compared with A."


@pytest.mark.parametrize(
    ("gain", "told"),
    [
        (9.04, "9.0 times faster"),
        (1.28, "28 % faster"),
        (0.72, "28 % slower"),
        (0.11, "9.1 times slower"),
        (1.04, "equal"),
    ],
)
def test_a_ratio_in_words(gain: float, told: str) -> None:
    assert faster(gain) == told


@pytest.mark.long
def test_the_message_of_a_review_is_the_first_sentence(tmp_path: Path) -> None:
    """In-place memory against flash: far ahead at QD 1, not in random reads at 64."""
    store, page = tmp_path / "r.db", tmp_path / "r.html"
    for drive in ("datacentre", "crosspoint"):
        sim = ("--backend", "sim", "--sim", paths.ROOT / f"examples/sim/{drive}.toml")
        how = ("--profile", "short", "-q", "--store", store)
        assert ioplan("run", "reviews/p4800x", *how, *sim).code in (0, 1)
    ids = ioplan("ls", "--store", store, "--format", "csv").out.splitlines()[1:]
    two = [row.split(",")[0] for row in ids]
    assert ioplan("report", *two, "--store", store, "-o", page).code == 0
    told = sentence_of(page)
    first, _, last = told.partition("at queue depth 1;")
    assert first.startswith("crosspoint is ") and "times faster" in first, told
    assert "slower in random reads" in last and "at queue depth 64" in last
