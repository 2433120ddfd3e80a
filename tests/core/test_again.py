"""`--again`, on tests of which one fails only the first time."""

import os
import subprocess
import sys

import paths
import pytest

pytestmark = pytest.mark.slow

PLUGINS = ("-p", "again", "-p", "left_out", "-p", "parts", "-p", "closing")
DISTURBED = """
from pathlib import Path

def test_once_disturbed():
    flag = Path(__file__).with_name("flag")
    before = flag.exists()
    flag.touch()
    assert before
"""
DEFECT = "def test_defect(): assert False\n"
MANY = "import pytest\n" + DISTURBED.replace(
    "def test_once_disturbed()",
    "@pytest.mark.parametrize('n', range(6))\ndef test_many(n)",
).replace('"flag"', 'f"flag{n}"')


def pytest_of(folder, text, *options):
    """The exit code and the output of pytest."""
    for flag in folder.glob("flag*"):
        flag.unlink()
    (folder / "test_it.py").write_text(text)
    words = ["-m", "pytest", *PLUGINS, "-c", os.devnull, *options]
    done = subprocess.run(
        [sys.executable, *words, f"--rootdir={folder}", str(folder)],
        cwd=folder,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
            "PYTHONPATH": str(paths.TESTS / "support"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # half of a start
            "PYTEST_PLUGINS": "xdist.plugin",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.long
def test_what_was_disturbed_passes_alone_and_is_named(tmp_path):
    code, text = pytest_of(tmp_path, DISTURBED, "--again", "-n", "1")
    assert code == 0, text
    assert "DISTURBED: test_it.py::test_once_disturbed passed alone" in text
    assert text.splitlines()[-1].startswith("PASSED: 1 tests, 1 of them when run again")
    assert pytest_of(tmp_path, DISTURBED)[0] == 1, "only where it is asked for"


@pytest.mark.long
def test_a_defect_fails_and_so_do_many(tmp_path):
    assert pytest_of(tmp_path, DISTURBED + DEFECT, "--again")[0] == 1
    code, text = pytest_of(tmp_path, MANY, "--again")
    assert code == 1 and "6 failed" in text
    assert text.splitlines()[-1].startswith("FAILED: test_it.py::")
    assert "and 3 more; 6 of 6 tests, in 0 min " in text.splitlines()[-1]


def test_a_file_that_cannot_be_collected_fails(tmp_path):
    """Beside a test that passes when it runs alone."""
    (tmp_path / "test_broken.py").write_text("import nothing_that_there_is\n")
    more = ("--again", "--continue-on-collection-errors", "-n", "1")
    code, text = pytest_of(tmp_path, DISTURBED, *more)
    assert code == 1, text
    assert text.splitlines()[-1].startswith("FAILED: test_broken.py, ")
    assert "2 of 2 tests" in text.splitlines()[-1]
