"""The checks of the conformance kit over recorded runs of SPDK."""

from __future__ import annotations

from pathlib import Path

import pytest
from spdk_jobs import LEFT_OUT, MALLOC, job, real, stand_in

from ioplan.backends import Backend, TargetRequest
from ioplan.job import SECOND_NS
from ioplan_spdk import SpdkBackend, SpdkOptions
from ioplan_spdk.bdevperf.execution import SpdkExecution
from ioplan_testing import Conformance, Times, check_consistent
from ioplan_testing.checks import check_order, result_of
from ioplan_testing.subject import SHORT

OPTIONS = SpdkOptions(no_huge=True, patience_s=5)
REPLAYS = {
    "rpc/N_nonroot_nohuge": job(),
    "rpc/O_mix_one_layer": job(
        read_percent=70, run_ns=3 * SECOND_NS, read_only=False, interval_ns=50_000_000
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("transcript", REPLAYS)
def test_the_checks_of_the_kit_hold_on_a_replay(
    transcript: str, tmp_path: Path
) -> None:
    """Order, sums, histograms against means and counts; the job is the recorded one."""
    asked = REPLAYS[transcript]
    # At 0.1 s it is looked at, on busy machines, too.
    program = stand_in(tmp_path, transcript, speed=8)
    execution = SpdkExecution(program, OPTIONS, asked)
    with execution:
        found = list(execution)
    check_order(found, asked)
    if transcript == "rpc/O_mix_one_layer":
        # It has fewer answers on counters than are asked for here, so that the last one
        # has the I/Os of several intervals: that, and nothing else, is wrong.
        crowded = r"^the results are inconsistent: more I/Os than fit .* s(\n|$)"
        with pytest.raises(AssertionError, match=crowded) as raised:
            check_consistent(found, asked)
        assert ";" not in str(raised.value).splitlines()[0]
    else:
        check_consistent(found, asked)
    assert result_of(found).run_ns > 0


@pytest.mark.slow
@pytest.mark.skipif(real() is None, reason=LEFT_OUT)
class TestBdevperf(Conformance):
    """The whole kit over bdevperf itself, on memory and without hugepages."""

    times = Times(run_ns=SECOND_NS, warmup_ns=SECOND_NS, interval_ns=SECOND_NS // 10)

    def backend(self) -> Backend:
        return SpdkBackend()

    def request(self, folder: Path) -> TargetRequest:
        options = {"path": str(real()), "driver": "bdevperf", "no_huge": True}
        return TargetRequest(path=MALLOC, writes=True, options=options)


class TestBdevperfOnFile(TestBdevperf):
    """On a file, whose content can be compared, and which can be damaged."""

    def request(self, folder: Path) -> TargetRequest:
        asked = super().request(folder)
        path = str(folder / "scratch.bin")
        return asked.model_copy(update={"path": path, "create_bytes": 8 << 20})


class TestPluginOnFile(TestBdevperfOnFile):
    """SPDK's plugin in fio, which does what bdevperf cannot say."""

    times = SHORT
    # Between two I/Os fio itself works, and here that takes as long as the I/O.
    queue_depth_tolerance = 0.3

    def request(self, folder: Path) -> TargetRequest:
        asked = super().request(folder)
        return asked.model_copy(update={"options": {"driver": "fio", "no_huge": True}})


class TestEitherOnFile(TestPluginOnFile):
    """The program that each run needs, as it comes."""

    def request(self, folder: Path) -> TargetRequest:
        asked = super().request(folder)
        return asked.model_copy(update={"options": {"no_huge": True}})
