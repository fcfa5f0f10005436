"""A screen that is held still, by somebody or by a terminal that takes nothing: what changes meanwhile is counted, and
told as one afterwards."""

from collections.abc import Callable

from jobctl.clock import Clock
from jobctl.reading.times import span
from jobctl_tui.live.changes import Changes
from jobctl_tui.stack import Stack
from jobctl_tui.words.glyphs import Glyphs


class Freezing:
    """`tell` is given what was held."""

    def __init__(self, stack: Stack, clock: Clock, tell: Callable[[Changes], None]) -> None:
        self._stack = stack
        self._clock = clock
        self._tell = tell
        self._since_ms: int | None = None
        self._held = Changes()
        self._count = 0

    @property
    def is_on(self) -> bool:
        """Somebody holds it still."""
        return self._since_ms is not None

    def hold(self, changes: Changes) -> None:
        self._held = self._held.and_then(changes)
        self._count += len(changes.events)

    def tell_held(self) -> None:
        held, self._held, self._count = self._held, Changes(), 0
        if held != Changes():
            self._tell(held)

    def act_freeze(self) -> None:
        if self._since_ms is None:
            self._since_ms = self._clock.awake_ms()
        else:
            self._since_ms = None
            self.tell_held()
        for screen in self._stack.screens:
            if hasattr(screen, "hold"):
                screen.hold(self.is_on)
        self._stack.renew_lines()

    def words(self, glyphs: Glyphs) -> str:
        if self._since_ms is None:
            return ""
        for_s = (self._clock.awake_ms() - self._since_ms) / 1000
        return f"{glyphs.frozen} frozen {span(for_s)}, {self._count} changes"
