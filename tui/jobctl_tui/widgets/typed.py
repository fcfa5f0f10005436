"""Fields that obey keys in the order in which they come."""

from typing import Any, cast

from textual import events
from textual.widget import Widget
from textual.widgets import Input


class InOrder:
    """Goes before `Input` or `TextArea`. Textual puts a letter into a field at once, and does what a binding says only
    when its key has come up to the application: of `^u` and a text behind it in one burst, it would take both away."""

    async def _on_key(self, event: events.Key) -> None:
        """Textual calls that of the field after this one, unless it is told not to."""
        field = cast("Widget", self)  # it is none of its own: Textual knows a widget by its first base
        screen: Any = field.screen
        if screen not in field.app.screen_stack:
            event.stop()
            event.prevent_default()
            getattr(screen, "pass_on", field.app.post_message)(events.Key(event.key, event.character))
            return
        screen.last_key = event.key
        takes = getattr(screen, "takes", None)
        if takes is not None and not event.is_printable and takes(event):
            event.stop()
            event.prevent_default()
            return
        for binding in field._bindings.key_to_bindings.get(event.key, ()):
            if await field.app.run_action(binding.action, field):
                event.stop()
                event.prevent_default()
                return


class Typed(InOrder, Input):
    """A line of text."""
