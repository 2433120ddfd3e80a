"""The pages for newcomers: their commands run, and their pairs are what is imported."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from command import ioplan
from labs import loop_device, needs_root
from paths import ROOT

DOCS = ROOT / "docs"
SERIAL = "S4EVNX0R123456"
SECTIONS = dict(
    re.findall(
        r"^## (.*?)\n.*?^```sh\n(.*?)^```",
        (DOCS / "paths.md").read_text(),
        re.S | re.M,
    )
)
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
    assert len(pairs()) == 8 and len(SECTIONS) == 5


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
@pytest.mark.parametrize("reader", SECTIONS)
def test_each_step_of_a_path_works(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_path: Path
) -> None:
    """As they stand, but for the drive's names, and shorter."""
    monkeypatch.chdir(tmp_path)
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(256 << 20)
    with loop_device(disk, "--direct-io=on") as device:
        config = tmp_path / "config" / "ioplan"
        config.mkdir(parents=True)
        entry = f'[targets.nvme1n1]\nbacking_file = "{disk}"\nwritable = true\n'
        (config / "lab.toml").write_text(entry)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
        for line in SECTIONS[reader].splitlines():
            words = [adapted(word, device, disk) for word in shlex.split(line)[1:]]
            done = ioplan(*words, *shorter(words))
            assert done.code in (0, 1), f"{line}: {done.err}{done.out[-1000:]}"
            assert done.code == 0 or words[0] in JUDGES, f"{line}: {done.out}"


JUDGES = ("run", "compare", "history")
"""Their exit code may be 1: a loop device is not what a data sheet promises."""


def adapted(word: str, device: Path, disk: Path) -> str:
    """A word of a command, for this machine."""
    known = {
        "/dev/nvme1n1": str(device),
        SERIAL: str(disk),
        "/var/lib/volume/scratch": "volume",
        "10GiB": "64MiB",
        "1GiB": "64MiB",
    }
    return first_session() if word == "SESSION" else known.get(word, word)


def first_session() -> str:
    """The oldest of the store."""
    rows = json.loads(ioplan("ls", "--format", "json").out)["sessions"]
    return str(rows[-1]["id"])


def shorter(words: list[str]) -> list[str]:
    """Options that make a suite, or a plan from a template, a matter of seconds."""
    if words[0] not in ("run", "witness"):
        return []
    suite = "/" in words[1]
    return ["--profile", "smoke"] if suite else ["--scale-time", "0.005"]
