"""What `unbundle -o` writes: the plan and what it uses, and no program's settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from test_bundle import content

from ioplan.cli.commands.share.unbundle import write_plan
from ioplan.records import Resolved
from ioplan.results import BundleError


def test_used_files_are_written_beside_the_plan(tmp_path: Path) -> None:
    (one,) = content()[:1]
    path = write_plan(one, tmp_path / "out")
    assert path.read_text() == one.session.plan_text
    for name, text in one.files.items():
        assert (path.parent / name).read_text() == text


@pytest.mark.parametrize("name", [".envrc", "a/.git/config", "lab.toml", "ioplan.toml"])
def test_settings_of_programs_are_refused(name: str, tmp_path: Path) -> None:
    (one,) = content()[:1]
    files = Resolved(files={name: "workload w = random 4KiB 100/0\n"})
    hostile = replace(one, session=one.session.model_copy(update={"resolved": files}))
    with pytest.raises(BundleError, match="uses a file"):
        write_plan(hostile, tmp_path / "out")
    assert not list(tmp_path.rglob("*"))
