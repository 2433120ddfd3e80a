"""The extension of VS Code: it compiles, and names what there is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import paths
import pytest
from command import program

from ioplan.language import FULL

FOLDER = paths.ROOT / "editors/vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text("utf-8"))
GRAMMAR = "syntaxes/ioplan.tmLanguage.json"
COLOURS = paths.ROOT / "tests/editors/colours.ioplan"
TESTER = FOLDER / "node_modules/.bin/vscode-tmgrammar-test"
COMPILER = FOLDER / "node_modules/.bin/tsc"


def test_what_the_package_names_is_there() -> None:
    given = PACKAGE["contributes"]
    (language,), (grammar,) = given["languages"], given["grammars"]
    assert (FOLDER / language["configuration"]).exists()
    assert (FOLDER / grammar["path"]).exists()
    assert language["extensions"] == [".ioplan"]


def test_its_settings_are_those_of_the_server() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    assert settings["ioplan.profile"]["default"] == FULL
    asked = (FOLDER / "src/extension.ts").read_text("utf-8")
    for name in settings:
        assert f'"{name.removeprefix("ioplan.")}"' in asked


def run_tester(file: Path) -> subprocess.CompletedProcess[str]:
    """VS Code's own engine with the grammar, on a text that names its scopes."""
    return program(
        str(TESTER), "--compact", "--grammar", GRAMMAR, str(file), cwd=FOLDER
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not TESTER.exists(), reason="LEFT OUT: make test-tools was not done"
)
def test_colours(tmp_path: Path) -> None:
    done = run_tester(COLOURS)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.ioplan"
    wrong.write_text(COLOURS.read_text("utf-8").replace("qd 32", "xx 32"), "utf-8")
    failed = run_tester(wrong)
    assert failed.returncode != 0 and "property-name" in failed.stdout


@pytest.mark.long
@pytest.mark.skipif(
    not COMPILER.exists(), reason="LEFT OUT: npm install in editors/vscode was not done"
)
def test_it_compiles_and_is_built() -> None:
    subprocess.run([str(COMPILER), "--noEmit"], cwd=FOLDER, check=True)
    subprocess.run(["npm", "run", "--silent", "build"], cwd=FOLDER, check=True)
    assert "ioplan lsp" in (FOLDER / "src/extension.ts").read_text("utf-8")
    assert (FOLDER / "out/extension.js").stat().st_size > 100_000
