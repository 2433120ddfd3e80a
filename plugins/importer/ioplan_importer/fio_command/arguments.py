"""fio's command line: job files, options of jobs, and options of fio itself.

As fio's init.c reads it: one dash or two, `--name VALUE` or `--name=VALUE`; options
before the first `--name` are those of all jobs, also of the files, which come last.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from ioplan.core import CommandFault, ExplainedError, did_you_mean
from ioplan.language import MOST_BYTES, read_text, text_of
from ioplan_importer.fio.vocabulary import KNOWN, canonical

FORMATS = ("normal", "json", "json+", "terse")
OF_OUTPUT = ("output", "output-format", "terse-version")
QUIET = ("eta", "eta-newline", "eta-interval", "alloc-size", "max-jobs")
"""What changes nothing here: progress, and fio's own memory."""
FLAGS = ("minimal", "readonly", "parse-only", "warnings-fatal", "version")
GIVEN = frozenset((*OF_OUTPUT, *QUIET, *FLAGS, "section"))
OF_FIO = frozenset(
    (
        *("append-terse", "aux-path", "bandwidth-log", "client", "cmdhelp"),
        *("cpuclock-test", "crctest", "daemonize", "debug", "enghelp", "idle-prof"),
        *("inflate-log", "latency-log", "memcpytest", "merge-blktrace-only"),
        *("profile", "remote-config", "server", "showcmd", "status-interval"),
        *("trigger", "trigger-file", "trigger-remote", "trigger-timeout"),
    )
)
"""Options of fio itself that nothing here answers."""
PASS = "--pass-through gives the call to fio itself"
READ_OTHERWISE = re.compile(r"[;#]|\$\{|^\s|\s$")
"""Of a value: what a job file ends, expands or leaves out, and a command line not."""
GLOBAL = re.compile(r"^\s*\[global", re.MULTILINE)
OUTSIDE = re.compile(r"(?:\s*[;#].*\n)*\s*[^\s\[;#]")
"""A text that begins with something else than a section or comments."""


class FioArgumentError(ExplainedError):
    """A word of fio's command line that cannot be followed."""

    kind = CommandFault.USAGE


class FioCall(Struct, frozen=True):
    """What is asked: `text` is a job file of all jobs, `formats` are in their order."""

    text: str
    name: str
    formats: tuple[str, ...] = ("normal",)
    output: Path | None = None
    sections: tuple[str, ...] = ()
    readonly: bool = False
    parse_only: bool = False
    version: bool = False


def call_of(words: Iterable[str]) -> FioCall:
    """Read fio's words. Raises FioArgumentError for what has no meaning here."""
    files: list[Path] = []
    own: list[tuple[str, str]] = []
    lines: list[str] = []
    for name, value in _pairs(words):
        if not name:
            files.append(Path(value))
        elif name in GIVEN:
            own.append((name, value))
        else:
            lines += _job_line(name, value, lines)
    if "version" in dict(own):
        return FioCall("", "", version=True)
    if not files and not any(line.startswith("[") for line in lines):
        raise FioArgumentError("name a job file, or a job: --name=NAME --rw=randread …")
    first = next((n for n, line in enumerate(lines) if line[0] == "["), len(lines))
    common = ["[global]", *lines[:first]] if first else []
    texts = _texts(files, alone=not lines)
    text = "\n".join([*common, *lines[first:], *texts]) + "\n"
    return _with_own(FioCall(text, ", ".join(map(str, files)) or "command line"), own)


def _pairs(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Options with their values; a file has no name."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":  # the rest are files
            yield from (("", one) for one in left)
            return
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        word, equals, value = word.partition("=")
        name = _name_of(word)
        if equals and name in FLAGS:
            raise FioArgumentError(f"--{name} takes no value")
        if not equals and not _is_flag(name):
            if not left:
                raise FioArgumentError(f"--{name} needs a value")
            value, equals = left.pop(0), "="
        yield name, value


def _name_of(word: str) -> str:
    """Without its dashes. Raises FioArgumentError for what only fio itself does."""
    name = "version" if word == "-v" else word.lstrip("-")
    if not name:
        raise FioArgumentError(f"{word}= is no option: it has no name")
    if name in OF_FIO:
        raise FioArgumentError(f"--{name} is for fio itself; {PASS}")
    return name


def _is_flag(name: str) -> bool:
    """Whether a bare option takes no value from the next word."""
    return name in FLAGS or canonical(name) in BARE


BARE = frozenset(
    (
        *("bs_unaligned", "exitall", "exitall_on_error", "group_reporting"),
        *("new_group", "norandommap", "refill_buffers", "stonewall", "thread"),
        *("time_based", "verify_only", "zero_buffers"),
    )
)
"""Options of jobs that need no value: `empty or boolean` in `fio --cmdhelp`."""


def _job_line(name: str, value: str, before: list[str]) -> list[str]:
    """A line of a job file. Raises FioArgumentError for what it cannot say."""
    if READ_OTHERWISE.search(value):
        raise FioArgumentError(
            f"--{name}={value!r} would become another value: blanks around it, ; # and "
            f"${{ are read otherwise in a job file; {PASS}"
        )
    if name == "name":
        return [f"[{value}]", f"name={value}"]
    if canonical(name) not in KNOWN:
        near = did_you_mean(name, [*KNOWN, *GIVEN])
        raise FioArgumentError(
            f"--{name[:80]} is no known option of a job{near}; {PASS}"
        )
    return [f"{name}={value}" if value else name]


def _texts(files: list[Path], *, alone: bool) -> list[str]:
    """Raises FioArgumentError where one file's options would reach another's jobs.

    Of a file that is `alone` the reader of jobs tells what stands outside of them.
    """
    texts = [*map(_read, files)]
    for path, text in zip(files, texts, strict=True):
        if OUTSIDE.match(text) and not (alone and len(files) == 1):
            raise FioArgumentError(
                f"{str(path)!r} has options before its first [job] section"
            )
    if any(map(GLOBAL.search, texts[:-1])):
        raise FioArgumentError(
            f"of several files, one has a [global] section, which is for its own "
            f"jobs only; run them one by one, or {PASS}"
        )
    return texts


def _read(path: Path) -> str:
    try:
        if str(path) == "-":
            return text_of(sys.stdin.buffer.read(MOST_BYTES + 1))
        return read_text(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise FioArgumentError(f"cannot read {str(path)!r}: {why}") from error


def _with_own(call: FioCall, own: list[tuple[str, str]]) -> FioCall:
    """With fio's own options. Raises FioArgumentError."""
    given = dict(own)
    formats = tuple(given.get("output-format", "normal").split(","))
    if "minimal" in given:
        formats = ("terse",)
    if wrong := next((one for one in formats if one not in FORMATS), ""):
        raise FioArgumentError(
            f"--output-format is of {', '.join(FORMATS)}, not {wrong!r}; {PASS}"
        )
    if given.get("terse-version", "3") != "3":
        raise FioArgumentError(f"only version 3 of the terse format is written; {PASS}")
    return FioCall(
        text=call.text,
        name=call.name,
        formats=formats,
        output=Path(given["output"]) if given.get("output") else None,
        sections=tuple(value for name, value in own if name == "section"),
        readonly="readonly" in given,
        parse_only="parse-only" in given,
    )
