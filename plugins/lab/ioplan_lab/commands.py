"""Commands of the lab."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ioplan.cli import (
    RUN_FAILED,
    Terminal,
    UsageError,
    print_line,
    print_listing,
    print_message,
)
from ioplan.core import bytes_text, counted
from ioplan.results.store import StoreError, default_path, is_address
from ioplan.runner import login_name, read_lab
from ioplan_lab.database.connection import LabDatabase, Row, lab_address, lab_database
from ioplan_lab.here.local_job import LocalJob, local_job, local_jobs
from ioplan_lab.host.drive_job import OPEN
from ioplan_lab.host.folder import drive_jobs_root
from ioplan_lab.people.consent import moment_of
from ioplan_lab.people.selection import key_of, selection
from ioplan_lab.people.submit import DRIVES
from ioplan_lab.people.watch import (
    LAST,
    LAST_JOB,
    cancelled_text,
    drive_jobs,
    exit_code,
    has_ended,
    print_json,
    stored,
    stored_text,
    table,
    total,
    unknown_text,
    watched,
)

SHOWN_JOBS = 20
JOBS = """SELECT job, min(title) AS title, min(person) AS person,
    count(*) AS drive_jobs,
    count(*) FILTER (WHERE last_status IN ('waiting', 'running')) AS open,
    sum(stored) AS stored, sum(total) AS total, min(submitted_at) AS submitted_at
  FROM lab.v_drive_job WHERE job IN (SELECT id FROM lab.job ORDER BY submitted_at DESC
    LIMIT %s) GROUP BY job ORDER BY job DESC"""


def worker(lab: Path | None) -> None:
    """Serve this host's queue."""
    from ioplan_lab.host.worker import serve  # noqa: PLC0415  Procrastinate

    serve(lab)


# ---- jobs


def job_id(database: LabDatabase, key: str) -> str:
    """The job by its id, the beginning of it, or "last". Raises UsageError."""
    prefix, most = ("", 1) if key == LAST else (key, 2)
    ids = [row["id"] for row in database.rows(LAST_JOB, prefix, most)]
    if len(ids) == 1 or key in ids:
        return key if key in ids else ids[0]
    what = "several jobs begin with it" if ids else "there is none"
    raise UsageError(f"no job {key!r}: {what}")


def status(
    key: str, lab: Path | None, store: Path | None, all: bool, json: bool
) -> int:
    """How a job is; the exit code is that of the job once it has ended."""
    here, place = store or default_path(), read_lab(lab).results or ""
    if not is_address(place) and (all or key == LAST):
        return list_local(here, json) if all else status_here(here, key, json)
    if not all and key != LAST and local_job(here, key):
        return status_here(here, key, json)
    address = lab_address(lab)
    try:
        with lab_database(address) as database:
            if all:
                return _print_jobs(database.rows(JOBS, SHOWN_JOBS), json)
            job = job_id(database, key)
            rows, where = drive_jobs(database, job), database.where
    except StoreError as error:
        print_message(f"warning: {error}")
        print_line(unknown_text(key))
        return RUN_FAILED
    return _print_status(job, rows, where, json)


def status_here(store: Path, key: str, json: bool) -> int:
    """How a job of this host is, without a database."""
    job = local_job(store, key)
    if not job:
        raise UsageError(f"no job {key!r} of this host in {drive_jobs_root(store)}")
    return _print_status(job.id, job.rows(), job.where, json)


def _print_status(job: str, rows: list[Row], where: str, json: bool) -> int:
    if json:
        print_json(rows)
    else:
        print_line(f"job {job}: {rows[0]['title']}, of {rows[0]['person']}")
        console = Terminal(highlight=False)
        console.print(table(rows))
        console.print(stored_text(rows, where), soft_wrap=True)
    return exit_code(rows) if has_ended(rows) else 0


def list_local(store: Path, json: bool) -> int:
    """The latest jobs of this host, as the database lists those of a lab."""
    made = []
    for path in local_jobs(store)[:SHOWN_JOBS]:
        rows = LocalJob(path).rows()
        open = sum(row["last_status"] in OPEN for row in rows)
        same = {key: rows[0][key] for key in ("job", "title", "person")}
        counts = {"stored": stored(rows), "total": total(rows)}
        made.append({**same, "drive_jobs": len(rows), "open": open, **counts})
    return _print_jobs(made, json)


def _print_jobs(rows: list[Row], json: bool) -> int:
    if json:
        print_json(rows)
        return 0
    cells = [
        (
            row["job"],
            row["title"],
            row["person"],
            f"{row['open']} of {row['drive_jobs']} open" if row["open"] else "ended",
            f"{row['stored']} of {row['total']}",
        )
        for row in rows
    ]
    print_listing(("job", "plan", "person", "", "runs stored"), cells)
    return 0


def cancel(key: str, lab: Path | None, store: Path | None) -> None:
    """End what has not ended. Raises UsageError, StoreError."""
    has_lab = is_address(read_lab(lab).results or "")
    if (not has_lab or key != LAST) and (
        here := local_job(store or default_path(), key)
    ):
        print_line(cancelled_text(here.id, here.stop(login_name())))
        return
    with lab_database(lab_address(lab)) as database:
        job = job_id(database, key)
        open = database.call("cancel", job)
    print_line(cancelled_text(job, open))


