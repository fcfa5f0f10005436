"""A screen that comes and goes once: what is asked for it is told to nobody when it has gone."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType

from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl_tui.host import Shell

T = TypeVar("T")


class Once(Screen[ScreenResultType]):
    """What it tells its children of is kept: they may be told before they are on it, and after it has gone."""

    last_key: str = ""
    """The key that it got last; once it has gone, the one by which it went."""

    @property
    def host(self) -> Shell:
        return cast("Shell", self.app)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            if self.has_gone:
                self.pass_on(event)
                return
            self.last_key = event.key
        await super().on_event(event)

    def pass_on(self, event: events.Key) -> None:
        """A key that was typed behind the one by which it went: whoever is there now gets it from the application. The
        same key again is nobody's: who holds it down, or presses it twice, does not mean what lies below."""
        if event.key != self.last_key:
            self.app.post_message(events.Key(event.key, event.character))

    def takes(self, event: events.Key) -> bool:  # noqa: ARG002 - of those that have keys of their own
        """Does what the key means here. A field asks before it gives a key on: what is typed behind it is for whoever
        is there then."""
        return False

    def on_key(self, event: events.Key) -> None:
        if self.takes(event):
            event.stop()
            event.prevent_default()

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Two keys may come in one read: the second finds it gone, and what lies below it is not meant."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()  # type: ignore[no-untyped-call]

    @property
    def has_gone(self) -> bool:
        """Left, or not on the screen yet; what another stands above is still there."""
        return self not in self.app.screen_stack

    def errand(
        self,
        words: str,
        work: Callable[[Client], Any],
        done: Callable[[Any], None],
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None:
        """As that of the host, whose answer is nobody's when the screen has gone."""
        told = failed or (lambda error: self.host.say_failed(words, error))
        self.host.errand(words, work, self._still(done), self._still(told), group)

    def act(
        self,
        words: str,
        work: Callable[[Client], Any],
        undo: Callable[[Client], Any],
        undo_words: str,
        done: Callable[[Any], None],
        failed: Callable[[JobctlError], None],
    ) -> None:
        """As that of the host, which says what has become of it when the screen has gone."""

        def not_done(error: JobctlError) -> None:
            if self.has_gone:
                self.host.say_failed(words, error)
            else:
                failed(error)

        self.host.act(words, work, undo, undo_words, self._still(done), not_done)

    def _still(self, call: Callable[[T], None]) -> Callable[[T], None]:
        return lambda told: None if self.has_gone else call(told)
