"""The recipe of docs/durability.md, as it is printed: the suite on a test device."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Done, ioplan

pytestmark = [pytest.mark.slow, pytest.mark.long]
PAGE = Path(__file__).parents[2] / "docs" / "durability.md"


def printed(name: str, folder: Path) -> str:
    """A file that the page shows, with its device in a folder of the test."""
    found = re.search(rf"```toml\n(# {name}: .*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"the page shows no {name}"
    return found[1].replace("/tmp/toy", f"{folder}/toy")


def command_of(text: str) -> list[str]:
    """The command in the comment that a file begins with."""
    lines = [one for one in text.splitlines() if one.startswith("#")]
    told = " ".join(line.strip("# \\") for line in lines)
    return shlex.split(told.partition(": ioplan ")[2])


@pytest.fixture(autouse=True)
def toy(
    tmp_path: Path, can_mount: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The test's folder is the current one; its device is stopped whatever happens."""
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    yield
    ioplan("device", "stop", tmp_path / "toy")


def recipe(folder: Path, cache: str, *more: str) -> Done:
    """With another cache than `mode = "lying"`, and more words of the run."""
    device, lab = printed("cache.toml", folder), printed("lab.toml", folder)
    (folder / "cache.toml").write_text(device.replace('mode = "lying"', cache))
    (folder / "lab.toml").write_text(lab)
    assert ioplan(*command_of(device)).code == 0
    return ioplan(*command_of(lab), *more)


@pytest.mark.promise("durability.bound")
def test_a_cache_that_keeps_its_promises_passes(tmp_path: Path) -> None:
    done = recipe(tmp_path, 'mode = "volatile"')
    assert done.code == 0, done.err
    assert done.out.count("no promise was broken by 3 power cuts") == 4
    assert "expectations: 10 held" in done.out
    told, _, headlines = " ".join(done.out.split()).partition(" Headlines ")
    zero = "0 in 3 cuts: at most 63 % with 95 % confidence"
    assert told.count(f"expect after.torn == 0 ({zero})") == 4
    assert headlines.count(zero) == 4


def test_a_lying_cache_fails_with_what_it_lost(tmp_path: Path) -> None:
    done = recipe(tmp_path, 'mode = "lying"')
    assert done.code == 3, done.out
    assert "a promise was broken by 1 of 1 power cut" in done.out
    assert "were flushed, and a power cut took them back" in done.err


REORDERED = 'mode = "volatile"\nreordered = true'


@pytest.mark.parametrize("honest", [True, False])
def test_what_outlives_its_entry_of_the_log_is_found(
    honest: bool, tmp_path: Path
) -> None:
    cache = REORDERED if honest else f"{REORDERED}\nfua_ignored = true"
    done = recipe(tmp_path, cache, "--test", "G4*")
    assert done.code == (0 if honest else 3), done.out
    told = " ".join(done.out.split())
    zero = "held: expect after.overtaken == 0 (0 in 3 cuts: at most 63 %"
    lost = "entries of a log were lost though writes that follow it survived"
    assert (zero if honest else lost) in told
    assert (lost if honest else zero) not in told
