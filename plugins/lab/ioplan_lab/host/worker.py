"""`ioplan lab worker`: takes the drive jobs of its host's queue, and reports them.

What it asks of the database may fail at any time: then all of it begins anew, and the
drive jobs, which are processes of their own, go on meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from procrastinate import (
    App,
    BaseRetryStrategy,
    JobContext,
    PsycopgConnector,
    RetryDecision,
)
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.jobs import Job
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from ioplan.cli import UsageError
from ioplan.core import __version__, fcntl
from ioplan.results.store import CONNECTION, Outbox, default_path, make_own
from ioplan.runner import read_lab
from ioplan_lab.database.connection import Row, lab_address
from ioplan_lab.host.clock import keep_clock, measured
from ioplan_lab.host.drive_job import SCHEMA, DriveJob, JobState
from ioplan_lab.host.drives import reported_drives
from ioplan_lab.host.hook import Hook
from ioplan_lab.host.keeper import Keeper

LOOK_S, REPORT_S, SWEEP_S, DRIVES_S = 1.0, 2.0, 10.0, 600.0
IDLE_REPORTS = 5
"""Without news, a host says only with each so-manieth report that it is there."""
HEARTBEAT_S, STALLED_S, SILENT_S, LOST_S = 5.0, 30.0, 45.0, 60.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 10.0
AT_ONCE, END_S, POOL_S = 2000, 3.0, 60.0
OWN_JOBS = """SELECT j.id FROM procrastinate_jobs j
    JOIN procrastinate_workers w ON w.id = j.worker_id
    WHERE j.status = 'doing' AND w.place = current_setting('application_name')"""
CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint AS v"
WAKE = '{"type": "job_inserted", "job_id": 0}'
LOST = (ConnectorException, psycopg.Error, OSError, ProcrastinateException)


class WakingConnector(PsycopgConnector):
    """Any role may NOTIFY anything: a notification wakes the worker, and says nothing.

    Procrastinate would believe an `abort_job_requested`, and end at what is no JSON.
    """

    async def listen_notify(self, on_notification: Any, channels: Any) -> None:
        async def wake(*, channel: str, payload: str) -> None:
            await on_notification(channel=channel, payload=WAKE)

        await super().listen_notify(on_notification=wake, channels=channels)


class Again(BaseRetryStrategy):
    """A drive job is tried until its end is known: its folder knows how far it is."""

    def get_retry_decision(
        self, *, exception: BaseException, job: Job
    ) -> RetryDecision | None:
        wait_s = 0 if isinstance(exception, asyncio.CancelledError) else 10
        return RetryDecision(retry_in={"seconds": wait_s})


class Worker:
    """One connection to the database, until that is lost."""

    def __init__(self, address: str, keeper: Keeper) -> None:
        self.keeper = keeper
        self.told: dict[str, JobState] = {}
        self.answered_s = self.offered_s = time.monotonic()
        place = f"{socket.gethostname()}:{keeper.root}".encode()
        name = f"ioplan-worker-{hashlib.sha256(place).hexdigest()[:16]}"
        options = {"options": "-c search_path=queue", "application_name": name}
        self.connector = WakingConnector(
            conninfo=address,
            kwargs={**CONNECTION, **options},
            min_size=1,
            max_size=1,
            timeout=POOL_S,
        )
        self.app = App(connector=self.connector)
        self.watched, self.unwatched = set[int](), set[int]()
        task = self.app.task(name="ioplan.drive_job", pass_context=True, retry=Again())
        task(self.drive_job)

    async def drive_job(self, context: JobContext, session: str) -> None:
        """Take a drive job, and wait until the database knows its end."""
        id = context.job.id or 0
        self.watched.add(id)
        try:
            await self._drive_job(session)
        finally:
            self.watched.discard(id)

    async def _drive_job(self, session: str) -> None:
        raw = (await self._row("SELECT lab.drive_job_call(%(s)s) AS v", s=session))["v"]
        if raw is None:  # another database was restored
            return
        try:
            if raw["schema_version"] > SCHEMA:
                raise ValueError(f"schema {raw['schema_version']}")
            call = DriveJob.model_validate(raw).as_queued
        except ValueError as error:
            await self._refuse(raw, error)
            return
        self.told.pop(session, None)  # by a database that was since restored
        while self.keeper.take(call).state().round < call.round:
            await self._end_of(session)  # of the round before
        await self._end_of(session)

    async def _end_of(self, session: str) -> None:
        while session in self.keeper.folders:
            await asyncio.sleep(LOOK_S / 2)

    async def _refuse(self, raw: Any, error: ValueError) -> None:
        """What asks for what this version does not know is not done without it."""
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        text = f"error: ioplan {__version__} of this host does not know it: {why}"
        state = JobState(
            session=raw["session"],
            round=raw["round"],
            status="refused",
            message=text,
            exit_code=2,
        )
        await self._report({state.session: state})

    # ---- what is said to the database

    async def _row(self, query: LiteralString, **values: Any) -> Row:
        row: Row = await self.connector.execute_query_one_async(query, **values)
        return row

    async def _report(self, states: dict[str, JobState]) -> list[Row]:
        raw = [state.model_dump(mode="json") for state in states.values()]
        query = "SELECT * FROM lab.report(%(version)s, %(states)s)"
        rows: list[Row] = await self.connector.execute_query_all_async(
            query, version=__version__, states=Jsonb(raw)
        )
        self.answered_s = time.monotonic()
        return rows

    async def report(self) -> None:
        """Say how the drive jobs are, and learn which are to be stopped."""
        silent = IDLE_REPORTS
        while True:
            states = dict(self.keeper.states)
            news = {s: one for s, one in states.items() if self.told.get(s) != one}
            silent = silent + 1 if not news else IDLE_REPORTS
            await self.offer(self.keeper.offers(filter(self._is_first, news)))
            if news or states or silent > IDLE_REPORTS:
                for row in await self._report(news):
                    self.keeper.stop(row["session"], row["cancelled_by"])
                self.told.update(news)
                self.keeper.has_reported(states)
                silent = 0
            await asyncio.sleep(REPORT_S)

    def _is_first(self, session: str) -> bool:
        """Whether the database is told of this round for the first time."""
        told, state = self.told.get(session), self.keeper.states[session]
        return told is None or told.round != state.round

    async def offer(self, jobs: Iterable[dict[str, Any]]) -> None:
        """Tell of drive jobs that only this host knows."""
        for job in jobs:
            query = "SELECT lab.offer(%(job)s)"
            await self.connector.execute_query_async(query, job=Jsonb(job))

    async def offer_lost(self) -> None:
        """A database that was restored from a backup may lack what is here."""
        self.offered_s = time.monotonic()
        reported = await asyncio.to_thread(self.keeper.reported)
        rows = await self.connector.execute_query_all_async(
            "SELECT lab.unknown(%(open)s, %(ended)s) AS session",
            open=[*self.keeper.folders],
            ended=[one for one in reported if one not in self.keeper.folders],
        )
        for row in rows:
            session = row["session"]
            self.told.pop(session, None)
            await self.offer(self.keeper.lost(session, reported.get(session)))
        if rows:
            Outbox(default_path()).check_soon()

    async def report_drives(self) -> None:
        """Say which drives are here: not while a measurement could be disturbed."""
        while True:
            if not self.keeper.folders:
                drives = await asyncio.to_thread(reported_drives)
                query = "SELECT lab.report_drives(%(drives)s)"
                await self.connector.execute_query_async(query, drives=Jsonb(drives))
                await self.connector.execute_query_async("SELECT lab.purge()")
                await asyncio.to_thread(self.keeper.forget_old)
                await asyncio.sleep(DRIVES_S)
            await asyncio.sleep(LOOK_S)

    async def take_back(self) -> None:
        """Jobs whose end nobody here waits for are taken again.

        They are of workers that have ended, or this one could not say how they ended.
        """
        stalled = await self.app.job_manager.get_stalled_jobs(
            queue=self.queue, seconds_since_heartbeat=STALLED_S
        )
        rows = await self.connector.execute_query_all_async(OWN_JOBS)
        unwatched = {row["id"] for row in rows} - self.watched
        for id in {job.id for job in stalled if job.id} | (unwatched & self.unwatched):
            with suppress(ConnectorException):  # it has ended meanwhile
                await self.app.job_manager.retry_job_by_id_async(id, datetime.now(UTC))
        self.unwatched = unwatched

    async def sweep(self) -> None:
        """What is to be done again and again; also for schedules."""
        while True:
            await asyncio.sleep(SWEEP_S)
            await self.take_back()
            if time.monotonic() - self.offered_s > LOST_S:
                await self.offer_lost()
            await self.connector.execute_query_async("SELECT lab.fire_due()")
            await asyncio.to_thread(self.keeper.adopt)
            keep_clock(self.keeper.root, await measured(self._there_ns))

    async def _there_ns(self) -> int:
        """What the database's clock says."""
        return int((await self._row(CLOCK))["v"])

    async def fetch(self) -> None:
        """Procrastinate's own loop, which ends when it has lost the database."""
        await self.app.run_worker_async(
            queues=[self.queue],
            concurrency=AT_ONCE,
            install_signal_handlers=False,
            update_heartbeat_interval=HEARTBEAT_S,
            stalled_worker_timeout=STALLED_S,
            shutdown_graceful_timeout=0,
            fetch_job_polling_interval=HEARTBEAT_S,
        )

    async def attend(self) -> None:
        """Until the database is lost. Raises one of `LOST`."""
        await self.app.open_async()
        self.queue = (await self._row("SELECT lab.require('host') AS v"))["v"]
        await self.connector.execute_query_async("SELECT lab.leave()")
        await self.take_back()
        await self.offer_lost()
        work = self.fetch(), self.report(), self.report_drives(), self.sweep()
        tasks = [asyncio.create_task(each) for each in work]
        (first, *_), _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        _, going_on = await asyncio.wait(tasks, timeout=END_S)
        if going_on:  # in Python 3.11 a cancellation may get lost
            begin_anew("what asks the database does not end")
        with suppress(*LOST):
            await asyncio.wait_for(self.app.close_async(), END_S)
        first.result()
        raise ConnectorException("the connection was lost")


