"""What a plan asks for and a backend does not measure is told before the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file

from golden import Golden

PLANS = Golden("unmeasured")
"""By backend and line: an expected commit that nobody measures is refused, one that is
shown is warned of; a chart is drawn all the same, and who writes `interval` wants it so.
"""


def gaps_of(backend: str, text: str, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """How the test fits, and what is not exact."""
    done = ioplan("plan", plan_file(folder, text), "--backend", backend, "--json")
    (test,) = json.loads(done.out)["fit"]["tests"]
    return test["fit"], test["gaps"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_what_is_not_measured_is_told(name: str, tmp_path: Path) -> None:
    backend, expected = name.partition(":")[0], PLANS[name].expected
    found, gaps = gaps_of(backend, PLANS[name].input, tmp_path)
    assert found == expected["fit"]
    says = expected["says"]
    assert [says in gap["reason"] for gap in gaps] == [True] * bool(says)
    if found == "near":
        assert "stay" in gaps[0]["instead"] or "earlier or later" in gaps[0]["instead"]
