"""Lanes on other hosts, by way of their workers.

The scheduler only dispatches: what a lane is and how far it came is on its host. So
when the scheduler, a worker or this process is lost, the lanes are begun once more
as they were, and each finds itself under way or done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import dask
from distributed import Client, Future, fire_and_forget

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.hosts.servers import resource
from ioplan.cluster.hosts.tls import security_for
from ioplan.cluster.hosts.worker_api import check_versions, let_again, stop_lanes, work
from ioplan.cluster.jobs.executors import States
from ioplan.cluster.jobs.lane import LaneCall, LaneState, unheard
from ioplan.cluster.sync.channel import Links

CONNECT_S = 10
SILENT_S = 15
"""Workers are heard of every second; in a lab of hundreds, every few."""
LOST = (OSError, TimeoutError, RuntimeError, ValueError)
"""How distributed's client says that the scheduler is gone."""

Answer = TypeVar("Answer")


class Rack:
    """A lab's workers. Methods raise ClusterError."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.futures: dict[str, Future] = {}
        self.again_s: dict[str, float] = {}
        self.client: Client | None = self._connected()

    def _connected(self) -> Client:
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_S}):
                return Client(
                    self.address,
                    security=security_for(self.address),
                    timeout=CONNECT_S,
                    set_as_default=False,
                )
        except (OSError, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no answer"
            raise ClusterError(
                f"the lab's scheduler {self.address} cannot be reached ({reason}); "
                f"start it with `ioplan lab up`; lanes that were begun go on"
            ) from error

    def close(self) -> None:
        if self.client:
            self.client.close(timeout=2)
        self.client = None
        self.futures = {}

    def hosts(self) -> set[str]:
        """Those whose workers are heard of."""
        return set(self._by_host(self._workers()))

    def links(self, hosts: Sequence[str], session: str) -> Links:
        """Talk to these hosts, which are there and of this version."""
        self._check_hosts(hosts)
        workers = {one["name"]: at for at, one in self._workers().items()}
        if self.client is None or set(hosts) - set(workers):
            raise ClusterError(f"the workers of {', '.join(hosts)} have gone just now")
        return Links(self.client, {one: workers[one] for one in hosts}, session)

    # ---- what goes on

    def check(self, calls: Sequence[LaneCall]) -> None:
        """All hosts are there, and are of this version."""
        self._check_hosts(list(dict.fromkeys(call.host for call in calls)))

    def _check_hosts(self, hosts: Sequence[str]) -> None:
        there = self._by_host(self._workers())
        if missing := [host for host in hosts if host not in there]:
            raise ClusterError(
                f"no worker is heard of on: {', '.join(missing)}; start them with "
                f"`ioplan lab up`"
            )
        for host in hosts:
            check_versions(host, there[host]["metrics"].get("versions", {}))

    def begin(self, calls: Sequence[LaneCall]) -> None:
        for call in calls:
            if call.session not in self.futures:
                self._ask(partial(self._submit, call))

    def _submit(self, call: LaneCall, client: Client) -> None:
        future = client.submit(
            work,
            call.model_dump_json(),
            key=_key(call),
            resources={resource(call.host): 1},
        )
        fire_and_forget(future)
        self.futures[call.session] = future

    def look(self, calls: Sequence[LaneCall]) -> States:
        sessions = {call.session for call in calls}
        found: States = {}
        for worker in self._workers().values():
            for raw in worker["metrics"].get("lanes", ()):
                if raw["session"] in sessions and self._is_news(raw):
                    found[raw["session"]] = LaneState.model_validate(raw)
        return found | self._not_begun(calls)

    def _is_news(self, raw: dict[str, Any]) -> bool:
        """A heartbeat may still tell how a lane ended before it was let again."""
        return bool(raw["at_s"] >= self.again_s.get(raw["session"], 0.0))

    def _not_begun(self, calls: Sequence[LaneCall]) -> States:
        """Lanes that their hosts could not begin, and why."""
        found: States = {}
        for call in calls:
            future = self.futures.get(call.session)
            if future is not None and future.status == "error":
                text = f"cannot be begun on {call.host}: {future.exception(timeout=5)}"
                refused = {"status": "refused", "message": text}
                found[call.session] = unheard(call).model_copy(update=refused)
        return found

    def missing(self, calls: Iterable[LaneCall]) -> list[str]:
        there = self.hosts()
        hosts = dict.fromkeys(call.host for call in calls)
        return [host for host in hosts if host not in there]

    def stop(self, calls: Iterable[LaneCall]) -> list[str]:
        """First no worker begins them any more, then those that go on end."""
        calls = list(calls)
        self._forget(calls)
        _, lost = self._tell(stop_lanes, calls)
        return lost

    def again(self, calls: Iterable[LaneCall]) -> None:
        calls = list(calls)
        self._forget(calls)
        answers, lost = self._tell(let_again, calls)
        for answer in answers:
            self.again_s |= answer
        if lost:
            raise ClusterError(
                f"nothing is heard of {', '.join(lost)}; start their workers with "
                f"`ioplan lab up`"
            )

    def _forget(self, calls: Sequence[LaneCall]) -> None:
        def forget(client: Client) -> None:
            futures = [Future(_key(call), client) for call in calls]
            client.cancel(futures, force=True)

        self._ask(forget)
        for call in calls:
            self.futures.pop(call.session, None)

    def _tell(
        self, what: Callable[..., Answer], calls: Sequence[LaneCall]
    ) -> tuple[list[Answer], list[str]]:
        """Tell the hosts of these lanes; their answers, and who cannot be told."""
        workers = self._workers()
        heard = {worker["name"]: address for address, worker in workers.items()}
        hosts = dict.fromkeys(call.host for call in calls)
        there = [heard[host] for host in hosts if host in heard]
        sessions = [call.session for call in calls]
        answers: dict[str, Answer] | None = {}
        if there:
            answers = self._ask(lambda one: one.run(what, sessions, workers=there))
        if answers is None:
            return [], list(hosts)
        return list(answers.values()), [host for host in hosts if host not in heard]

    # ---- the scheduler

    def _workers(self) -> dict[str, Any]:
        """Those that were heard of lately, by address."""
        info = self._ask(lambda client: client.scheduler_info(n_workers=-1)) or {}
        now_s = time.time()
        return {
            address: worker
            for address, worker in info.get("workers", {}).items()
            if now_s - worker["last_seen"] < SILENT_S
        }

    def _by_host(self, workers: dict[str, Any]) -> dict[str, Any]:
        return {worker["name"]: worker for worker in workers.values()}

    def _ask(self, question: Callable[[Client], Answer]) -> Answer | None:
        """None where the scheduler is lost; the next question tries it again."""
        try:
            if self.client is None or self.client.status != "running":
                self.close()
                self.client = self._connected()
            return question(self.client)
        except (*LOST, ClusterError):
            self.close()
            return None


def _key(call: LaneCall) -> str:
    return f"lane-{call.session}"