def is_job(store: Path, id: str) -> bool:
    """Whether it is the id of a job of this host, or of the lab, if there is one."""
    if (here := local_job(store, id)) and here.id == id:
        return True
    address = read_lab(None).results or ""
    if id == LAST or not is_address(address):
        return False
    try:
        with lab_database(address) as database:
            return bool(database.rows("SELECT FROM lab.job WHERE id = %s", id))
    except (StoreError, UsageError):
        return False


def resume_job(store: Path, job: str, quiet: bool, detach: bool) -> int:
    """Go on with what did not end well; returns the exit code."""
    if here := local_job(store, job):
        console = Terminal(quiet=quiet, highlight=False)
        if not here.begin_again():
            print_message(f"job {job}: nothing to resume")
        return here.detached(console) if detach else here.watched(console)
    address = lab_address(None)
    with lab_database(address) as database:
        count = database.call("resume", job)
    if not count:
        print_message(f"job {job}: nothing to resume")
    elif detach:
        print_message(f"{counted(count, 'drive job')} of {job} go on")
        return 0
    return watched(Terminal(quiet=quiet, highlight=False), address, job)


# ---- drives


def drives(on: str | None, lab: Path | None, json: bool, propose: bool) -> None:
    """The drives of the lab, or those of this host as lines of a lab file."""
    if propose:
        from ioplan_lab.people.propose import propose_drives  # noqa: PLC0415

        propose_drives(lab)
        return
    with lab_database(lab_address(lab)) as database:
        rows = database.rows(DRIVES)
    if on:
        conditions = selection(on).conditions
        rows = [row for row in rows if all(one.holds(row) for one in conditions)]
    if json:
        print_json(rows)
        return
    headings = ("drive", "model", "serial", "size", "state", "tags", "")
    print_listing(headings, [_drive_cells(row) for row in rows], whole="state")


def _drive_cells(row: Row) -> tuple[str, ...]:
    return (
        key_of(row),
        row["model"],
        row["serial"] or row["wwid"],
        bytes_text(row["size_bytes"]) if row["size_bytes"] else "",
        row["state"],
        ", ".join(row["tags"]),
        why_not_free(row),
    )


def why_not_free(row: Row) -> str:
    """Who has a drive, or what is wrong with it."""
    if row["busy_session"]:
        return f"{row['busy_person']}: {row['busy_session']}"
    if row["out_of_service"]:
        return str(row["out_of_service"])
    if row["reserved_by"]:
        until = row["reserved_until"].astimezone().strftime("%Y-%m-%d %H:%M")
        return f"{row['reserved_by']} until {until} {row['reserved_why']}".strip()
    return str(row["closed"] or "")


def reserve(
    *,
    keys: list[str],
    until: str | None,
    why: str | None,
    release: bool,
    tag: list[str],
    untag: list[str],
    out_of_service: str | None,
    in_service: bool,
    lab: Path | None,
) -> None:
    """Change what people may do with drives. Raises UsageError, StoreError."""
    changes = {
        "--until": partial(_reserve, until=until, why=why or "") if until else None,
        "--release": _release if release else None,
        "--tag": partial(_tag, given=tag, taken=untag) if tag or untag else None,
        "--out-of-service": partial(_set_service, why=out_of_service or "")
        if out_of_service is not None or in_service
        else None,
    }
    asked = [change for change in changes.values() if change]
    if len(asked) != 1 or (out_of_service and in_service):
        raise UsageError(
            "add one of --until DATE, --release, --tag or --untag WORD, "
            "--out-of-service REASON, --in-service"
        )
    with lab_database(lab_address(lab)) as database:
        for key in keys:
            print_line(f"{key}: {asked[0](database, *split(key))}")


def _reserve(database: LabDatabase, host: str, drive: str, until: str, why: str) -> str:
    end = moment_of(until)
    database.call("reserve", host, drive, end, why)
    return f"reserved until {end.astimezone():%Y-%m-%d %H:%M}"


def _release(database: LabDatabase, host: str, drive: str) -> str:
    was = database.call("release", host, drive)
    return "released" if was else "was not reserved by you"


def _tag(
    database: LabDatabase, host: str, drive: str, given: list[str], taken: list[str]
) -> str:
    tags = database.call("tag", host, drive, given, taken)
    if tags is None:
        raise UsageError(f"the lab has no drive {host}/{drive}")
    return ", ".join(tags) or "no tag"


def _set_service(database: LabDatabase, host: str, drive: str, why: str) -> str:
    database.call("set_service", host, drive, why)
    return f"out of service: {why}" if why else "in service"


def split(key: str) -> tuple[str, str]:
    """Host and drive of `h1/nvme0`. Raises UsageError."""
    host, slash, drive = key.partition("/")
    if not (slash and host and drive):
        raise UsageError(
            f"a drive of the lab is HOST/DRIVE, for example h1/gen5-1: {key!r}"
        )
    return host, drive
