"""From due runs to started commands: admit, claim, hand over."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from jobctl.clock import Clock
from jobctl.errors import InvalidInput, Unavailable
from jobctl.states import Trigger
from jobctl_daemon.decide import admission
from jobctl_daemon.decide.adoption import attempt_id, in_order
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.execution.announcing import announcement
from jobctl_daemon.execution.identity import User
from jobctl_daemon.execution.login_env import LoginEnv
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.outgoing import Outgoing
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.execution.request import NOTHING, Host, start_message
from jobctl_daemon.execution.users import Users
from jobctl_daemon.execution.whom import confirmed, whom
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Claim
from jobctl_daemon.services.ending import Ending
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

ADMIT_BATCH = 100
#: Claims of one commit: small enough that the first commands start while the next are being claimed.
CLAIM_BATCH = 100
#: What is started after its time on purpose says nothing about how quick the daemon is; nor does what had to wait for
#: an earlier run, or in a queue with a limit.
_ON_TIME = frozenset({Trigger.SCHEDULE, Trigger.MANUAL})
#: Runs remembered because they had to wait.
_WAITED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Node:
    """This daemon, as attempts name it."""

    name: str
    boot_id: str
    build: str


class Dispatch:
    """Woken when runs are due, when slots come free, and when a runner is there again."""

    name = "dispatch"
    pace_ms = 10

    def __init__(
        self,
        store: Store,
        clock: Clock,
        pool: RunnerPool,
        logs: LogFiles,
        host: Host,
        node: Node,
        again: StartAgain,
        ending: Ending,
        outgoing: Outgoing | None = None,
    ) -> None:
        self.wake = Wake()
        self.slots = 1
        self._store = store
        self._clock = clock
        self._pool = pool
        self._logs = logs
        self.host = host
        self._node = node
        self._again = again
        self._ending = ending
        self._outgoing = outgoing
        self._users = Users(clock)
        self.login_env = LoginEnv()
        self._waited: set[int] = set()
        self._look = True
        pool.on_short = self.wake.set
        self.held: Callable[[], bool] = _never
        """Whether nothing new may be started, for want of room."""

    def due(self) -> None:
        """Something may be due: the next pass admits before it claims."""
        self._look = True
        self.wake.set()

    async def run_once(self) -> Pass:
        if self.held():
            return Pass()
        now_ms = self._clock.now_ms()
        admitted = 0
        if self._look:
            self._look = False
            admitted = await self._admit(now_ms)
        claimed = await self._claim(now_ms)
        if admitted == ADMIT_BATCH:
            self._look = True
        return Pass(did=admitted + claimed, again=self._look or claimed == CLAIM_BATCH)

    async def _admit(self, now_ms: int) -> int:
        pending = await self._store.pending(now_ms, ADMIT_BATCH)
        if not pending:
            return 0
        answers = admission.admit(pending, now_ms)
        admitted = await self._store.admit(answers, now_ms)
        for run_id, fence in admitted.stops:
            self._pool.stop(attempt_id(run_id, fence), "cancel", None)
        if len(self._waited) > _WAITED_MAX:  # most of them were cancelled or skipped, and never claimed
            self._waited.clear()
        self._waited.update(answer.run_id for answer in answers if answer.waits)
        # One that found its way free by now is not marked as waiting: it is admitted by the next look.
        self._look = self._look or admitted.waiting < sum(answer.waits for answer in answers)
        return len(pending)

    async def _drop_late(self, now_ms: int) -> None:
        """What waited for a slot beyond its window is passed over by claims, and so the last to be looked at."""
        late = await self._store.too_late(now_ms, ADMIT_BATCH)
        if late:
            await self._store.admit([admission.too_late(run) for run in late], now_ms)

    async def _claim(self, now_ms: int) -> int:
        if self._pool.busy or not self._pool.adopted or not self._pool.takers(self._node.build):
            return 0
        async with self._pool.handing_over:
            slots = self.slots - self._pool.taken
            free = min(slots, CLAIM_BATCH)
            if free <= 0:
                return 0
            self._pool.unjudged += free  # if this fails, so many may be claimed, until adoption has looked
            shared = slots if self.host.user.uid == 0 else None
            claims = await self._store.claim(now_ms, free, self._node.name, self._node.boot_id, shared)
            await self._users.ask(self._accounts(claims))
            await self._hand_over([claim for claim in claims if claim.execution.sends is None], now_ms)
            await self._post([claim for claim in claims if claim.execution.sends is not None], now_ms)
            self._pool.unjudged -= free
        if not claims:
            await self._drop_late(now_ms)
        return len(claims)

    async def _post(self, claims: list[Claim], now_ms: int) -> None:
        """Starts mails, last: their messages are written before."""
        if claims:
            assert self._outgoing is not None
            await asyncio.to_thread(self._outgoing.write, claims)
            await self._hand_over(claims, now_ms)

    async def _hand_over(self, claims: list[Claim], now_ms: int) -> None:
        """Starts what can be started; what cannot is failed or given back, each claim by itself."""
        failed: list[Result] = []
        refused: list[tuple[int, int]] = []
        why = ""
        for claim in in_order(claims):
            try:
                self._start(claim)
            except (OSError, Unavailable) as error:
                why = f"{error}"
                refused.append((claim.run_id, claim.fence))
            except Exception as error:  # noqa: BLE001 - a claim that cannot be worded must not keep the others
                detail = error.message if isinstance(error, InvalidInput) else f"{type(error).__name__}: {error}"
                failed.append(Result(claim.run_id, claim.fence, now_ms, cause="spawn_error", detail=detail))
        if failed:
            await self._ending.record(failed, now_ms)
        if refused:
            await self._store.unclaim(refused, self._again.refused(len(refused), why), now_ms, why)

    def _start(self, claim: Claim) -> None:
        """Hands one claim to a runner. OSError and `Unavailable`: not now; anything else: never."""
        if not self._pool.takers(self._node.build):
            raise Unavailable("there is no runner", "it is being started")
        if claim.unreadable is not None:
            raise InvalidInput(claim.unreadable)
        user = self._user_of(claim)
        log = self._logs.create_dir(claim.run_id, claim.fence)
        login = self.login_env.variables() if claim.execution.login_env else NOTHING
        message = start_message(claim, self.host, user, log, login)
        if self._outgoing is not None and (letter := self._outgoing.given(claim)) is not None:
            message["stdin"] = letter
        measured = claim.trigger in _ON_TIME and not claim.limited and claim.run_id not in self._waited
        self._waited.discard(claim.run_id)
        due_ms = claim.due_ms if measured else None
        self._pool.start(message, due_ms, self._node.build, announcement(claim, user.name), claim.owner_uid)

    def _accounts(self, claims: list[Claim]) -> set[str]:
        """The names that must be looked up."""
        names = set()
        for claim in claims:
            with suppress(InvalidInput):  # it is told when the claim is started
                wanted = whom(claim, self.host.user)
                if wanted is not None:
                    names.add(wanted.name)
        return names

    def _user_of(self, claim: Claim) -> User:
        """Whom the command runs as; `InvalidInput`: as nobody who is there."""
        wanted = whom(claim, self.host.user)
        if wanted is None:
            return self.host.user
        return confirmed(wanted, self._users.get(wanted.name), self._clock.now_ms())


def _never() -> bool:
    return False
