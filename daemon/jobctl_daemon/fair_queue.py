"""One question at a time, where accounts take turns: however many one has asked, another waits for one of them.

Who operates the daemon (root, the admin group) goes before the others, though not twice in a row while they wait.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from jobctl_daemon.rows import Caller

_ROOT: Final = 0


class _Account(NamedTuple):
    uid: int
    operates: bool


class FairQueue:
    """For one event loop. Whoever has entered must leave, and nobody else does meanwhile."""

    def __init__(self) -> None:
        self._waiting: dict[_Account, deque[asyncio.Future[None]]] = {}
        self._order: deque[_Account] = deque()
        """Those of whom one is waiting and none is inside: whoever is inside stands behind all of them."""
        self._inside: _Account | None = None
        self._last_operates = False

    async def enter(self, caller: Caller) -> None:
        """Returns when it is this one's turn. Who is cancelled meanwhile need not leave."""
        account = _Account(caller.uid, caller.all_owners or caller.uid == _ROOT)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if account not in self._waiting and account != self._inside:
            self._order.append(account)
        self._waiting.setdefault(account, deque()).append(turn)
        if self._inside is None:
            self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was let in, and will not come
                self.leave()
            raise

    def leave(self) -> None:
        """Lets the next one in."""
        account, self._inside = self._inside, None
        if account in self._waiting:
            self._order.append(account)
        self._next()

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Enters, and leaves at the end."""
        await self.enter(caller)
        try:
            yield
        finally:
            self.leave()

    def _next(self) -> None:
        while self._order:
            account = next((each for each in self._order if each.operates is not self._last_operates), self._order[0])
            self._order.remove(account)
            turns = self._waiting[account]
            while turns and turns[0].done():  # gone away
                turns.popleft()
            turn = turns.popleft() if turns else None
            if not turns:
                del self._waiting[account]
            if turn is not None:
                self._inside, self._last_operates = account, account.operates
                turn.set_result(None)
                return
