"""Results that fio itself wrote, from 3.1 to 3.42: golden cases VERSION[.plus].

Of versions that write the same fields (3.19 to 3.33) the last one is kept. jobs.fio,
beside them, ran on the engine null; `plus` is json+. Made with

    fio --output-format=json+ jobs.fio
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from golden import Golden
from ioplan.language import Source
from ioplan.workload import DIRECTIONS
from ioplan_importer import SUMMARY_ONLY, Findings, ImportedSession, import_results

RESULTS = Golden("fio_results")
VERSIONS = [case for case in RESULTS if case[0] == "3"]
SIZES = {"mixed": 4096, "threads": 16384}
IOS = {"mixed": 2048, "threads": 1024}
BUCKET = 1 / 64
"""The width of a bucket of fio, relative."""


def imported(case: str, jobs: Source | None = None) -> ImportedSession:
    source = Source(f"{case}.json", RESULTS[case].input)
    return import_results(source, jobs, None, None, Findings())


def with_jobs(case: str) -> ImportedSession:
    return imported(case, Source("jobs.fio", RESULTS["jobs.fio"].input))


@pytest.mark.parametrize("case", VERSIONS)
def test_figures_are_those_of_the_document(case: str) -> None:
    document = json.loads(RESULTS[case].input)
    made = with_jobs(case)
    assert len(made.records) == 2
    for (record, _), job in zip(made.records, document["jobs"], strict=True):
        assert record.backend.version == case.removesuffix(".plus")
        assert record.asked.test == job["jobname"]
        assert (
            sum(part.ios for part in record.directions.values()) == IOS[job["jobname"]]
        )
        for direction, part in record.directions.items():
            of = job[direction]
            assert part.ios == of["total_ios"]
            assert part.bytes == part.ios * SIZES[job["jobname"]]
            assert part.latency
            assert part.latency.mean_ns == pytest.approx(of["clat_ns"]["mean"], abs=1)
            assert part.latency.max_ns == of["clat_ns"]["max"]
            check_percentiles(part.latency.percentiles, of["clat_ns"]["percentile"])


def check_percentiles(found: Any, told: dict[str, float]) -> None:
    """Those that fio wrote; rebuilt of a histogram they may be half a bucket off."""
    by_percent = {one.percent: one.latency_ns for one in found}
    both = [
        (by_percent[p], ns) for t, ns in told.items() if (p := float(t)) in by_percent
    ]
    assert len(both) >= 5
    for ours, theirs in both:
        assert ours == pytest.approx(theirs, rel=BUCKET, abs=1)


@pytest.mark.parametrize("case", VERSIONS)
def test_histograms_are_kept_where_fio_gave_them(case: str) -> None:
    for record, detail in with_jobs(case).records:
        plus = ".plus" in case
        assert (SUMMARY_ONLY in record.warnings) is not plus
        kept = {one.direction: one for one in detail.histograms}
        used = [d for d in DIRECTIONS if d in record.directions]
        assert list(kept) == (used if plus else [])
        for direction, one in kept.items():
            assert sum(one.bins[1::2]) == record.directions[direction].ios


def test_all_versions_ran_the_same() -> None:
    """The job file decides on the run ids, so that versions can be compared."""
    ids = {tuple(r.run_id for r, _ in with_jobs(case).records) for case in VERSIONS}
    assert len(ids) == 1


def test_a_run_that_failed() -> None:
    made = imported("failed")
    record, _ = made.records[0]
    assert (made.session.status, record.status) == ("failed", "failed")
    assert "error 28" in record.message
