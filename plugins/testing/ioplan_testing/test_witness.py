"""What the backend did on a device that logs each I/O, against what was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ioplan.backends import TargetFacts
from ioplan.job import Job
from ioplan.workload import Data, Hotspot, Hotspots, Normal, Pareto, Rate, Zipf
from ioplan_testing.subject import MS_NS, Subject, job, sizes, stream
from ioplan_witness.device import DeviceError, can_mount, program
from ioplan_witness.run import Witnessed, witness

RUN_NS = 1000 * MS_NS
SPOTS = (
    Hotspot(io_percent=80, space_percent=20),
    Hotspot(io_percent=20, space_percent=80),
)
MIDDLE = {"region_start_bytes": 16 << 20, "region_end_bytes": 24 << 20}
SPLIT = {"read_sizes": sizes(b4096=60, b8192=30, b65536=10), "align_bytes": 4096}
WRITES = {"read_percent": 0, "qd": 8}

CASES: dict[str, dict[str, Any]] = {
    "reads 30 %": {"read_percent": 30, "qd": 16},
    "reads": {"qd": 16},
    "sequential reads": {"pattern": "sequential", "qd": 4},
    "sequential writes": {"pattern": "sequential", **WRITES},
    "sizes": {**SPLIT, "qd": 16},
    "region": {**MIDDLE, "qd": 16},
    "threads": {"threads": 2, "qd": 4},
    "zipf": {"distribution": Zipf(theta=1.1), "qd": 16},
    "pareto": {"distribution": Pareto(h=0.2), "qd": 16},
    "hotspots": {"distribution": Hotspots(spots=SPOTS), "qd": 16},
    "normal": {"distribution": Normal(deviation_percent=10), "qd": 16},
    "rate": {"rate": Rate(iops=400), "qd": 8},
    "rate poisson": {"rate": Rate(iops=400, arrivals="poisson"), "qd": 8},
    "rate gamma": {
        "rate": Rate(iops=400, arrivals="gamma", gap_variation=2),
        "qd": 32,
    },
    "data random": WRITES,
    "data zeros": {**WRITES, "data": Data(kind="zeros")},
    "data compressible": {**WRITES, "data": Data(kind="compressible", percent=50)},
    "dedup": {**WRITES, "dedup_percent": 30},
    "sync": {**WRITES, "sync_every": 8},
    "fua": {**WRITES, "fua": True},
    "fua in a mix": {"read_percent": 50, "qd": 8, "fua": True},
    "trim": {"trim_percent": 20, "read_percent": 50, "qd": 8},
    "verify": {"read_percent": 50, "verify": True, **MIDDLE, "qd": 4},
}
"""Streams, each for a clause; all random 4 KiB reads but for what is given."""


def case_job(name: str, facts: TargetFacts, run_ns: int = RUN_NS) -> Job:
    """The run of a case."""
    return job(facts, stream(facts, **CASES[name]), run_ns=run_ns, read_only=False)


class Witness(Subject):
    """A test for each case: every clause of it as it was seen."""

    @pytest.mark.parametrize("case", CASES)
    def test_it_does_what_was_asked(self, case: str, tmp_path: Path) -> None:
        self._has_a_device(tmp_path)
        self.calmly(lambda number: self._check_case(case, tmp_path / f"{number}"))

    def _has_a_device(self, folder: Path) -> None:
        """Leaves the test out where there is nothing to see, with the reason."""
        if self.backend().virtual_time:
            pytest.skip("not applicable: its I/O is simulated, so that none arrives")
        with self.drive(folder) as drive:
            if not Path(drive.facts.path).is_file():
                pytest.skip("not applicable: its target is no file, and the device is")
        try:
            program()
        except DeviceError as error:
            pytest.skip(f"LEFT OUT: {error}")
        if not can_mount():
            pytest.skip("LEFT OUT: there is no FUSE for this user")

    def _check_case(self, case: str, folder: Path) -> None:
        folder.mkdir()
        found = self._witnessed(case, folder)
        assert not found.failure, f"the run failed: {found.failure}"
        assert found.clauses, "nothing was judged"
        wrong = "; ".join(map(str, found.differences))
        assert not wrong, f"not as asked: {wrong}"

    def _witnessed(self, case: str, folder: Path) -> Witnessed:
        run_ns = max(RUN_NS, self.times.run_ns)

        def made(facts: TargetFacts) -> Job:
            return self.exactly(case_job(case, facts, run_ns))

        rated = bool(CASES[case].get("rate"))
        return witness(self.backend(), self.request(folder), made, folder, rated)
