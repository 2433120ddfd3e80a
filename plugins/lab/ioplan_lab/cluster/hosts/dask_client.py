"""Lanes on other hosts, started by dask's workers there.

The scheduler only dispatches: a lane's definition and state are on its host. So after
the scheduler, a worker or this process is lost, all lanes are submitted again, and
each turns out to be running or done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import dask
from distributed import Client, Future, fire_and_forget

from ioplan.core import ClusterFault
from ioplan.records import HostClock
from ioplan.results.store import Delivery
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.delivery import deliver_lanes, delivered_here
from ioplan_lab.cluster.hosts.evidence import CALLS, refusals_here
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.seen_hosts import HOSTS_OP
from ioplan_lab.cluster.hosts.servers import resource
from ioplan_lab.cluster.hosts.worker_api import (
    check_versions,
    reset_lanes,
    run_lane,
    stop_lanes,
)
from ioplan_lab.cluster.jobs.executors import States
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState, initial_state
from ioplan_lab.cluster.keys.dask_security import security_for
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.cluster.sync.channel import Channels

CONNECT_S = 10
SILENT_S = 15
"""Workers report every second; in a lab of hundreds, every few seconds."""
SCHEDULER_LOST = (OSError, TimeoutError, RuntimeError, ValueError)
"""What distributed's client raises when the scheduler is gone."""

Answer = TypeVar("Answer")
Seen = dict[str, dict[str, Any]]
"""What the scheduler answers to `HOSTS_OP`."""