async def keep_looking(keeper: Keeper) -> None:
    """Whether there is a database or not."""
    while True:
        await asyncio.to_thread(keeper.look)
        await asyncio.sleep(LOOK_S)


async def keep_attending(address: str, keeper: Keeper) -> None:
    """A database that is away is waited for."""
    wait_s, why = FIRST_WAIT_S, ""
    while True:
        began_s = time.monotonic()
        text = await end_of(Worker(address, keeper))
        if text != why:
            print(f"waits for the database: {text}", file=sys.stderr, flush=True)
        is_long = time.monotonic() - began_s > STALLED_S
        wait_s = FIRST_WAIT_S if is_long else min(2 * wait_s, LONGEST_WAIT_S)
        why = "" if is_long else text
        await asyncio.sleep(wait_s)


async def end_of(worker: Worker) -> str:
    """Why the database was lost.

    Queries on a link that was cut may never end: then this program begins anew, which
    is as good as being killed and started.
    """
    attending = asyncio.create_task(worker.attend())
    while not (await asyncio.wait([attending], timeout=LOOK_S))[0]:
        if time.monotonic() - worker.answered_s > SILENT_S:
            begin_anew("the database is silent")
    try:
        attending.result()
    except LOST as error:
        return first_line(error)
    return ""


def begin_anew(why: str) -> None:
    """As if the worker had been killed, and started again."""
    print(f"{why}: the worker begins anew", file=sys.stderr, flush=True)
    os.execv(sys.executable, sys.orig_argv)


def first_line(error: BaseException) -> str:
    """The cause that says most."""
    error = error.__cause__ or error
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]


@contextmanager
def only_worker(root: Path) -> Iterator[None]:
    """This host's one worker. Raises UsageError where another is at work."""
    make_own(root)
    fd = os.open(root / "worker", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(fd, str(os.getpid()).encode().ljust(16), 0)
        yield
    except BlockingIOError:
        raise UsageError(f"a worker of this host is at work: {root}/worker") from None
    finally:
        os.close(fd)


def serve(lab: Path | None) -> None:
    """Until SIGTERM or Ctrl-C. Raises UsageError."""
    address, hook = lab_address(lab), Hook(read_lab(lab).hook)
    keeper = Keeper(hook=hook, results=address)
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
    with only_worker(keeper.root), suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(_serve(keep_looking(keeper), keep_attending(address, keeper)))


async def _serve(*work: Awaitable[None]) -> None:
    """A database that is away keeps nobody: who is killed loses nothing."""
    task, loop = asyncio.gather(*work), asyncio.get_running_loop()

    def end() -> None:
        task.cancel()
        loop.call_later(END_S, os._exit, 0)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await task
