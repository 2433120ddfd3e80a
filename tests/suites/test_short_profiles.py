"""What the profile `short` of suites that wait for steady state says on simulated drives."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT

from ioplan.records import Steady
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

QUICKEST = ("pts_throughput", "crosspoint", "steady")
CASES = (
    QUICKEST,
    ("pts_throughput", "client", "steady"),
    ("pts_iops", "client", "settled"),
    ("pts_latency", "client", "settled"),
    ("pts_latency", "datacentre", "settled"),
    ("pts_write_saturation", "client", "rises"),
    ("pts_host_idle_recovery", "client", "rises"),
    ("pts_host_idle_recovery", "datacentre", "rises"),
    ("pts_enterprise_composite", "crosspoint", "steady"),
    ("pts_demand_intensity", "crosspoint", "steady"),
)


@pytest.mark.parametrize(
    ("suite", "drive", "outcome"),
    [
        pytest.param(*case, marks=[] if case == QUICKEST else pytest.mark.long)
        for case in CASES
    ],
)
def test_a_short_suite_says_no_more_than_it_wrote(
    suite: str, drive: str, outcome: str, tmp_path: Path
) -> None:
    """Crosspoint memory needs no writes before; flash that was purged does."""
    store = tmp_path / "results.db"
    sim = ("--sim", ROOT / f"examples/sim/{drive}.toml", "--store", store, "-q")
    assert ioplan("run", f"pts/{suite}", "--profile", "short", *sim).code in (0, 1)
    with Store.open(store) as opened:
        records = list(opened.records(opened.session("last").id))
    last = {
        (one.asked.test, one.asked.kind): one.steady for one in records if one.steady
    }
    judged = list(filter(None, last.values()))
    assert judged
    assert {outcome_of(one) for one in judged} == {outcome}, judged


def outcome_of(steady: Steady) -> str:
    if steady.reached:
        return "steady"
    if steady.settled:
        return "settled"
    return "rises" if steady.why.startswith("waf still rises") else steady.why
