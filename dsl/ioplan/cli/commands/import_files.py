"""`ioplan import`: job files, suites and results of other tools."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD, USAGE
from ioplan.cli.inputs import pairs
from ioplan.cli.stores import opened
from ioplan.core.text import counted
from ioplan.importer.findings import ImportFault
from ioplan.importer.kinds import READERS, RESULTS, kind_of
from ioplan.importer.plan_import import ImportedPlan, import_plan
from ioplan.importer.writer import Library
from ioplan.language.check.modules import read_text
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.syntax.source import Source

LOSSES = 1
"""The exit code of an import that says something otherwise, or leaves it out."""


def import_files(
    *,
    files: list[Path],
    output: Path | None,
    suite: str | None,
    settings: list[str],
    force: bool,
) -> int:
    """Import each file; returns 0 if all of it is said, 1 if not, 2 if none can be."""
    kind, paths = _named_kind(files)
    sources = [_source(path) for path in paths]
    kinds = [kind or _kind(source) for source in sources]
    variables = {**os.environ, **pairs(settings)}
    if suite is None and len(sources) == 1:
        return _one(sources[0], kinds[0], variables, output, force)
    if output is None:
        raise UsageError("several files become a folder of plans: name it with -o DIR")
    return _folder(sources, kinds, variables, output, suite, force)


def _named_kind(files: list[Path]) -> tuple[str | None, list[Path]]:
    """`import vdbench FILE` names the tool; else the file tells."""
    first = str(files[0])
    if first in READERS and not files[0].exists() and len(files) > 1:
        return first, files[1:]
    return None, files


def _source(path: Path) -> Source:
    try:
        return Source(str(path), read_text(path))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {str(path)!r}: {why}") from error


def _kind(source: Source) -> str:
    try:
        return kind_of(source)
    except ImportFault as fault:
        raise UsageError(fault.diagnostic.render().removeprefix("error: ")) from None


def _one(
    source: Source,
    kind: str,
    variables: dict[str, str],
    output: Path | None,
    force: bool,
) -> int:
    """One file as one plan, to a file or to standard output."""
    made = _imported(source, kind, variables, None)
    if made is None:
        return USAGE
    with opened(output, force) as out:
        out.write(made.text.encode())
    if output:
        print_line(f"{output}: {_summary(made)}")
    return _code(made)


def _folder(
    sources: list[Source],
    kinds: list[str],
    variables: dict[str, str],
    folder: Path,
    suite: str | None,
    force: bool,
) -> int:
    """A plan for each file; with a suite's name, over one library of workloads."""
    library = Library(_suite_name(suite)) if suite else None
    folder.mkdir(parents=True, exist_ok=True)
    codes = []
    for source, kind in zip(sources, kinds, strict=True):
        made = _imported(source, kind, variables, library)
        codes.append(USAGE if made is None else _code(made))
        if made is None:
            continue
        path = folder / f"{Path(source.name).stem}.ioplan"
        with opened(path, force) as out:
            out.write(made.text.encode())
        print_line(f"{path}: {_summary(made)}")
    if library and library.defined:
        with opened(folder / library.file_name, force) as out:
            out.write(library.text().encode())
    if set(codes) == {USAGE}:
        return USAGE
    return LOSSES if any(codes) else HELD


def _suite_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII):
        raise UsageError(f"--suite takes a name such as acme, not {text!r}")
    return text


def _imported(
    source: Source, kind: str, variables: dict[str, str], library: Library | None
) -> ImportedPlan | None:
    """The plan, with what is lost told; None and the reason where there is none."""
    if kind == RESULTS:
        raise UsageError(f"{source.name} has results of fio, and no jobs to plan")
    try:
        made = import_plan(source, kind, variables, library)
    except ImportFault as fault:
        _tell([fault.diagnostic])
        return None
    _tell(made.found)
    return made


def _tell(found: list[Diagnostic]) -> None:
    if found:
        print_message("\n\n".join(one.render() for one in found) + "\n")


def _summary(made: ImportedPlan) -> str:
    losses = sum(one.severity != "note" for one in made.found)
    return counted(losses, "difference") if losses else "all of it is said"


def _code(made: ImportedPlan) -> int:
    return HELD if made.is_whole else LOSSES
