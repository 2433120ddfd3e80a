"""The files of a new package of suites: small, whole, and all of them used."""

from __future__ import annotations

from ioplan.language.search.packages import NAME

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "ioplan-{name}"
version = "0.1.0"
description = "Storage test plans of {name}, for ioplan"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["ioplan"]

[project.entry-points."ioplan.suites"]
{name} = "{module}"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""

README = """\
# ioplan-{name}

Storage test plans of {name}, for ioplan.

```sh
pip install ioplan-{name}
ioplan suites                          # lists them, with version and origin
ioplan run {name}/oltp --target scratch.bin --create 1GiB
```

A plan uses the workloads with `use "{name}/workloads.ioplan"`.

On a target of 1 TB, in the full profile:

<!-- table -->
<!-- end -->

`ioplan suites publish .` writes the table, and the ids of this version's runs into
`{module}/index.json`. If a run changes, its id changes, and `ioplan suites check .`
requires a new version.

`pytest` checks and formats the plans, and rehearses them on the simulated drive.
"""

MODULE = '''\
"""Storage test plans, found by ioplan through the entry point; there is no code."""
'''

WORKLOADS = """\
# Workloads of {name}, to use in plans.

workload oltp = random 8KiB 70/30
workload log = sequential 16KiB 0/100
"""

OLTP = """\
# A database on the whole target, from light load to heavy.
plan "{title}: OLTP"

use "workloads.ioplan"

param run_time = 1min
param warmup_time = 10s

profile smoke {{ run_time = 100ms warmup_time = 10ms }}

precondition filled {{ write sequential 128KiB, qd 32, 1 pass }}

test "OLTP over queue depth" {{
  after filled
  run oltp for run_time, warmup warmup_time
  vary qd in 1..32 doubling
  expect errors == 0
  chart lines iops, p99 by qd
}}
"""

TEST = '''\
"""The plans are right, in layout, published as they are, and can be run."""

import re
from pathlib import Path

import pytest

from ioplan.cli import run

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "{module}").rglob("*.ioplan"))
PLANS = [path for path in FILES if re.search(r"^test ", path.read_text(), re.M)]


def ioplan(*words):
    assert run([str(word) for word in words]) == 0


def test_they_are_right():
    ioplan("check", *FILES)


def test_they_are_in_layout():
    ioplan("fmt", "--check", *FILES)


def test_table_and_ids_are_published():
    ioplan("suites", "check", ROOT)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_they_can_be_run(plan):
    ioplan("plan", plan, "--profile", "smoke", "--capacity", "64MiB", "--rehearse")
'''


def new_package(name: str) -> dict[str, str]:
    """The texts by their paths below the package's folder. Raises ValueError."""
    if not NAME.fullmatch(name):
        raise ValueError(
            f"a suite cannot be called {name!r}: small letters, digits, - and _, "
            f"beginning with a letter, 40 at most"
        )
    module = f"ioplan_{name.replace('-', '_')}"
    title = name.replace("-", " ").replace("_", " ").capitalize()
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"{module}/__init__.py": MODULE,
        f"{module}/workloads.ioplan": WORKLOADS,
        f"{module}/oltp.ioplan": OLTP,
    }
    filled = {
        path: text.format(name=name, module=module, title=title)
        for path, text in texts.items()
    }
    return filled | {f"tests/test_{module}.py": TEST.replace("{module}", module)}
