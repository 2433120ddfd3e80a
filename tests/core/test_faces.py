"""What packages export is there, and tests that go behind it are named by lint."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import check_seams
import pytest

import ioplan.language

EXAMPLES = {"ioplan_blocking"}
"""Faces that are not installed with ioplan."""


LAB_FACE = pytest.param("ioplan_lab", marks=pytest.mark.slow)  # croniter calls file(1)
PACKAGES = sorted(check_seams.FACES - EXAMPLES - {"ioplan_lab"})


@pytest.mark.parametrize("package", [*PACKAGES, LAB_FACE])
def test_each_exported_name_is_there_and_no_module(package):
    """A submodule of the same name would take its place once something imports it."""
    module = import_module(package)
    stub = Path(f"{module.__file__}i")
    nodes = ast.parse(stub.read_text()).body if stub.exists() else []
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            import_module(node.module or "")
            for name in node.names:
                value = getattr(module, name.name)
                is_module = isinstance(value, ModuleType)
                assert not (is_module and value.__name__.startswith(package)), value


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"ioplan\.language.*nothing"):
        _ = ioplan.language.nothing


FIO, LAB = "plugins/fio/ioplan_fio/a.py", "plugins/lab/ioplan_lab/a.py"
FILE = "tests/test_a.py"


@pytest.mark.parametrize(
    ("file", "text", "listed", "named"),
    [
        (FILE, "import ioplan\nfrom ioplan.language import Source\n", "", ""),
        (FILE, "from ioplan.core.text import counted\n", "", "imports ioplan.core.text"),
        (FILE, "import ioplan.core.text\n", "test_a.py\n", ""),
        (FILE, "import ioplan\n", "test_a.py\n", "needs no place"),
        (FILE, "from ioplan import language\nlanguage.x()\n", "", "is not exported"),
        (FILE, "from ioplan import language\nlanguage.check\n", "", ""),
        (FIO, "from ioplan.backends import Gap\n", "", ""),
        (FIO, "from ioplan.job import Job\n", "", "imports ioplan.job, not a door"),
        (LAB, "from ioplan.job import Job\n", "", ""),
        (LAB, "from ioplan.core.text import counted\n", "", "not a door"),
    ],
)  # fmt: skip
def test_a_file_behind_a_face_is_named(
    file, text, listed, named, tmp_path, monkeypatch, capsys
):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    (tmp_path / "list").write_text(listed)
    monkeypatch.setattr(check_seams, "TESTS", tmp_path / "tests")
    monkeypatch.setattr(check_seams, "LIST", tmp_path / "list")
    monkeypatch.setattr(sys, "argv", ["check_seams.py"])
    assert check_seams.main() == (1 if named else 0)
    assert named in capsys.readouterr().out
