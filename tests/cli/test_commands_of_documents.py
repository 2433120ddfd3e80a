"""Each command that the documents show is one, and those on results work."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ioplan, succeed
from paths import ROOT

from ioplan.cli import IOPLAN, Command, parse

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


@pytest.mark.parametrize(
    ("document", "line"), sorted(SHOWN), ids=lambda x: getattr(x, "name", x)
)
def test_it_is_a_call(document: Path, line: str) -> None:
    """Its commands and options are there, and each option has its value."""
    assert isinstance(parse(words_of(line), IOPLAN).entry, Command)


NEWCOMERS = ("README.md", "docs/getting-started.md", "docs/paths.md")


@pytest.mark.parametrize("name", NEWCOMERS)
def test_a_newcomer_has_each_plan_and_makes_each_file_once(name: str) -> None:
    """A plan is there or was made before, and a file has one size in all of them."""
    made = set()
    for line in commands(ROOT / name):
        words = words_of(line)
        plans = {word for word in words if re.fullmatch(r"[\w/-]+\.ioplan", word)}
        made |= plans if words[0] == "new" else set()
        assert not [one for one in plans - made if not (ROOT / one).exists()], line


BY_NAME = re.compile(
    r"pip install (?!.*--no-index)[^;|&,]*?['\" ]ioplan(\[[\w,]+\])?(?=['\"`\s]|==|$)(?! @)"
)
WRITTEN = ("*.md", "*.py", "*.yml", "*.sh", "Makefile", "Containerfile", "run", "demo")
INSTALLED_HERE = "return f\"{quote(sys.executable)} -m pip install 'ioplan["


@pytest.mark.slow
def test_nothing_installs_a_package_of_our_name_from_an_index() -> None:
    """It is not published, so that one of the name would be a stranger's."""
    assert BY_NAME.search("pip install 'ioplan[lab]'")
    assert BY_NAME.search("pip install --upgrade ioplan==0.1.0")
    assert not BY_NAME.search('pip install "ioplan[lab] @ file:///x.whl"')
    tracked = subprocess.check_output(
        ["git", "ls-files", *WRITTEN], cwd=ROOT, text=True
    )
    files = (Path(one) for one in tracked.splitlines() if not one.startswith("tests/"))
    found = [
        f"{path}: {line.strip()}"
        for path in files
        for line in (ROOT / path).read_text().splitlines()
        if BY_NAME.search(line) and "Once it is published" not in line
    ]
    assert [x for x in found if INSTALLED_HERE not in x] == []


def test_no_file_is_made_anew_with_another_size() -> None:
    sizes: dict[str, set[str]] = {}
    for words in (words_of(x) for one in NEWCOMERS for x in commands(ROOT / one)):
        if "--create" in words and "--target" in words:
            target, size = (words[words.index(x) + 1] for x in ("--target", "--create"))
            sizes.setdefault(target, set()).add(size)
    assert len(sizes) > 2 and all(len(found) == 1 for found in sizes.values()), sizes


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
        succeed("run", "plan.ioplan", "--backend", "sim", *tag)
    return re.findall(r"^\d{8}-\d{6}-\w+", ioplan("ls", "--format", "csv").out, re.M)


ELSEWHERE = {"--drive", "--only", "--preparations", "x.ioplan-bundle"}
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
