"""What somebody wants of the daemon, what is said of the answer, and how what was changed is taken back."""

from collections.abc import Callable
from typing import Any

from jobctl.client.sync import Client
from jobctl.errors import JobctlError, Unavailable
from jobctl_tui.host import Host
from jobctl_tui.live.undo import Undos
from jobctl_tui.stack import Stack


class Orders:
    """`errand` and `act` are those of the host."""

    def __init__(self, host: Host, stack: Stack) -> None:
        self._host = host
        self._stack = stack
        self._undos = Undos()

    def errand(
        self,
        words: str,
        work: Callable[[Client], Any],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None:
        self._host.errands.run(work, done, failed or (lambda error: self._host.say_failed(words, error)), group)

    def act(
        self,
        words: str,
        work: Callable[[Client], Any],
        undo: Callable[[Client], Any] | None = None,
        undo_words: str = "",
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
    ) -> None:
        refusal = self._refusal()
        if refusal is not None:
            (failed or (lambda error: self._host.say_failed(words, error)))(refusal)
            return

        def finished(answer: Any) -> None:
            if undo is not None:
                now_ms = self._host.clock.awake_ms()
                self._undos = self._undos.done(undo_words or f"taken back: {words}", undo, now_ms)
            self._host.say(words + ("; u takes it back" if undo is not None else ""))
            if done is not None:
                done(answer)
            getattr(self._stack.pane, "acted", lambda: None)()

        self.errand(words, work, finished, failed)

    def _refusal(self) -> JobctlError | None:
        """Why nothing can be changed just now."""
        if self._host.read_only:
            return Unavailable("these screens only read", "leave --read-only and read_only of ui.toml out")
        if self._host.feed.link.away:
            return Unavailable("the daemon does not answer", "what changes jobs is off until it does")
        return None

    def act_undo(self) -> None:
        undo = self._undos.newest(self._host.clock.awake_ms())
        if undo is None:
            self._host.say("there is nothing to take back")
            return
        self._undos = self._undos.taken(undo)
        self.act(undo.words, undo.work)
