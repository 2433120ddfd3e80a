"""The checks of the conformance kit over recorded runs of SPDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioplan.job import SECOND_NS
from ioplan.testing.checks import check_consistent, check_order, result_of
from ioplan_spdk.execution import SpdkExecution
from ioplan_spdk.options import SpdkOptions
from spdk_jobs import job, stand_in

OPTIONS = SpdkOptions(no_huge=True, patience_s=5)
REPLAYS = {
    "rpc/N_nonroot_nohuge": job(),
    "rpc/C_opcode_histograms": job(
        read_percent=70, run_ns=3 * SECOND_NS, read_only=False, interval_ns=50_000_000
    ),
}


@pytest.mark.parametrize("transcript", REPLAYS)
def test_the_checks_of_the_kit_hold_on_a_replay(
    transcript: str, tmp_path: Path
) -> None:
    """Order, sums, histograms against means and counts; the job is the recorded one."""
    asked = REPLAYS[transcript]
    execution = SpdkExecution(stand_in(tmp_path, transcript), OPTIONS, asked)
    with execution:
        found = list(execution)
    check_order(found, asked)
    check_consistent(found)
    assert result_of(found).run_ns > 0
