"""A job file's jobs, each with the options that are in force for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core import did_you_mean
from ioplan.language import Span
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.job_file import Option, Section
from ioplan_importer.fio.lost import LOST, USUAL
from ioplan_importer.fio.numbers import NumberFault, Percent, whole
from ioplan_importer.fio.vocabulary import KNOWN, NO_MATTER, SAID, canonical

Read = TypeVar("Read")
KB_BASE = "kb_base"
Switch = Literal[
    "time_based", "norandommap", "direct", "buffered", "zero_buffers", "stonewall"
]
MOST_UNKNOWN = 100
SWITCHES = frozenset(get_args(Switch))


class FioJob(Struct, frozen=True):
    """One job: its options by their one name, later ones before earlier."""

    name: str
    span: Span
    options: dict[str, Option]
    own: frozenset[str]
    """The options that stand in its own section."""

    @property
    def title(self) -> str:
        """What fio's output calls it: its option `name`, or that of its section."""
        return self.text("name") or self.name

    def has(self, name: str) -> bool:
        """Whether an option is given."""
        return name in self.options

    def is_on(self, name: Switch) -> bool:
        """Whether a switch is given and on; without a value it is on."""
        option = self.options.get(name)
        return option is not None and (not option.value or whole(option.value) != 0)

    def place(self, *names: str) -> Span:
        """Where the first of some options stands, else the section."""
        return next(
            (self.options[n].span for n in names if n in self.options), self.span
        )

    def text(self, name: str, default: str = "") -> str:
        """The value of an option."""
        option = self.options.get(name)
        return default if option is None else option.value or ""

    def without(self, name: str) -> FioJob:
        """The job as if an option were not given."""
        left = {key: one for key, one in self.options.items() if key != name}
        return replace(self, options=left)

    def at_least_1(self, name: Literal["iodepth", "numjobs"]) -> int:
        """A count of a job that has been run: without a value, or below 1, fio's 1."""
        return max(1, whole(self.text(name) or "1"))

    def read(
        self,
        name: str,
        parse: Callable[[str], Read],
        default: Read,
        findings: Findings,
    ) -> Read:
        """An option's value, or the default and an error where it is no amount."""
        option = self.options.get(name)
        if option is None:
            return default
        try:
            value = parse(option.value or "")
        except NumberFault as fault:
            findings.error(
                f"{name}: {fault}; fio drops the job, and here the option is left out",
                option.value_span,
            )
            return default
        if _is_negative(value):
            findings.error(
                f"{name} is below zero: fio takes most such numbers as very large "
                f"ones, and here the option is left out",
                option.value_span,
            )
            return default
        return value


def _is_negative(value: object) -> bool:
    """Whether an amount is below zero, or one of several."""
    if isinstance(value, list | tuple):
        return any(map(_is_negative, value))
    amount = value.percent if isinstance(value, Percent) else value
    return isinstance(amount, int | float) and amount < 0


def jobs_of(sections: Iterable[Section], findings: Findings) -> list[FioJob]:
    """The jobs in order; a global section holds for those behind it.

    Raises ImportFault for what is no job file.
    """
    sections = [*sections]
    _check_known(sections)
    common: dict[str, Option] = {}
    jobs = []
    for section in sections:
        own = _options(section, findings)
        if section.is_global:
            common = {**common, **own}
        else:
            jobs.append(
                FioJob(section.name, section.span, {**common, **own}, frozenset(own))
            )
    return jobs


def _check_known(sections: Iterable[Section]) -> None:
    """A list of many unknown options would be read by nobody. Raises ImportFault."""
    options = (one for section in sections for one in section.options)
    unknown = [one.span for one in options if canonical(one.name) not in KNOWN]
    if len(unknown) > MOST_UNKNOWN:
        raise ImportFault(
            f"{len(unknown)} options of fio are unknown here, of which this is the "
            f"first; is it a job file?",
            unknown[0],
        )


def _options(section: Section, findings: Findings) -> dict[str, Option]:
    """By name, the last of each; what a plan has no word for is told here."""
    found: dict[str, Option] = {}
    twice: set[str] = set()
    for option in section.options:
        name = canonical(option.name)
        if name in found and name not in twice:
            twice.add(name)
            findings.loss(
                f"{option.name} is said twice: fio takes the last without a word",
                found[name].span,
                f"here {option.span.text!r} holds as well; delete the other",
            )
        if not _is_sound(name, option, findings):
            continue
        found[name] = option
        if name not in SAID:
            _weigh(name, option, findings)
    _check_base(section, found, findings)
    return found


def _is_sound(name: str, option: Option, findings: Findings) -> bool:
    """A switch is on by itself, or takes a number."""
    if name not in SWITCHES or not option.value:
        return True
    try:
        whole(option.value)
    except NumberFault as fault:
        findings.error(f"{name}: {fault}; it is left out", option.value_span)
        return False
    return True


def _weigh(name: str, option: Option, findings: Findings) -> None:
    """Tell what is lost; what is of no matter to the target is told in one line."""
    if name in NO_MATTER or option.value in USUAL.get(name, ()):
        return
    if name in LOST:
        findings.loss(f"{option.span.text} is left out", option.span, LOST[name])
        return
    findings.error(
        f"{option.name!r} is no option that is known here"
        f"{did_you_mean(option.name, KNOWN)}",
        option.span,
        "fio drops a job for an unknown option; here only the option is left out",
    )


def _check_base(section: Section, found: dict[str, Option], findings: Findings) -> None:
    """fio sorts kb_base to the front, so that it holds for what stands above it."""
    base = found.get(KB_BASE)
    if base and section.options[0].name != KB_BASE:
        findings.note(
            "kb_base holds for all sizes of its section, also those above it",
            base.span,
        )


def of_no_matter(sections: Iterable[Section]) -> list[str]:
    """The options that change nothing about what is asked, each once."""
    names = (canonical(o.name) for section in sections for o in section.options)
    return sorted({name for name in names if name in NO_MATTER})
