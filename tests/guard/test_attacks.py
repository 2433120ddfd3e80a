"""The table of attacks: each is tried by a test that exists, and is in the document."""

from __future__ import annotations

import re

import pytest
from attacks import ATTACKS, Attack
from generated import check_part
from paths import ROOT, TESTS

DOCUMENT = ROOT / "docs/security.md"


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
    check_part(DOCUMENT, "attacks", table(), renew)
