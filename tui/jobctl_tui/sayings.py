"""What has been said: the newest stands on the status line for a while, the tab of the daemon has what came before."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from jobctl.errors import JobctlError
from jobctl.reading.safe import cell
from jobctl_tui.host import Said

#: So much is kept.
_KEPT: Final = 200
#: What went wrong stands there for longer.
_SAID_MS: Final = 6_000
_TROUBLE_MS: Final = 15_000


class Sayings:
    """`renew` is called when there is something new to be shown."""

    def __init__(self, now_ms: Callable[[], int], renew: Callable[[], None]) -> None:
        self.kept: deque[Said] = deque(maxlen=_KEPT)
        self._now_ms = now_ms
        self._renew = renew

    def say(self, words: str, trouble: bool = False) -> None:
        self.kept.append(Said(self._now_ms(), cell(words), trouble))
        self._renew()

    def say_failed(self, words: str, error: JobctlError) -> None:
        self.say(f"{words}: {error.message}" + (f"; {error.hint}" if error.hint else ""), trouble=True)

    def all(self) -> Sequence[Said]:
        return tuple(self.kept)

    def last(self) -> Said | None:
        """What was said a moment ago."""
        if not self.kept:
            return None
        said = self.kept[-1]
        for_ms = _TROUBLE_MS if said.trouble else _SAID_MS
        return said if 0 <= self._now_ms() - said.at_ms < for_ms else None
