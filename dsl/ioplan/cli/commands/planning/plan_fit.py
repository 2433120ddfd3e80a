"""`ioplan plan --backend`: how each test fits, and what `ioplan run` will refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from ioplan.backends.backend import Availability, TargetFacts
from ioplan.cli.inputs import NO_TARGET
from ioplan.cli.targets.choose import Choice
from ioplan.cli.targets.fitting import accepted, refuse, refuse_fits
from ioplan.core.text import counted, printable
from ioplan.language.lints.lints import LEFT_OUT
from ioplan.language.plan import CheckedPlan
from ioplan.runner.prepare.fit import Accepted, allowed_as
from ioplan.runner.prepare.fit_report import GRADES, Fit, fits_of
from ioplan.runner.prepare.witnessed import kept_words, nothing_kept

STYLES = {
    "exact": "green",
    "near": "cyan",
    "approximate": "yellow",
    "impossible": "red",
}
MOST_LINES = 12
"""How much is said of one test."""


class PlanFit:
    """The fit of a plan; `plan` has the tests that would be run."""

    def __init__(
        self,
        plan: CheckedPlan,
        choice: Choice,
        facts: TargetFacts,
        allowed: Accepted,
        only_exact: bool,
    ) -> None:
        """A target that is not named is taken for a device: a file can do less."""
        if facts.path == NO_TARGET:
            facts = facts.model_copy(update={"path": f"/dev/{NO_TARGET}"})
        self.choice, self.facts, self.allowed = choice, facts, allowed
        self.fits = fits_of(plan, choice.backend, facts, choice.options)
        kept = tuple(fit.test for fit in self.fits if fit.runs(allowed))
        self.kept, self.only_exact = len(kept), only_exact and bool(kept)
        self.plan = plan
        if self.only_exact:
            self.plan = replace(plan, tests=kept)

    @property
    def refused(self) -> bool:
        """Whether `run` with the same words would refuse the plan."""
        return not self.only_exact and self.kept < len(self.fits)

    def refuse_impossible(self) -> None:
        """For views of what is done instead. Raises PlanError, UsageError."""
        short = [one for fit in self._run() for one in fit.shortfalls]
        refuse((), short, self.choice, self.facts, Accepted(everything=True))

    def conclude(self, console: Console | None) -> None:
        """Print it, and raise what `run` would. Raises PlanError, UsageError."""
        if console:
            self._print(console)
        if self.refused:
            refuse_fits(self.fits, self.choice, self.facts, self.allowed)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        here = self._here()
        return {
            "backend": self.choice.backend.name,
            "version": here.version,
            "usable": here.usable,
            "target": self.facts.model_dump(),
            "refused": self.refused,
            "tests": [
                fit.as_json()
                | {"runs": fit.runs(self.allowed), "witnessed": self._is_witnessed(fit)}
                for fit in self.fits
            ],
        }

    @cached_property
    def _seen(self) -> frozenset[str]:
        """The words that a witness saw of this version, with these options."""
        choice, version = self.choice, self._here().version
        return kept_words(nothing_kept(choice.backend.name, version, choice.options))

    def _is_witnessed(self, fit: Fit) -> bool:
        return fit.grade == "exact" and bool(fit.words) and fit.words <= self._seen

    def _exact(self) -> Iterator[str]:
        """Which tests are exact, and who says so."""
        backend = self.choice.backend
        exact = [fit for fit in self.fits if fit.grade == "exact"]
        if backend.virtual_time or not exact:
            return
        seen = [fit.test.title for fit in exact if self._is_witnessed(fit)]
        told = [fit.test.title for fit in exact if not self._is_witnessed(fit)]
        if seen:
            name = f"{backend.name} {self._here().version}"
            yield f"exact, witnessed on {name}: {', '.join(seen)}"
        if told:
            yield f"exact by declaration: {', '.join(told)}"

    def _run(self) -> list[Fit]:
        return [
            fit for fit in self.fits if not self.only_exact or fit.runs(self.allowed)
        ]

    def _here(self) -> Availability:
        return self.choice.backend.availability(self.choice.options)

    def _print(self, console: Console) -> None:
        here = self._here()
        options = [f"{name}={value}" for name, value in self.choice.options.items()]
        name = " ".join((self.choice.backend.name, *options))
        if here.version:
            name += f", version {here.version}"
        grades = Counter(fit.grade for fit in self.fits)
        counts = ", ".join(f"{grades[one]} {one}" for one in GRADES if grades[one])
        tests = counted(len(self.fits), "test")
        heading = f"\nfit on {printable(name)}: {tests}, {counts}"
        console.print(Text(heading, style="bold"))
        if not here.usable:
            text = f"it cannot run here: {here.reason}"
            console.print(Text(printable(text), style="dim"))
        for line in (*self._programs(), *self._exact()):
            console.print(Text(printable(line)), soft_wrap=True)
        for fit in self.fits:
            if fit.grade != "exact":
                self._print_test(console, fit)
        if self.refused:
            console.print(Text(self._ways()))

    def _programs(self) -> list[str]:
        """Which tests each program does, of a backend that chooses one."""
        used: dict[str, list[str]] = {}
        for fit in self.fits:
            for program in fit.done_by:
                used.setdefault(program, []).append(fit.test.title)
        return [f"by {one}: {', '.join(titles)}" for one, titles in used.items()]

    def _print_test(self, console: Console, fit: Fit) -> None:
        heading = Text(f"{fit.grade:<11}  ", style=STYLES[fit.grade])
        heading.append(printable(fit.test.title), style="bold")
        console.print(heading, soft_wrap=True)
        lines = list(fit.lines())
        for line in lines[:MOST_LINES]:
            console.print(Text(f"  {printable(line)}"), soft_wrap=True)
        if len(lines) > MOST_LINES:
            console.print(Text(f"  … and {len(lines) - MOST_LINES} more lines"))

    def _ways(self) -> str:
        """What may be typed to run all the same what can be run."""
        ways = []
        gaps = [gap for fit in self.fits for gap in fit.gaps]
        asked = [gap for gap in gaps if gap.instead and not gap.mild]
        fields = dict.fromkeys(map(allowed_as, asked))
        near = any(fit.grade == "approximate" for fit in self.fits)
        if near:
            ways.append(f"--allow {','.join(fields)} accepts what is approximate")
        if self.kept:
            ways.append(
                f"--only-exact runs {self.kept} of {counted(len(self.fits), 'test')}"
            )
        return "; ".join(["ioplan run would refuse it", *ways])


def plan_fit(
    plan: CheckedPlan,
    choice: Choice,
    facts: TargetFacts,
    words: tuple[list[str], bool, bool],
) -> PlanFit:
    """With the words `--allow`, `--allow-approximate`, `--only-exact` as `run` has."""
    allow, everything, only_exact = words
    only_exact = only_exact or LEFT_OUT in plan.accepted
    return PlanFit(plan, choice, facts, accepted(allow, everything), only_exact)
