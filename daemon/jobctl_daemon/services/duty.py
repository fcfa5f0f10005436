"""One kind of what retention removes, in bounded steps."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

Aside = Callable[..., Awaitable[Any]]
"""Calls a function that blocks on the disk, off the loop: `asyncio.to_thread`."""


class Step(NamedTuple):
    """What a step did, and whether the duty has more to do."""

    did: int
    more: bool


class Duty(Protocol):
    """A look goes through the duties one after another."""

    def begin(self) -> None:
        """A look begins."""
        ...

    async def step(self, limit: int, /) -> Step:
        """About `limit` rows or files."""
        ...
