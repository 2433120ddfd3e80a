"""The checks of the conformance kit over recorded runs of SPDK."""

from __future__ import annotations

from pathlib import Path

import pytest
from spdk_jobs import LEFT_OUT, MALLOC, events, job, opened, real, stand_in

from ioplan.backends import Backend, TargetRequest
from ioplan.job import SECOND_NS, Progress, Result, Started
from ioplan_spdk import SpdkBackend
from ioplan_testing import Conformance, Times, check_consistent

REPLAYS = {
    "rpc/N_nonroot_nohuge": job(),
    "rpc/O_mix_one_layer": job(
        read_percent=70, run_ns=3 * SECOND_NS, read_only=False, interval_ns=50_000_000
    ),
}
CROWDED = r"^the results are inconsistent: more I/Os than fit .* s(\n|$)"
"""The second has fewer answers on counters than are asked for here, so that the last one
has the I/Os of several intervals: that, and nothing else, is wrong."""


@pytest.mark.slow
@pytest.mark.parametrize("transcript", REPLAYS)
def test_the_checks_of_the_kit_hold_on_a_replay(
    transcript: str, tmp_path: Path
) -> None:
    """Order, sums, histograms against means and counts; the job is the recorded one."""
    asked = REPLAYS[transcript]
    # At 0.1 s it is looked at, on busy machines, too.
    found = events(opened(stand_in(tmp_path, transcript, speed=8)), asked)
    first, *middle, last = found
    assert isinstance(first, Started) and isinstance(last, Result) and last.run_ns > 0
    assert all(isinstance(one, Progress) for one in middle)
    if "mix" not in transcript:
        check_consistent(found, asked)
        return
    with pytest.raises(AssertionError, match=CROWDED) as raised:
        check_consistent(found, asked)
    assert ";" not in str(raised.value).splitlines()[0]


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

    times = Conformance.times
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
