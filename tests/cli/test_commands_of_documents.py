"""Each command that the documents show is one, and those on results work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT

from ioplan.cli.arguments import parse
from ioplan.cli.interface.declare import Command
from ioplan.cli.interface.table import IOPLAN

DOCS = ROOT / "docs"
DOCUMENTS = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def commands(document: Path) -> Iterator[str]:
    """The calls of ioplan in a document's shell blocks, one a line."""
    text = document.read_text()
    for kind, block in re.findall(r"^```(sh|console)\n(.*?)^```", text, re.S | re.M):
        for line in block.replace("\\\n", " ").splitlines():
            shown = (
                line.removeprefix("$ ")
                if kind == "console" or line[:2] == "$ "
                else line
            )
            if re.match(r"(sudo )?ioplan ", shown):
                yield shown.removeprefix("sudo ")


def words_of(line: str) -> list[str]:
    """Its words behind `ioplan`, up to a pipe or what it is written to."""
    words = shlex.split(line, comments=True)[1:]
    ends = [n for n, word in enumerate(words) if word in ("|", ">", "&&")]
    return words[: ends[0]] if ends else words


SHOWN = {(one, line) for one in DOCUMENTS for line in commands(one)}


def test_they_are_found() -> None:
    assert len(SHOWN) > 120
    assert len({document for document, _ in SHOWN}) > 15


@pytest.mark.parametrize(
    ("document", "line"), sorted(SHOWN), ids=lambda x: getattr(x, "name", x)
)
def test_it_is_a_call(document: Path, line: str) -> None:
    """Its commands and options are there, and each option has its value."""
    assert isinstance(parse(words_of(line), IOPLAN).entry, Command)


PLAN = """
test "Random reads" {
  run random 4KiB 100/0, qd 4 for 400ms
  vary qd in 1, 32
  chart lines iops by qd
}
test "Read share" { run random 4KiB 70/30, qd 4 for 200ms chart lines iops over time }
"""
OF_RESULTS = ("results.md", "compare.md", "history.md")


@pytest.fixture
def measured(
    tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Six sessions of one plan in the store, newest first."""
    monkeypatch.chdir(tmp_path)
    Path("plan.ioplan").write_text(PLAN)
    for number in range(6):
        tag = ("--tag", f"n{number}")
        done = ioplan("run", "plan.ioplan", "--backend", "sim", *tag)
        assert done.code == 0, done.err
    return re.findall(r"^\d{8}-\d{6}-\w+", ioplan("ls", "--format", "csv").out, re.M)


ELSEWHERE = {"--pdf", "--drive", "--only", "--preparations", "x.ioplan-bundle"}
"""Words of lines that need what the six sessions do not have."""


@pytest.mark.long
@pytest.mark.parametrize("page", OF_RESULTS)
def test_what_a_page_shows_of_results_works(page: str, measured: list[str]) -> None:
    """In its order; left out is what needs a drive, Chromium or a server."""
    assert len(measured) == 6
    ran = 0
    for line in commands(DOCS / page):
        words = [adapted(word, measured) for word in words_of(line)]
        if words[0] in ("run", "plan") or ELSEWHERE & {*words}:
            continue
        done = ioplan(*words)
        assert done.code in (0, 1), f"{line}\n{done.err}"
        assert done.code == 0 or words[0] in ("answer", "compare", "history"), line
        ran += 1
    assert ran >= 2


def adapted(word: str, sessions: list[str]) -> str:
    """A session in place of the word that stands for one."""
    known = {"BASE": "A1", "NEW": "B1", "SESSION": "A1", "last": "B1"}
    places = dict(zip(("A1", "A2", "A3", "B1", "B2", "B3"), sessions, strict=True))
    found = [places.get(known.get(one, one), one) for one in word.split(",")]
    return ",".join(found).replace("10s..20s", "0s..1s")
