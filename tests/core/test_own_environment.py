"""The suite's own sample, with every variable and setting of the user's set to nonsense."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import paths
import pytest

pytestmark = pytest.mark.slow

NAMES = (
    *("STORE", "LAB", "PATH", "ENGINE", "DEBUG", "WHEEL", "LAB_ROWS", "CLOCK", "FIO"),
    *("SERVICE_LOCK", "TARGET_HELD", "CONFORMANCE", "SPDK_DIR"),
)
NONSENSE = {
    **{f"IOPLAN_{name}": "/nonsense" for name in NAMES},
    **{f"XDG_{kind}_HOME": "/proc/nonsense" for kind in ("CONFIG", "DATA", "STATE")},
    **{"XDG_CACHE_HOME": "/proc/nonsense", "XDG_RUNTIME_DIR": "/proc/nonsense"},
    **{"LANG": "tr_TR.UTF-8", "LC_ALL": "xx_YY.UTF-16", "LANGUAGE": "xx"},
    **{"TZ": "Pacific/Kiritimati", "TERM": "dumb", "COLORTERM": "truecolor"},
    **{"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"},
    **{"COLUMNS": "17", "LINES": "2", "EDITOR": "false", "PAGER": "false"},
    **{"GIT_DIR": "/nonsense", "GIT_WORK_TREE": "/nonsense", "GIT_INDEX_FILE": "/x"},
    **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.autocrlf"},
    **{"GIT_CONFIG_VALUE_0": "true", "GIT_SSH_COMMAND": "false"},
    **{"SUDO_UID": "4711", "SUDO_USER": "nobody", "SHELL": "/bin/nonsense"},
    **{"SOURCE_DATE_EPOCH": "1", "PYTHONHASHSEED": "7", "PYTHONUTF8": "0"},
}
QUICK = ("-x", "-m", "not slow and not machine and not long", "-p", "no:cacheprovider")
NO_OTHERS = ("-p", "no:pytest_lsp", "-p", "no:asyncio", "-p", "no:anyio")
"""Plug-ins that the sample has no use for."""
SAMPLE = (
    *("cli/test_author.py", "cluster/test_lab.py", "language/test_search_path.py"),
    *("report/test_show.py", "suites/test_suites_git.py"),
)


@pytest.mark.long
def test_nothing_of_the_user_reaches_a_test(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\tnonsense\n[user\n")
    (tmp_path / ".config/ioplan").mkdir(parents=True)
    (tmp_path / ".config/ioplan/lab.toml").write_text("nonsense")
    sample = [paths.TESTS / name for name in SAMPLE]
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "TMPDIR")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", *sample, *QUICK, *NO_OTHERS],
        cwd=paths.TESTS.parent,
        env=kept | NONSENSE | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
