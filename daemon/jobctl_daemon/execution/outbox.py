"""Starts on their way to a runner. Runners start some hundred a second; owners take turns, so that nobody waits behind
all that somebody else has claimed."""

from collections import deque
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]


class Outbox:
    """First in, first out for each owner."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[int, deque[Message]] = {}
        """The owner whose turn it is comes first."""

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def __iter__(self) -> Iterator[Message]:
        for waiting in self._of.values():
            yield from waiting

    def add(self, message: Message, owner: int) -> None:
        self._of.setdefault(owner, deque()).append(message)

    def next(self) -> Message:
        """The one whose turn it is, taken out. `StopIteration` when there is none."""
        owner = next(iter(self._of))
        waiting = self._of.pop(owner)
        message = waiting.popleft()
        if waiting:
            self._of[owner] = waiting
        return message

    def withdraw(self, attempt: str) -> Message:
        """This one, taken out. `KeyError` when it is not there."""
        for owner, waiting in self._of.items():
            for message in waiting:
                if message["id"] == attempt:
                    waiting.remove(message)
                    if not waiting:
                        del self._of[owner]
                    return message
        raise KeyError(attempt)

    def clear(self) -> None:
        self._of.clear()
