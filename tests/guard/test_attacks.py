"""The table of attacks: each is tried by a test that exists, and is in the document."""

from __future__ import annotations

import re

import pytest
from attacks import ATTACKS, Attack
from paths import ROOT, TESTS

DOCUMENT = ROOT / "dsl/security.md"
BEGIN, END = "<!-- attacks: begin -->\n", "<!-- attacks: end -->"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.what[:40])
def test_each_is_tried(attack: Attack) -> None:
    file, _, name = attack.test.partition("::")
    assert re.search(rf"def {name}\(", (TESTS / file).read_text())


def table() -> str:
    lines = ["| what was tried | what happens | test |", "|---|---|---|"]
    for one in ATTACKS:
        name = one.test.rpartition("/")[2].replace("::", "<br>")
        lines.append(f"| {one.what} | {one.outcome} | {name} |")
    return "\n".join(lines) + "\n"


def test_the_document_has_the_table(renew: bool) -> None:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = f"{before}{BEGIN}{table()}{END}{after}"
    if renew:
        DOCUMENT.write_text(fresh)
    assert text == fresh or renew
