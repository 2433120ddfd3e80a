"""What a person may ask of a run of a plan: the only list of it.

From it come the options of `ioplan run`, the request of a drive job, what a session
keeps and signs, and what `resume` takes up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from math import inf, ulp
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ValidationError

from ioplan.core.model import Model
from ioplan.job import SECOND_NS
from ioplan.language.plan import FULL
from ioplan.language.quantity import parse_quantity
from ioplan.workload import MAX_INTERVAL_NS, MIN_INTERVAL_NS

TAG = r"^\w[\w.:@+/=-]{0,63}$"
"""A word, so that tags can be listed with blanks or commas between them."""
MAX_NOTE = 2000
"""Characters: a note is a remark, not a report."""
MAX_SCALE = 1000


class Option(NamedTuple):
    """How a field is asked for on the command line.

    `values` says what a shell completes it to; an option without `help` is hidden.
    """

    name: str
    help: str = ""
    metavar: str = ""
    values: str = ""


def one_word(tag: str) -> str:
    """A tag. Raises ValueError.

    By Python's own expressions: pydantic's take 40 ms to compile 64 times `\\w`, in
    each session, whether it has tags or not.
    """
    if not re.fullmatch(TAG, tag):
        raise ValueError(
            "takes one word, such as nightly or lab=2, without blanks, commas or "
            f"quotes, at most 64 characters; not {tag!r}"
        )
    return tag


def short_note(note: str) -> str:
    """A note. Raises ValueError."""
    if len(note) > MAX_NOTE:
        raise ValueError(
            f"takes at most {MAX_NOTE} characters, and this one has {len(note)}"
        )
    return note


def _factor(value: Any) -> Any:
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0 < float(value) <= MAX_SCALE:
            return value
    raise ValueError("must be a number above 0, for example 0.01")


def _time(form: str, least_ns: float, most_ns: float = inf) -> AfterValidator:
    """Text that is empty, or a time between these."""

    def check(text: str) -> str:
        value = parse_quantity(text) if text else None
        if value and (value.kind != "time" or not least_ns <= value.value <= most_ns):
            raise ValueError(f"takes {form}, not {text!r}")
        return text

    return AfterValidator(check)


Tag = Annotated[str, AfterValidator(one_word)]
Tags = Annotated[tuple[Tag, ...], AfterValidator(lambda tags: tuple(sorted(set(tags))))]
Note = Annotated[str, AfterValidator(short_note)]
Texts = tuple[str, ...]


class RunRequest(Model):
    """A request; whatever is not given has its default."""

    targets: Annotated[
        Texts,
        AfterValidator(lambda names: tuple(dict.fromkeys(names))),
        Option(
            "--target",
            "A file, a device, or a target or group of the lab; may be repeated.",
            "TARGET",
            "targets",
        ),
    ] = ()
    tests: Annotated[
        Texts,
        Option(
            "--test",
            "Only tests with a matching title, for example 'Random*'; may be repeated.",
            "GLOB",
            "tests",
        ),
    ] = ()
    create: Annotated[
        str | None,
        Option(
            "--create",
            "Create the scratch file if it is missing, for example 1GiB.",
            "SIZE",
        ),
    ] = None
    backend: Annotated[
        str | None,
        Option(
            "--backend",
            "io_uring, fio, spdk or sim; else the lab's, io_uring, or fio.",
            "NAME",
            "backends",
        ),
    ] = None
    options: Annotated[
        Texts, Option("--option", "An option of the backend.", "NAME=VALUE")
    ] = ()
    lab: Annotated[
        Path | None, Option("--lab", "The lab file; else IOPLAN_LAB, else XDG.")
    ] = None
    settings: Annotated[
        Texts, Option("--set", "Set a param; may be repeated.", "NAME=VALUE", "params")
    ] = ()
    profile: Annotated[
        str,
        Option(
            "--profile", "Use the param values of this profile.", "NAME", "profiles"
        ),
    ] = FULL
    scale_time: Annotated[
        float,
        BeforeValidator(_factor),
        Option(
            "--scale-time", "Multiply every duration, for example by 0.01 for a trial."
        ),
    ] = 1.0
    interval: Annotated[
        str,
        _time(
            "a time from 10ms to 1h, for example 1s", MIN_INTERVAL_NS, MAX_INTERVAL_NS
        ),
        Option(
            "--interval",
            "The reporting interval; default: 1s, shorter in runs below 10s.",
            "TIME",
        ),
    ] = ""
    within: Annotated[
        str,
        _time("a time, for example 4h", ulp(0.0)),
        Option(
            "--within",
            "End on time: shorten runs and rounds, and say first what that tells.",
            "TIME",
        ),
    ] = ""
    overwrite: Annotated[
        Texts, Option("--overwrite", "Permit overwriting this target (its ID).", "ID")
    ] = ()
    overwrite_data: Annotated[
        Texts, Option("--overwrite-data", "Also if it contains data.", "ID")
    ] = ()
    cannot_see_users: Annotated[
        bool,
        Option(
            "--cannot-see-users",
            "Write also where programs that use the target cannot be seen.",
        ),
    ] = False
    allow: Annotated[
        Texts,
        Option(
            "--allow",
            "Accept these approximations, for example align,distribution.",
            "NAMES",
        ),
    ] = ()
    allow_approximate: Annotated[
        bool, Option("--allow-approximate", "Accept all documented approximations.")
    ] = False
    only_exact: Annotated[
        bool,
        Option(
            "--only-exact", "Run the tests that are supported exactly; list the others."
        ),
    ] = False
    baseline: Annotated[
        str | None,
        Option(
            "--baseline",
            "The baseline: a session, TAG, last, last@TARGET or drive:SERIAL.",
            "SESSION",
            "sessions",
        ),
    ] = None
    fresh: Annotated[
        bool,
        Option(
            "--fresh",
            "Repeat preconditions even if the target is already in that state.",
        ),
    ] = False
    tags: Annotated[
        Tags, Option("--tag", "A tag to find it by; may be repeated.", "WORD")
    ] = ()
    note: Annotated[
        Note, Option("--note", "A note stored with the results.", "TEXT")
    ] = ""
    person: Annotated[str, Option("--person")] = ""

    @property
    def target(self) -> str | None:
        """The one target; None where none is named, or several are."""
        return self.targets[0] if len(self.targets) == 1 else None

    @property
    def interval_ns(self) -> int | None:
        """The length of the reporting interval; None for the usual one."""
        return int(parse_quantity(self.interval).value) if self.interval else None

    @property
    def within_s(self) -> float | None:
        """The time by which the session is to end."""
        if not self.within:
            return None
        return int(parse_quantity(self.within).value) / SECOND_NS


OPTIONS: dict[str, Option] = {
    name: next(option for option in field.metadata if isinstance(option, Option))
    for name, field in RunRequest.model_fields.items()
}
"""How each field is asked for."""


class RequestError(ValueError):
    """A value that cannot be; the text begins with its option."""


def request_of(values: Mapping[str, Any]) -> RunRequest:
    """A request of values from outside. Raises RequestError."""
    try:
        return RunRequest.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name, text = str(first["loc"][0]), first["msg"].removeprefix("Value error, ")
        option = OPTIONS[name].name if name in OPTIONS else name
        raise RequestError(f"{option} {text}") from None


class Resolved(Model):
    """What a request came to on the host that it was started on.

    `plan` is the absolute path of its file, `files` are the texts of those that it
    uses, `parameters` all that it was checked with; `options` are the backend's, with
    the lab's, and `drive_file` is the text of the simulated drive.
    """

    plan: str = ""
    target_key: str = ""
    parameters: dict[str, str] = {}
    files: dict[str, str] = {}
    options: dict[str, Any] = {}
    drive_file: str = ""
    signature: str = ""
