"""`ioplan answer`: which of the measured drives a load needs."""

from __future__ import annotations

from ioplan.cli.display.output import print_line
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.sessions.bundles import results_of
from ioplan.records.outline import current_records
from ioplan.records.session import Session
from ioplan.results.report.answers.answer import Held, answer
from ioplan.results.report.answers.measured import loads
from ioplan.results.report.answers.question import Question, parse_question
from ioplan.results.report.answers.wording import expectation, lines, missing, ranked
from ioplan.results.report.headlines.doubts import doubts
from ioplan.results.report.reader import Reader
from ioplan.results.report.source import labels
from ioplan.results.store.store import Store


def answer_question(
    *, question: str, sessions: list[str], test: bool, store: str | None
) -> int:
    """Print what each drive holds; 1 where some session cannot say it.

    Raises QuestionError, StoreError.
    """
    asked = parse_question(question)
    with results_of(store, sessions or ["last"]) as (known, keys):
        found = [known.session(word) for key in keys for word in key.split(",")]
        answers = _answers(asked, known, list({one.id: one for one in found}.values()))
    terminal = Terminal(highlight=False)
    for line in lines(asked, answers):
        terminal.print(line, markup=False)
    if test or missing(answers):
        _print_test(asked, answers, test)
    return EXPECTATION_FAILED if missing(answers) else HELD


def _answers(
    asked: Question, known: Store, sessions: list[Session]
) -> dict[str, Held | None]:
    """By the labels of sessions."""
    records = [current_records(list(known.records(one.id))) for one in sessions]
    targets = [found[0].target if found else {} for found in records]
    reader = Reader(known)
    metrics = [asked.metric] if asked.metric else []
    return {
        label: answer(asked, loads(asked.stream, metrics, found, reader, doubts(found)))
        for label, found in zip(labels(sessions, targets), records, strict=True)
    }


def _print_test(asked: Question, answers: dict[str, Held | None], wanted: bool) -> None:
    """The test that measures it; where all is known, with the best drive's figure."""
    print_line("")
    if not wanted:
        print_line("Not measured: add this test to a plan.")
    held = ranked(answers)[0][1]
    line = expectation(held) if held else ""
    print_line(asked.test(line))
