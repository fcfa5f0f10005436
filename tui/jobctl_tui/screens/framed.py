"""A screen with the two lines that every screen has: how things are above, what keys do below."""

from collections.abc import Iterable
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.keys import key_to_character
from textual.widget import Widget
from textual.widgets import Input, TextArea

from jobctl_tui.actions import Action, Scope
from jobctl_tui.live.changes import Changes
from jobctl_tui.screens.once import Once
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.keybar import KeyBar
from jobctl_tui.widgets.statusline import Status, StatusLine
from jobctl_tui.words import heading

#: Also while somebody types into a field or a question is asked.
ALWAYS: Final = ("quit", "suspend", "repaint")


def left_by(focused: Widget | None, actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """The actions with the keys that whoever has the focus leaves to them: in a field letters are letters."""
    if not isinstance(focused, Input | TextArea):
        return actions
    own = focused._bindings.key_to_bindings
    found = []
    for action in actions:
        keys = (key for key in action.keys if not is_text(key) and (key not in own or action.id in ALWAYS))
        found.append(action._replace(keys=tuple(keys)))
    return tuple(action for action in found if action.keys)


def is_text(key: str) -> bool:
    """Whether it puts a character into a field."""
    character = key_to_character(key)
    return character is not None and character.isprintable()


class Framed(Once[None]):
    """Whoever derives from it gives the `body`, names its `SCOPES`, and is a `Pane`. `changed` and `tick` of here are
    to be called from there."""

    BINDINGS: ClassVar[list[BindingType]] = []
    SCOPES: ClassVar[tuple[Scope, ...]] = (Scope.EVERYWHERE,)

    _shown_actions: tuple[Action, ...] | None = None

    def __init__(self) -> None:
        super().__init__()
        self._line, self._keys = StatusLine(id="status"), KeyBar(id="keys")

    def body(self) -> Iterable[Widget]:
        """What stands between the two lines."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield self._line
        yield from self.body()
        yield self._keys

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Where a key is looked up, the nearest first. While the daemon is away, what helps then comes first."""
        down = (Scope.DOWN,) if self.host.feed.link.state in ("down", "refused") else ()
        return down + self.SCOPES

    def on_mount(self) -> None:
        self.renew_lines()

    def on_screen_resume(self) -> None:
        self.renew_lines()

    def changed(self, changes: Changes) -> None:
        if changes.status or changes.link or changes.reset:
            self.renew_lines()

    def tick(self) -> None:
        self.renew_lines()

    def renew_lines(self) -> None:
        """Both are painted where they differ."""
        if not self.is_mounted or not self.display:  # it comes, or it goes
            return
        self._line.show(self._status())
        actions = left_by(self.focused, self._labelled(self.host.actions_here()))
        if actions != self._shown_actions:
            self._shown_actions = actions
            self._keys.show(actions, self.host.glyphs)

    def _labelled(self, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        """With the words of what is shown, where it has some for what is under its cursor."""
        pane = getattr(self, "pane", self)
        label = getattr(pane, "label", None)
        if label is None or not pane.is_mounted:  # a tab that comes has nothing under its cursor yet
            return actions
        labels = ((action, label(action)) for action in actions)
        return tuple(
            action if words is None else action._replace(label=words) for action, words in labels if words != ""
        )

    def _status(self) -> Status:
        host = self.host
        now_ms = host.feed.now_ms()
        counters = heading.counters(host.feed.status)
        frozen = host.frozen_words()
        name, place = heading.who(host.feed.status, host.hostname)
        return Status(
            name,
            Cell(*heading.link_cell(host.feed.link, now_ms, host.glyphs, host.when)),
            tuple(Cell(*counter) for counter in ([(frozen, "-key"), *counters] if frozen else counters)),
            host.when.clock(now_ms),
            self._said(),
            place,
        )

    def _said(self) -> Cell | None:
        said = self.host.said_last()
        return None if said is None else Cell(said.words, "-failed" if said.trouble else "-key")

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        self.host.take(event.action)
