"""The pages for newcomers: their commands run, and their pairs are what is imported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT
from scripts import packaging_script

from targets import loop_device, needs_root, sparse

DOCS = ROOT / "docs"
PATHS = packaging_script("reader_paths")
PAIRS = {
    "from-fio.md": ("ini", "job.fio", ()),
    "from-vdbench.md": ("text", "job.parm", ("vdbench",)),
}


def pairs() -> list[tuple[str, str, str]]:
    """Document, the other tool's text, and the plan beneath it."""
    found = []
    for name, (kind, _, _) in PAIRS.items():
        form = rf"^```{kind}\n(.*?)^```\n\n^```ioplan\n(.*?)^```"
        both = re.findall(form, (DOCS / name).read_text(), re.S | re.M)
        found += [(name, *one) for one in both]
    return found


def test_all_pairs_are_found() -> None:
    assert len(pairs()) == 8 and len(PATHS.PATHS) == 5


@pytest.mark.parametrize(("document", "text", "plan"), pairs())
def test_a_pair_is_what_is_imported(
    document: str, text: str, plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word of what would be lost."""
    monkeypatch.chdir(tmp_path)
    _, name, words = PAIRS[document]
    Path(name).write_text(text)
    done = ioplan("import", *words, name)
    lines = done.out.splitlines(keepends=True)
    assert (done.code, done.err) == (0, "")
    assert "".join(line for line in lines if not line.startswith("#")) == plan


@pytest.mark.long
@needs_root
@pytest.mark.parametrize("reader", PATHS.PATHS_AND_README)
@pytest.mark.promise("first_minutes.paths")
def test_each_step_of_a_path_works(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_path: Path
) -> None:
    """As they stand, but for the drive's names, and shorter."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    disk = sparse(tmp_path / "disk", PATHS.DISK_BYTES)
    with loop_device(disk, "--direct-io=on") as device:
        config = tmp_path / "config" / "ioplan"
        config.mkdir(parents=True)
        (config / "lab.toml").write_text(PATHS.lab_file(disk))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
        for words in PATHS.steps(reader, str(device), str(disk)):
            done = ioplan(*(first_session() if w == "SESSION" else w for w in words))
            reads_only = "quick/health" in words
            if words[0] == "run" and str(device) in words and not reads_only:
                assert done.code == 2 and "--overwrite" in done.err, f"{words}: {done}"
                continue
            assert done.code in (0, 1), f"{words}: {done.err}{done.out[-1000:]}"
            assert done.code == 0 or words[0] in PATHS.JUDGES, f"{words}: {done.out}"


def first_session() -> str:
    """The oldest of the store."""
    rows = json.loads(ioplan("ls", "--format", "json").out)["sessions"]
    return str(rows[-1]["id"])
