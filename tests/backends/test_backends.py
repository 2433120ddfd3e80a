"""One plan on every backend: the same runs, the same ids, one schema."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import paths
import pytest
from command import ioplan

pytestmark = pytest.mark.slow

DEMO = paths.ROOT / "examples/demo.ioplan"
BACKENDS = ("io_uring", "fio", "sim")


def records_of(backend: str, folder: Path) -> list[dict[str, Any]]:
    """The demonstration plan, shortened, on one backend."""
    target = [] if backend == "sim" else ["--target", folder / f"{backend}.bin"]
    done = ioplan(
        "run", DEMO, "--backend", backend, *target, "--create", "64MiB",
        "--set", "run_time=100ms", "--scale-time", "0.5", "--json",
    )  # fmt: skip
    assert done.code in (0, 1), done.err
    return [line["record"] for line in done.of("record")]


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("fio"), reason="LEFT OUT: fio is not installed")
@pytest.mark.promise("backends.one_plan")
def test_one_plan_on_every_backend(tmp_path: Path, store_path: Path) -> None:
    schema = jsonschema.Draft202012Validator(json.loads(ioplan("schema").out))
    ids = {}
    for backend in BACKENDS:
        records = records_of(backend, tmp_path)
        for record in records:
            schema.validate(record)
            assert record["status"] == "ok" and record["backend"]["name"] == backend
            assert record["total"]["ios"] > 0 and record["substitutions"] == []
        ids[backend] = [record["run_id"] for record in records]
    assert ids["io_uring"] == ids["fio"] == ids["sim"]
    listed = ioplan("ls", "--format", "jsonl").lines
    assert {session["backend"] for session in listed} == set(BACKENDS)
