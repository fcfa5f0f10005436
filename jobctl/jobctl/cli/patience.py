"""Going on after the daemon went away: said once, tried again for as long as it takes."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from jobctl.cli.session import Session
from jobctl.errors import Unavailable, Unreachable

_FIRST_S: Final = 0.05
_LONGEST_S: Final = 2.0

T = TypeVar("T")


class Patience:
    """Keeps asking while nobody answers. `out_of_time` ends it early, with the error."""

    def __init__(self, session: Session, out_of_time: Callable[[], bool] = lambda: False) -> None:
        self._session = session
        self._out_of_time = out_of_time
        self._pause_s = 0.0

    def ask(self, question: Callable[[], T]) -> T:
        """The answer to `question`, however long the daemon is away."""
        while True:
            try:
                answer = question()
            except (Unreachable, Unavailable) as error:
                if self._out_of_time():
                    raise
                self.missed(error)
                continue
            self.answered()
            return answer

    def missed(self, error: Exception) -> None:
        """Wait a little longer each time; the first time says so."""
        if not self._pause_s:
            self._session.render.word(f"{error}; the command goes on, waiting for the daemon")
        self._pause_s = min(max(_FIRST_S, self._pause_s * 2), _LONGEST_S)
        time.sleep(self._pause_s)

    def answered(self) -> None:
        if self._pause_s:
            self._session.render.word("the daemon is back")
        self._pause_s = 0.0
