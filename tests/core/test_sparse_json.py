"""The JSON that ids of runs are digests of is what pydantic makes, without pydantic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from paths import ROOT

from ioplan.cli.inputs import checked_plan
from ioplan.core.lazy_model import LazyModel
from ioplan.core.sparse_json import sparse_json
from ioplan.core.value import Value
from ioplan.language.plan import SteadyRule
from ioplan.planner.estimate import with_repetitions
from ioplan.planner.steps import Run
from ioplan.planner.unfold import unfold
from ioplan.workload import Hotspot, Hotspots, SizeShare, Workload, Zipf

EXAMPLES = sorted((ROOT / "examples").glob("*.ioplan"))


def parts_of(one: Any) -> Iterator[LazyModel]:
    """A model and all that are in it."""
    if isinstance(one, LazyModel):
        yield one
    inner = one.values_ if isinstance(one, Value) else one
    for part in inner if isinstance(inner, tuple) else ():
        yield from parts_of(part)


def asked(plan: Any) -> Iterator[Workload | SteadyRule]:
    """All that ids are made of."""
    for step, _ in with_repetitions(unfold(plan)):
        if isinstance(step, Run):
            yield step.workload
            if step.template.rule:
                yield step.template.rule


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_as_pydantic_prints_them(path: Any) -> None:
    found = {part for one in asked(checked_plan(path, [])) for part in parts_of(one)}
    assert found
    for part in found:
        assert sparse_json(part) == part.model_dump_json(exclude_defaults=True)


@pytest.mark.parametrize(
    "model",
    [
        SizeShare(size_bytes=4096, percent=1e-7),
        SizeShare.model_construct(size_bytes=4096, percent=100),
        Zipf(theta=0.1 + 0.2),
        Hotspots(spots=(Hotspot(io_percent=80, space_percent=20),)),
        Hotspot.model_construct(io_percent=float("inf"), space_percent=1e22),
        LazyModel.complete({}),
    ],
    ids=repr,
)
def test_numbers_of_all_kinds_do(model: LazyModel) -> None:
    assert sparse_json(model) == model.model_dump_json(exclude_defaults=True)
