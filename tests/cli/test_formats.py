"""Formats of what commands write: one table, and names of files that fit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan, plan_file, refuse

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.mark.parametrize(
    ("format", "name", "fits"),
    [
        ("text", "x.html", False),
        ("json", "x.HTM", False),
        ("html", "x.html", True),
        ("text", "x.txt", True),
        ("text", "x.csv", True),  # none of these writes it
        ("html", "x.json", False),
        ("text", "x", True),
        ("text", "x.parquet", True),
        ("text", "-", True),
    ],
)
def test_a_name_that_is_of_another_format_is_refused(
    format: str,
    name: str,
    fits: bool,
    titled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ioplan("history", "--format", format, "-o", name, "--store", titled)
    assert done.code == (0 if fits else 2), done.err
    said = f"the format is {format}: add --format"
    assert (said in " ".join(done.err.split())) is not fits


@pytest.mark.parametrize("command", ["export", "compare", "history"])
def test_each_format_that_is_offered_is_written(
    command: str, titled: Path, tmp_path: Path
) -> None:
    store = ("--store", titled)
    rows = ioplan("ls", "--format", "jsonl", *store).lines
    words = (command, *([one["id"] for one in rows] if command == "compare" else ()))
    near = " ".join(ioplan(*words, "--format", "jsn", *store).err.split())
    offered = re.findall(r"[a-z]+", near.partition("it is one of")[2])
    assert "json" in offered
    for format in offered:
        out = tmp_path / format
        done = ioplan(*words, "--format", format, "-o", out, *store)
        assert done.code in (0, 1) and out.stat().st_size, (format, done)


def test_commands_name_the_format_that_is_meant(
    tmp_path: Path, store_path: Path
) -> None:
    for _ in range(2):
        ioplan("run", plan_file(tmp_path, READS), "--backend", "sim", "--quiet")
    for command, name in (
        (("history",), "x.html"),
        (("compare", "last", "--to", "last"), "x.md"),
        (("export",), "x.parquet"),
        (("show", "last", "--format", "csv"), "x.json"),
        (("ls", "--format", "csv"), "x.jsonl"),
    ):
        refuse("add --format", *command, "-o", tmp_path / name)
        assert not (tmp_path / name).exists()
        words = (
            command[: command.index("--format")] if "--format" in command else command
        )
        near = refuse("'jsn', did you mean 'json", *words, "--format", "jsn")
        assert "it is one of" in " ".join(near.err.split())


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two sessions with a title that is a script."""
    folder = tmp_path_factory.mktemp("titled")
    plan = plan_file(folder, READS.replace("T", "<script>alert(1)</script>", 1))
    store = folder / "s.db"
    for _ in range(2):
        words = ("--backend", "sim", "--quiet", "--store", store)
        assert ioplan("run", plan, *words).code == 0
    return store


@pytest.mark.parametrize(
    "words",
    [
        ("ls", "--format", "csv"),
        ("show", "last", "--format", "json"),
        ("export", "--format", "jsonl"),
        ("compare", "last", "--to", "last"),
        ("compare", "last", "--to", "last", "--format", "markdown"),
        ("history", "--format", "json"),
        ("history",),
    ],
)
def test_no_title_becomes_a_script(
    words: tuple[str, ...], titled: Path, tmp_path: Path
) -> None:
    for name in ("x.html", "x.HTM", "x.svg", "x.xhtml"):
        done = ioplan(*words, "-o", tmp_path / name, "--store", titled)
        assert done.code == 2, done.out
        assert "choose another name" in " ".join(done.err.split())
        assert not (tmp_path / name).exists()


def test_a_history_is_written_as_its_name_says(
    tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, READS.replace("T", "<b>T & U</b>", 1))
    assert ioplan("run", plan, "--backend", "sim", "--quiet").code == 0
    page = tmp_path / "x.html"
    assert ioplan("history", "--format", "html", "-o", page).code == 0
    text = page.read_text()
    assert text.startswith("<!") and "&lt;b&gt;T &amp; U&lt;/b&gt;" in text
    assert "<b>T" not in text
