"""Keeps the runners up, and settles what they do not know: adoption after a start or the death of a runner."""

from collections.abc import Callable, Sequence

import structlog

from jobctl.clock import Clock
from jobctl.errors import Unreachable
from jobctl_daemon.decide import adoption
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.starting import Runners
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Running
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

#: Claims of one run that may come back because their daemon died: then it is the run that kills it.
_RETURNS_MOST = 5
_LOOK_AGAIN_MS = 1_000


class Rescue:
    """Woken when a connection to a runner is lost, and when claims may have been dropped by a service that failed.

    Its first pass is the adoption after a start.
    """

    name = "rescue"
    pace_ms = 0

    def __init__(
        self,
        store: Store,
        clock: Clock,
        pool: RunnerPool,
        runners: Runners,
        boot_id: str,
        ending: Ending,
        on_ready: Callable[[], None],
    ) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._pool = pool
        self._runners = runners
        self._boot_id = boot_id
        self._ending = ending
        self._on_ready = on_ready

    async def run_once(self) -> Pass:
        losses = self._pool.losses
        trouble = await self._runners.ensure()
        looked = await self._look_for_orphans()
        async with self._pool.handing_over:
            claimed = await self._store.running()
            if self._pool.losses != losses:
                return Pass()  # what is held is known only when no runner went meanwhile; that one's loss wakes us
            complete = looked and not self._pool.unheard()
            plan = adoption.plan(claimed, self._pool.held(), self._boot_id, complete=complete)
            self._pool.unjudged = len(plan.unjudged) + len(plan.unclaimed) + len(plan.lost)
            await self._give_back(plan.unclaimed)
            await self._lose(plan.lost)
            self._pool.unjudged = len(plan.unjudged)
            self._pool.adopted = True
        for run in plan.stops:
            self._pool.stop(adoption.attempt_id(run.run_id, run.fence), run.stop_wanted or "cancel", None)
        self._on_ready()
        if trouble is not None:
            raise trouble
        return Pass(did=len(plan.unclaimed) + len(plan.lost), next_ms=self._next_ms(looked))

    def _next_ms(self, looked: bool) -> int | None:
        """A runner that cannot be heard, or was not the only one to look, tells nobody when that is over."""
        if not looked or self._pool.locked:
            return self._clock.now_ms() + _LOOK_AGAIN_MS
        return None

    async def _look_for_orphans(self) -> bool:
        """Has one runner take over what dead ones left; whether one has.

        One that was asked and has not answered counts as unheard: it may have taken something over by now.
        """
        for link in sorted(self._pool.links.values(), key=lambda link: link.draining):
            if link.silent:
                continue
            try:
                await link.rescan()
            except Unreachable:
                continue
            if not link.rescan_busy:
                return True
        return False

    async def _give_back(self, runs: tuple[Running, ...]) -> None:
        if not runs:
            return
        now_ms = self._clock.now_ms()
        structlog.get_logger().info("runs.unclaimed", runs=[run.run_id for run in runs])
        claims = [(run.run_id, run.fence) for run in runs]
        why = "it was claimed, and nothing had been started"
        poison = set(await self._store.returned(claims, _RETURNS_MOST, now_ms, why))
        detail = f"the daemon died {_RETURNS_MOST} times while it started it"
        await self._end([run for run in runs if run.run_id in poison], "deadly", detail)

    async def _lose(self, runs: Sequence[Running]) -> None:
        if runs:
            structlog.get_logger().warning("runs.lost", runs=[run.run_id for run in runs])
            await self._end(runs, "lost", "the machine went down")

    async def _end(self, runs: Sequence[Running], cause: str, detail: str) -> None:
        if not runs:
            return
        now_ms = self._clock.now_ms()
        ended = [
            Result(run.run_id, run.fence, now_ms, started_ms=run.started_ms, cause=cause, detail=detail) for run in runs
        ]
        await self._ending.record(ended, now_ms)
