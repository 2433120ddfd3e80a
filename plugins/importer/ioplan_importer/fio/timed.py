"""Jobs that begin and end at their own times, as streams with parts of one run."""

from __future__ import annotations

from msgspec import Struct

from ioplan.language import make
from ioplan_importer.outline import Clauses, Length


class Timed(Struct, frozen=True):
    """The run, and for each job its part of it."""

    length: Length
    clauses: list[Clauses]

    @classmethod
    def of(cls, jobs: list[tuple[Length, int]]) -> Timed | None:
        """The times of jobs, each a length and a delay in ns; None if they make no run.

        fio delays a job with its warm-up, as a plan does. A delay of all is left out.
        """
        if len({length.warmup_ns for length, _ in jobs}) > 1:
            return None
        first_ns = min(delay_ns for _, delay_ns in jobs)
        parts = [(delay - first_ns, length.run_ns) for length, delay in jobs]
        alike = len({length.text for length, _ in jobs}) == 1
        if alike and not any(delay_ns for delay_ns, _ in parts):
            return cls(jobs[0][0], [{} for _ in jobs])
        known = [(delay_ns, run_ns) for delay_ns, run_ns in parts if run_ns]
        if len(known) < len(jobs):
            return None
        end_ns = max(delay_ns + run_ns for delay_ns, run_ns in known)
        longest_ns = max(run_ns for _, run_ns in known)
        length = Length(
            text=f"for {_text(longest_ns)}",
            run_ns=longest_ns,
            warmup_ns=jobs[0][0].warmup_ns,
            more=_more(end_ns - longest_ns),
        )
        return cls(length, [_part(*part, end_ns) for part in known])


def _part(start_ns: int, run_ns: int, end_ns: int) -> Clauses:
    clauses: Clauses = {}
    if start_ns:
        clauses["starts"] = f"starts after {_text(start_ns)}"
    if start_ns + run_ns < end_ns:
        clauses["ends"] = f"ends after {_text(run_ns)}{_more(start_ns)}"
    return clauses


def _more(time_ns: int) -> str:
    return f" + {_text(time_ns)}" if time_ns else ""


def _text(time_ns: int) -> str:
    return make("time", time_ns).text
