"""`ioplan import`: job files, suites and results of other tools."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ioplan.cli import (
    HELD,
    STDOUT,
    USAGE,
    UsageError,
    opened,
    pairs,
    print_line,
    print_message,
)
from ioplan.core import counted
from ioplan.language import Diagnostic, Source, in_order, read_text
from ioplan.results.measure import consistent
from ioplan.results.store import Store, default_path
from ioplan.runner.guard import output_path
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio_results.log_file import log_of
from ioplan_importer.fio_results.sessions import import_results
from ioplan_importer.plan_import import (
    LOGS,
    READERS,
    RESULTS,
    ImportedPlan,
    Place,
    import_plan,
    kind_of,
)
from ioplan_importer.proof.prove import prove as prove_plan
from ioplan_importer.writer import Library

LOSSES = 1
"""The exit code of an import that says something otherwise, or leaves it out."""


def import_files(
    *,
    files: list[Path],
    output: Path | None,
    suite: str | None,
    settings: list[str],
    force: bool,
    prove: bool,
    drive: str | None,
    tag: str | None,
    store: Path | None,
) -> int:
    """Import each file; returns 0 if all is converted, 1 if not, 2 if none can be."""
    kind, paths = _named_kind(files)
    sources = [_source(path) for path in paths]
    kinds = [kind or _kind(source) for source in sources]
    if {RESULTS, LOGS} & {*kinds}:
        return _results(sources, kinds, drive, tag, store)
    variables = {**os.environ, **pairs(settings)}
    if prove and {*kinds} != {"fio"}:
        raise UsageError("--prove is only for fio job files")
    if suite is None and len(sources) == 1:
        code = _one(sources[0], kinds[0], variables, output, force)
        if prove and code != USAGE:
            code = max(code, _proven(sources[0], variables))
        return code
    if output is None or output == STDOUT:
        raise UsageError("several files are written to a folder: name it with -o DIR")
    code = _folder(sources, kinds, variables, output, suite, force)
    return max(code, *(_proven(one, variables) for one in sources)) if prove else code


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
    in_file = output if output and output != STDOUT else None
    place = _beside(in_file.parent, force) if in_file else None
    made = _imported(source, kind, variables, None, place)
    if made is None:
        return USAGE
    with opened(output, force) as out:
        out.write(made.text.encode())
    if output and output != STDOUT:
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {str(folder)!r}: {error.strerror}") from error
    codes, place = [], _beside(folder, force)
    for source, kind in zip(sources, kinds, strict=True):
        made = _imported(source, kind, variables, library, place)
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


def _proven(source: Source, variables: dict[str, str]) -> int:
    """Tell of each job whether fio makes of the plan what it makes of the job."""
    try:
        made = import_plan(source, "fio", variables)
    except ImportFault as fault:
        _tell([fault.diagnostic])
        return USAGE
    proofs = prove_plan(source, made.plan, variables) if made.plan else []
    for proof in proofs:
        print_message(f"{'equal' if proof.holds else 'not equal'}: {proof}")
    return HELD if all(proof.holds for proof in proofs) else LOSSES


def _suite_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII):
        raise UsageError(f"--suite takes a name such as acme, not {text!r}")
    return text


def _beside(folder: Path, force: bool) -> Place:
    return lambda name: output_path(folder / name, force=force)


def _imported(
    source: Source,
    kind: str,
    variables: dict[str, str],
    library: Library | None,
    place: Place | None,
) -> ImportedPlan | None:
    """The plan, with what is lost told; None and the reason where there is none."""
    try:
        made = import_plan(source, kind, variables, library, place)
    except ImportFault as fault:
        _tell([*fault.found, fault.diagnostic])
        return None
    _tell(made.found)
    return made


def _results(
    sources: list[Source],
    kinds: list[str],
    drive: str | None,
    tag: str | None,
    path: Path | None,
) -> int:
    """Each file of results as a session; one job file beside them is theirs, and so
    are the logs beside one of them."""
    found = [one for one, kind in zip(sources, kinds, strict=True) if kind == RESULTS]
    logs = [one for one, kind in zip(sources, kinds, strict=True) if kind == LOGS]
    jobs = [one for one in sources if one not in (*found, *logs)]
    if logs and len(found) != 1:
        raise UsageError(
            "logs belong to one result: give only its JSON file and its logs"
        )
    if len(jobs) > 1:
        raise UsageError(
            "with results, only the job file that produced them may be given"
        )
    codes = []
    with Store.open(path or default_path()) as store:
        for source in found:
            job = jobs[0] if jobs else None
            codes.append(_session(source, job, logs, drive, tag, store))
    return USAGE if set(codes) == {USAGE} else max(codes, default=HELD) and LOSSES


def _session(
    source: Source,
    job: Source | None,
    logs: list[Source],
    drive: str | None,
    tag: str | None,
    store: Store,
) -> int:
    """Store the results in a file, unless they are there already."""
    findings = Findings()
    try:
        series = [log_of(one) for one in logs]
        made = import_results(source, job, drive, tag, findings, series)
    except ImportFault as fault:
        _tell([fault.diagnostic])
        return USAGE
    _tell(in_order(findings.found))
    session = made.session
    there = store.count(session.id) if session.id in store.ids() else 0
    before = there >= len(made.records)
    if not before:  # also where an import was killed in the middle
        store.begin(session)
        for record, detail in made.records:
            store.add(consistent(record, detail), detail)
        store.finish(session.id, session.status, session.ended_at or "")
    what = counted(len(made.records), "run")
    said = ", imported before" if before else ""
    print_line(f"{source.name}: {what}{said}; session {session.id}")
    return LOSSES if findings.losses else HELD


def _tell(found: list[Diagnostic]) -> None:
    if found:
        print_message("\n\n".join(one.render() for one in found) + "\n")


def _summary(made: ImportedPlan) -> str:
    losses = sum(one.severity != "note" for one in made.found)
    return counted(losses, "difference") if losses else "converted completely"


def _code(made: ImportedPlan) -> int:
    return HELD if made.is_whole else LOSSES
