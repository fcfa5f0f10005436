"""Questions to file systems and directories that may never answer, asked off the loop with a time limit.

Each has a thread of its own that nobody waits for, neither when the time is up nor when the process ends. While one
hangs, its question is not asked again; and only so many hang at once.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from jobctl.errors import Unavailable

T = TypeVar("T")

_AT_ONCE: Final = 32


class Asides:
    """The questions of one service, by key."""

    def __init__(self) -> None:
        self._asked: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, key: str, question: Callable[[], T], within_s: float) -> T:
        """The answer, or what the question raises. `Unavailable`: there is none in time, or none came the last time."""
        if key in self._asked or len(self._asked) >= _AT_ONCE:
            raise Unavailable(f"{key} still does not answer", "see the file system that it is on")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._asked[key] = answer
        thread = threading.Thread(target=self._think, args=(key, question, answer, loop), name="aside", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            del self._asked[key]
            raise Unavailable("the daemon is at its limit of threads", "try again in a moment") from error
        done, _ = await asyncio.wait([answer], timeout=within_s)
        if not done:
            raise Unavailable(f"{key} does not answer within {within_s:g} s", "see the file system that it is on")
        return answer.result()

    def _think(
        self, key: str, question: Callable[[], T], answer: "asyncio.Future[T]", loop: asyncio.AbstractEventLoop
    ) -> None:
        said, error = None, None
        try:
            said = question()
        except BaseException as failure:  # noqa: BLE001 - it is the answer, to whoever asked
            error = failure
        try:
            loop.call_soon_threadsafe(self._answered, key, answer, said, error)
        except RuntimeError:
            return  # the loop is closed: the daemon has ended

    def _answered(self, key: str, answer: "asyncio.Future[Any]", said: object, error: BaseException | None) -> None:
        self._asked.pop(key, None)
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(said)
            return
        answer.set_exception(error)
        answer.exception()  # who asked may have gone
