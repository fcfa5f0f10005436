"""Whom a key reaches that was pressed: the field that is typed into, one that was on its way, or an action."""

from textual import events
from textual.widget import Widget
from textual.widgets import Input, TextArea

from jobctl_tui.actions import Scope
from jobctl_tui.doers import Doers
from jobctl_tui.keys import Keymap
from jobctl_tui.screens.framed import ALWAYS, is_text
from jobctl_tui.stack import Stack


class Presses:
    """In the order in which they come."""

    def __init__(self, stack: Stack, doers: Doers, keymap: Keymap) -> None:
        self._stack = stack
        self._doers = doers
        self._keymap = keymap

    def came(self, event: events.Key) -> None:
        """Whoever has the focus now is meant, however late it is obeyed."""
        event.meant_for = self._stack.typed_into  # type: ignore[attr-defined]

    def before_field(self, key: str) -> bool | None:
        """What is there always comes before the field that is typed into; None: whoever else has a use for it."""
        action = self._keymap.find(key, (Scope.EVERYWHERE,))
        if action is not None and action.id in ALWAYS and len(key) > 1:
            return self._doers.take(action)
        action = self._keymap.find(key, self._stack.scopes)
        if action is not None and action.scope is Scope.EDITOR and not self._edits(key):
            # Who types on fast, while the next field is not there yet, means the next field.
            return not is_text(key) and self._doers.take(action)
        return None

    async def obey(self, event: events.Key) -> None:
        """By the actions of the screen. One that was typed ahead, before the screen or the field came that it is meant
        for, goes there."""
        await self._stack.settled()
        now = self._stack.typed_into
        before: Widget = getattr(event, "meant_for", now)
        if before is not now and (_is_field(now) or not before.is_attached or before.screen is not now.screen):
            event.prevent_default()
            now._forward_event(events.Key(event.key, event.character))
            return
        if self._edits(event.key):
            return
        action = self._keymap.find(event.key, self._stack.scopes)
        if action is not None and self._doers.take(action):
            event.prevent_default()
            event.stop()
            await self._stack.settled()

    def _edits(self, key: str) -> bool:
        """Whether a field that is typed into has a use of its own for the key."""
        widget = self._stack.typed_into
        return _is_field(widget) and key in widget._bindings.key_to_bindings


def _is_field(widget: Widget) -> bool:
    return isinstance(widget, Input | TextArea)
