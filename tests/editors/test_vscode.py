"""The extension of VS Code: it compiles, and names what there is.

`tests/benchmarks/vscode.py` runs it in VS Code itself.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import paths
import pytest

from ioplan.language.quantity import parse
from ioplan_editor.document import TERABYTE

FOLDER = paths.ROOT / "editors/vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text("utf-8"))
COMPILER = FOLDER / "node_modules/.bin/tsc"


def test_what_the_package_names_is_there() -> None:
    given = PACKAGE["contributes"]
    (language,), (grammar,) = given["languages"], given["grammars"]
    assert (FOLDER / language["configuration"]).exists()
    assert (FOLDER / grammar["path"]).exists()
    assert language["extensions"] == [".ioplan"]


def test_its_settings_are_those_of_the_server() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    assert parse(settings["ioplan.capacity"]["default"]).value == TERABYTE
    asked = (FOLDER / "src/extension.ts").read_text("utf-8")
    for name in settings:
        assert f'"{name.removeprefix("ioplan.")}"' in asked


@pytest.mark.long
@pytest.mark.skipif(
    not COMPILER.exists(), reason="LEFT OUT: npm install in editors/vscode was not done"
)
def test_it_compiles_and_is_built() -> None:
    subprocess.run([str(COMPILER), "--noEmit"], cwd=FOLDER, check=True)
    subprocess.run(["npm", "run", "--silent", "build"], cwd=FOLDER, check=True)
    assert "ioplan lsp" in (FOLDER / "src/extension.ts").read_text("utf-8")
    assert (FOLDER / "out/extension.js").stat().st_size > 100_000
