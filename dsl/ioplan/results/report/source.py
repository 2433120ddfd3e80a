"""What a picture names when it leaves its report: drive, firmware, date, session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ioplan.language.plan import RepeatTemplate, RunTemplate, StepTemplate, Test
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.headlines.doubts import is_virtual
from ioplan.results.report.session_labels import drive


class Source(Struct, frozen=True):
    """Where the figures of a session come from, as short texts."""

    label: str
    drive: str
    firmware: str
    date: str
    session: str
    tool: str
    simulated: bool = False


def source(label: str, session: Session, records: Sequence[RunRecord]) -> Source:
    """The source of a session's figures; nothing that is not known is named."""
    target = records[0].target if records else {}
    backend = records[0].backend if records else None
    by = f"{backend.name} {backend.version}".strip() if backend else session.backend
    return Source(
        label=label,
        drive=drive(session, target),
        firmware=str(target.get("identity", {}).get("firmware", "")),
        date=session.started_at[:10],
        session=session.id,
        tool=f"ioplan {session.ioplan}, {by}",
        simulated=is_virtual(backend.name if backend else session.backend),
    )


def workload(test: Test | None) -> str:
    """What a test runs, in the plan's words, with the values of its params."""
    texts = (text.removeprefix("run ") for text in _runs(test.steps if test else ()))
    return "; ".join(dict.fromkeys(texts))


def _runs(steps: Iterable[StepTemplate]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, RunTemplate):
            yield step.text.partition(" {")[0]
        elif isinstance(step, RepeatTemplate):
            yield from _runs(step.steps)
