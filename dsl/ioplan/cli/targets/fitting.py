"""A plan that does not fit: refused before anything is touched, or cut to what fits."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ioplan.backends.backend import TargetFacts
from ioplan.cli.display.output import print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import NO_TARGET
from ioplan.cli.targets.choose import Choice
from ioplan.core.error_kinds import CommandFault
from ioplan.core.text import did_you_mean
from ioplan.language.bind.references import needed_by
from ioplan.language.clause_table import SLOTS, slot
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.planner.summary import PlanSummary, summary_of
from ioplan.runner.prepare.fit import Accepted, Misfit, Shortfall, misfits, shortfalls
from ioplan.runner.prepare.fit_report import Fit, fits_of

MOST_MISFITS = 8
OF_A_RUN = ("streams", "for", "warmup", "interval", "passes")
"""What a gap can be in beside the clauses of a stream."""


def accepted(names: Iterable[str], everything: bool = False) -> Accepted:
    """From `--allow align,distribution`. Raises UsageError for an unknown word."""
    slots = {slot(word.strip()) for text in names for word in text.split(",")}
    known = {*SLOTS, *OF_A_RUN}
    for word in sorted(slots - known):
        raise UsageError(
            "--allow takes the names of approximations shown by `ioplan plan`, for "
            f"example align,distribution; not {word!r}{did_you_mean(word, known)}"
        )
    return Accepted(everything, frozenset(slots))


def check_fit(
    plan: PlanSummary, choice: Choice, facts: TargetFacts, allowed: Accepted
) -> None:
    """Refuse before anything is touched. Raises UsageError, PlanError.

    What is mild is only told.
    """
    short = shortfalls(plan, choice.backend, facts, choice.options)
    wrong = misfits(plan.io_steps, facts, choice.backend)
    refuse(wrong, short, choice, facts, allowed)
    for text in dict.fromkeys(one.warning for one in short if one.gap.mild):
        print_message(f"warning: {choice.backend.name}: {text}")


def refuse(
    wrong: Iterable[Misfit],
    short: Iterable[Shortfall],
    choice: Choice,
    facts: TargetFacts,
    allowed: Accepted,
) -> None:
    """Refuse what does not fit and is not accepted. Raises UsageError, PlanError."""
    short = [one for one in short if not allowed.takes(one.gap)]
    placed = [
        one.diagnostic(choice.backend.name, one.span) for one in short if one.span
    ]
    if placed:
        raise PlanError(placed)
    refuse_misfits(wrong, facts)
    if short:
        text = f"{choice.backend.name} does not support the plan as written:"
        text += _shown([one.text for one in short])
        raise UsageError(text, CommandFault.UNSUPPORTED)


def refuse_misfits(wrong: Iterable[Misfit], facts: TargetFacts) -> None:
    """Refuse what no backend can do on a target. Raises UsageError."""
    if wrong := list(wrong):
        where = f" on {facts.path}" if facts.path != NO_TARGET else " at this capacity"
        if all(one.of_any_target for one in wrong):
            where = ""
        texts = _shown([one.text for one in wrong])
        raise UsageError(
            f"the plan is not possible{where}:{texts}", CommandFault.MISFIT
        )


def _shown(texts: list[str]) -> str:
    """The first few, each once, a line each."""
    found = list(dict.fromkeys(texts))
    more = [f"and {len(found) - MOST_MISFITS} more"] * (len(found) > MOST_MISFITS)
    return "".join(f"\n  {text}" for text in (*found[:MOST_MISFITS], *more))


def refuse_fits(
    fits: Iterable[Fit], choice: Choice, facts: TargetFacts, allowed: Accepted
) -> None:
    """Refuse tests that were looked at one by one."""
    wrong = [one for fit in fits for one in fit.misfits]
    short = [one for fit in fits for one in fit.shortfalls]
    refuse(wrong, short, choice, facts, allowed)


def only_fitting(
    plan: CheckedPlan, choice: Choice, facts: TargetFacts, allowed: Accepted
) -> tuple[CheckedPlan, PlanSummary, list[Fit]]:
    """The plan with the tests that fit, its summary, and the tests that are left out.

    Raises UsageError, PlanError if none is left.
    """
    fits = fits_of(plan, choice.backend, facts, choice.options)
    lacking = {fit.test.title for fit in fits if not fit.runs(allowed)}
    left_out = [fit for fit in fits if lacking & {fit.test.title, *needed_by(fit.test)}]
    kept = tuple(fit.test for fit in fits if fit not in left_out)
    if not kept:
        refuse_fits(fits, choice, facts, allowed)
    plan = replace(plan, tests=kept)
    return plan, summary_of(plan), left_out