class DaskClient:
    """An `Executor` on the workers of a lab. Methods raise ClusterError."""

    def __init__(self, address: str, programs: Programs) -> None:
        self.address, self.programs = address, programs
        self.futures: dict[str, Future] = {}
        self.reset_s: dict[str, float] = {}
        self.client: Client | None = self._connect()

    def _connect(self) -> Client:
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_S}):
                return Client(
                    self.address,
                    security=security_for(self.address, Identity("desk")),
                    timeout=CONNECT_S,
                    set_as_default=False,
                )
        except (OSError, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no answer"
            said = shake_hands(self.address, Identity("desk"))
            if said.is_refused:
                raise ClusterError(
                    f"the lab's scheduler {self.address}: {said.reason}; `ioplan lab "
                    f"up` gives it and this desk keys that fit",
                    ClusterFault.KEYS_REFUSED,
                ) from error
            raise ClusterError(
                f"the lab's scheduler {self.address} cannot be reached ({reason}); "
                "start it with `ioplan lab up`; running lanes continue",
                ClusterFault.SCHEDULER_UNREACHABLE,
            ) from error

    def close(self) -> None:
        if self.client:
            self.client.close(timeout=2)
        self.client = None
        self.futures = {}

    def hosts(self) -> set[str]:
        """The hosts whose workers report."""
        return set(self._reporting())

    def clocks(self) -> dict[str, HostClock]:
        """The clocks of the hosts that report, once they are measured."""
        there = self._reporting().items()
        known = {name: one["clock"] for name, one in there if one["clock"]}
        return {name: HostClock.model_validate(one) for name, one in known.items()}

    def channels(self, hosts: Sequence[str], session: str) -> Channels:
        """Connect to the participants of a session on these hosts."""
        self._check_hosts(hosts)
        workers = {name: one["address"] for name, one in self._reporting().items()}
        if self.client is None or set(hosts) - set(workers):
            text = f"the workers of {', '.join(hosts)} have gone just now"
            raise ClusterError(text, ClusterFault.NO_WORKER)
        return Channels(self.client, {one: workers[one] for one in hosts}, session)

    # ---- lanes

    def unready(self, calls: Sequence[LaneCall]) -> dict[str, ClusterError]:
        """The lanes' hosts that do not report, or have other versions."""
        return self._unready(list(dict.fromkeys(call.host for call in calls)))

    def _unready(self, hosts: Sequence[str]) -> dict[str, ClusterError]:
        there, found = self._reporting(), {}
        for host in hosts:
            try:
                if host not in there:
                    raise ClusterError(
                        f"no worker reports from {host}; start it with "
                        f"`ioplan lab up {host}`",
                        ClusterFault.NO_WORKER,
                    )
                check_versions(host, there[host]["versions"])
            except ClusterError as error:
                found[host] = error
        return found

    def _check_hosts(self, hosts: Sequence[str]) -> None:
        """All of them are needed."""
        for error in self._unready(hosts).values():
            raise error

    def start(self, calls: Sequence[LaneCall]) -> None:
        for call in calls:
            if call.session not in self.futures:
                self._ask(partial(self._submit, call))

    def _submit(self, call: LaneCall, client: Client) -> None:
        future = client.submit(
            run_lane,
            call.model_dump_json(),
            self.programs.lane,
            key=_key(call),
            resources={resource(call.host): 1},
        )
        fire_and_forget(future)
        self.futures[call.session] = future

    def states(self, calls: Sequence[LaneCall]) -> States:
        sessions = {call.session for call in calls}
        found: States = {}
        for host in self._seen().values():
            for raw in host["lanes"]:
                if raw["session"] in sessions and self._is_current(raw):
                    found[raw["session"]] = LaneState.model_validate(raw)
        return found | self._not_started(calls)

    def _is_current(self, raw: dict[str, Any]) -> bool:
        """A late heartbeat may have the state of a lane before it was reset."""
        return bool(raw["at_s"] >= self.reset_s.get(raw["session"], 0.0))

    def _not_started(self, calls: Sequence[LaneCall]) -> States:
        """Lanes that their hosts could not start, and why."""
        found: States = {}
        for call in calls:
            future = self.futures.get(call.session)
            if future is not None and future.status == "error":
                text = f"cannot be begun on {call.host}: {future.exception(timeout=5)}"
                refused = {"status": "refused", "message": text}
                found[call.session] = initial_state(call).model_copy(update=refused)
        return found

    def silent(self, calls: Iterable[LaneCall]) -> dict[str, float | None]:
        seen = self._seen()
        silent_s = {name: one["silent_s"] for name, one in seen.items()}
        there = _reporting(seen)
        hosts = dict.fromkeys(call.host for call in calls)
        return {host: silent_s.get(host) for host in hosts if host not in there}

    def stop(self, calls: Iterable[LaneCall], person: str = "") -> list[str]:
        """First no worker starts them any more, then those that run are ended."""
        calls = list(calls)
        self._forget(calls)
        _, missing = self._run_on_hosts(stop_lanes, calls, person)
        return missing

    def reset(self, calls: Iterable[LaneCall]) -> list[str]:
        calls = list(calls)
        self._forget(calls)
        answers, missing = self._run_on_hosts(reset_lanes, calls)
        for answer in answers:
            self.reset_s |= answer
        return missing

    def _forget(self, calls: Sequence[LaneCall]) -> None:
        def forget(client: Client) -> None:
            futures = [Future(_key(call), client) for call in calls]
            client.cancel(futures, force=True)

        self._ask(forget)
        for call in calls:
            self.futures.pop(call.session, None)

    def _run_on_hosts(
        self,
        function: Callable[..., Any],
        calls: Sequence[LaneCall],
        *more: str | bytes,
    ) -> tuple[list[Any], list[str]]:
        """Run it with the lanes' sessions on each of their hosts.

        Returns the answers, and the hosts that cannot be reached.
        """
        there = self._reporting()
        addresses = {name: host["address"] for name, host in there.items()}
        hosts = dict.fromkeys(call.host for call in calls)
        asked = [addresses[host] for host in hosts if host in addresses]
        sessions = [call.session for call in calls]
        answers: dict[str, Any] | None = {}
        if asked:
            words = (function, sessions, *more)
            answers = self._ask(lambda one: one.run(*words, workers=asked))
        if answers is None:
            return [], list(hosts)
        missing = [host for host in hosts if host not in addresses]
        return list(answers.values()), missing

    def refusals(self, calls: Sequence[LaneCall]) -> dict[str, str]:
        said = CALLS.dump_json(tuple(calls))
        answers, _ = self._run_on_hosts(refusals_here, calls, said)
        return {session: why for one in answers for session, why in one.items()}

    def delivered_now(
        self, calls: Sequence[LaneCall], place: str
    ) -> dict[str, Delivery]:
        answers, _ = self._run_on_hosts(delivered_here, calls, place)
        return {
            session: Delivery.model_validate(raw)
            for answer in answers
            for session, raw in answer.items()
        }

    def deliver(self, calls: Sequence[LaneCall], place: str) -> list[str]:
        _, missing = self._run_on_hosts(deliver_lanes, calls, place)
        return missing

    # ---- the scheduler

    def _seen(self) -> Seen:
        """All hosts of which the scheduler has ever heard, by name."""
        return self._ask(_ask_hosts) or {}

    def _reporting(self) -> Seen:
        """The workers that have reported lately."""
        return _reporting(self._seen())

    def _ask(self, question: Callable[[Client], Answer]) -> Answer | None:
        """None where the scheduler is lost; the next question connects again."""
        try:
            if self.client is None or self.client.status != "running":
                self.close()
                self.client = self._connect()
            return question(self.client)
        except (*SCHEDULER_LOST, ClusterError):
            self.close()
            return None


def _reporting(seen: Seen) -> Seen:
    return {
        name: one
        for name, one in seen.items()
        if one["silent_s"] < SILENT_S and not one["gone"]
    }


def _ask_hosts(client: Client) -> Seen:
    answer: Seen = client.sync(getattr(client.scheduler, HOSTS_OP))
    return answer


def _key(call: LaneCall) -> str:
    return f"lane-{call.session}"
