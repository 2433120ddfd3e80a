"""The profile `short` of what waits for steady state finds it, on simulated drives.

All suites on all drives: benchmarks/short_profiles.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT

from ioplan.results.store.store import Store

pytestmark = pytest.mark.slow

QUICKEST = ("pts_throughput", "crosspoint")
CASES = (
    QUICKEST,
    ("pts_throughput", "client"),
    ("pts_iops", "client"),
    ("pts_latency", "client"),
    ("pts_latency", "datacentre"),
    ("pts_write_saturation", "client"),
    ("pts_host_idle_recovery", "client"),
    ("pts_host_idle_recovery", "datacentre"),
    ("pts_enterprise_composite", "crosspoint"),
    ("pts_demand_intensity", "crosspoint"),
)


@pytest.mark.parametrize(
    ("suite", "drive"),
    [
        pytest.param(*one, marks=[] if one == QUICKEST else pytest.mark.long)
        for one in CASES
    ],
)
def test_a_short_suite_becomes_steady(suite: str, drive: str, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    sim = ("--sim", ROOT / f"examples/sim/{drive}.toml", "--store", store, "-q")
    assert ioplan("run", f"pts/{suite}", "--profile", "short", *sim).code == 0
    with Store.open(store) as found:
        records = list(found.records(found.session("last").id))
    judged = {(one.asked.test, one.asked.kind): one for one in records if one.steady}
    assert judged
    for last in judged.values():
        assert last.steady
        assert last.steady.reached, last.steady.why
