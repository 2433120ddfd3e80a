"""The guard: each kind of target that must be refused, really made.

What a person sees is a golden case, and shown in docs/lab-file.md.
"""

import json
import os
import re
from contextlib import ExitStack

import paths
import pytest
from generated import check_part
from kinds import Place
from kinds_of_data import ALL_KINDS

from golden import Golden
from ioplan.runner import Host
from ioplan.runner.guard import TargetError, open_target

REFUSED = Golden("refused")
FROM_VM = paths.TESTS / "vm/rows.json"
DOCUMENT = paths.ROOT / "docs/lab-file.md"


def plain(text, folder):
    """What the message is on any machine."""
    text = text.replace(str(folder), "/data")
    for one in Host().root_disks:
        text = text.replace(f"/dev/{one.name}", "/dev/sda")
    text = re.sub(r"loop\d+", "loop0", text)
    text = re.sub(r"[\d.]+ % of ([\d,]+ sampled)", r"9 % of \1", text)
    text = re.sub(r"last written [\d-]+", "last written 2026-11-19", text)
    return re.sub(r"\S+ \(process \d+\)", "python (process 4711)", text)


def refusal_of(kind, folder):
    """Make it, and be refused: a row of the table."""
    with ExitStack() as stack:
        try:
            request = kind.make(Place(folder, stack))
        except FileNotFoundError as error:
            pytest.skip(f"LEFT OUT: {error.filename} is not installed")
        with pytest.raises(TargetError) as refused:
            open_target(request).close()
        message = plain(str(refused.value), folder)
    return {"target": kind.name, "error": str(refused.value.kind), "message": message}


def marked(kinds):
    """Block devices are made by root."""
    of_root = pytest.mark.machine
    return [
        pytest.param(kind, id=kind.name, marks=of_root if kind.root else ())
        for kind in kinds
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", marked(ALL_KINDS))
@pytest.mark.promise("safety.block_device", "safety.file")
def test_it_is_refused(kind, tmp_path, golden, monkeypatch):
    monkeypatch.delenv("IOPLAN_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/me/.config")
    monkeypatch.setattr("secrets.randbits", lambda bits: 1)  # draws the same blocks
    if kind.root and os.geteuid() != 0:
        pytest.skip("LEFT OUT: block devices are made by root")
    golden(REFUSED, kind.name, refusal_of(kind, tmp_path))


def rows():
    """In the order of the table of kinds, then those of the virtual machine."""
    cases = (REFUSED[kind.name] for kind in ALL_KINDS)
    found = [{**one.expected, "how": one.input} for one in cases]
    lab = json.loads(FROM_VM.read_text()) if FROM_VM.is_file() else []
    return found + [row for row in lab if row["table"] == "refused"]


def table():
    """As Markdown."""
    lines = ["| target | made by | error | what a person sees |", "|---|---|---|---|"]
    for row in rows():
        message = row["message"].replace("|", "\\|").replace("\n", "<br>")
        cells = (row["target"], row["how"], f"`{row['error']}`", message)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_document_has_the_table(renew):
    check_part(DOCUMENT, "refused", table(), renew)


def test_there_is_a_row_for_each_kind_and_nothing_else():
    assert len(ALL_KINDS) >= 20
    assert {*REFUSED} == {kind.name for kind in ALL_KINDS}
