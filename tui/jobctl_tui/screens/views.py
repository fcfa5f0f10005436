"""Choosing a saved view, saving the one that is shown, and removing one."""

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from jobctl.errors import JobctlError
from jobctl.reading.safe import cell
from jobctl.reading.width import width
from jobctl_tui.live.views import View, Views
from jobctl_tui.screens.lines import Line, Lines
from jobctl_tui.screens.once import Once
from jobctl_tui.widgets.typed import Typed

_SHOWN = 12
_NAME = 16


class ChooseView(Once[Any], ModalScreen[Any]):
    """Is left with a `View`, or with None. The arrows or j and k choose, Enter takes; s saves, x removes."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = []
    DEFAULT_CSS: ClassVar[str] = """
    ChooseView { align: center middle; background: transparent; }
    ChooseView > Vertical {
        width: 72; max-width: 100%; height: auto; max-height: 100%; border: solid $rule; padding: 0 1;
        background: $background;
    }
    ChooseView Lines { height: auto; }
    ChooseView Input { height: 1; border: none; padding: 0; background: $background; }
    """

    def __init__(self, views: Views, shown: View) -> None:
        super().__init__()
        views.renew()
        self._views = views
        self._shown_view = shown
        self._at = next((at for at, view in enumerate(views.all.values()) if view == shown), 0)
        self._error = ""
        self._naming = False
        self.field = Typed(compact=True, placeholder="a name for what is shown now", select_on_focus=False)
        self._names, self._below = Lines(id="views"), Lines(id="view-keys")

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Views"
            yield self._names
            yield self.field
            yield self._below

    def on_mount(self) -> None:
        self.field.display = False
        self._renew()

    @property
    def names(self) -> list[str]:
        return list(self._views.all)

    def _renew(self) -> None:
        lines = self._listed()
        self._names.styles.height = len(lines)
        self._names.show(lines)
        below: list[Line] = [[], self._keys()]
        if self._error:
            below.insert(1, [(self._error, "-failed")])
        self._below.styles.height = len(below)
        self._below.show(below)

    def _listed(self) -> list[Line]:
        views = list(self._views.all.items())
        first = max(0, min(self._at - _SHOWN // 2, len(views) - _SHOWN))
        lines: list[Line] = []
        for at, (name, view) in enumerate(views[first : first + _SHOWN], first):
            here = at == self._at
            name = cell(name)
            lines.append([
                ("> " if here else "  ", "-key"),
                (name + " " * max(1, _NAME - width(name)), "-bold" if here else ""),
                (cell(view.query) or "all", ""),
                (f"   by {cell(view.sort)}{', reversed' if view.reverse else ''}", "-dim"),
            ])  # fmt: skip
        return lines

    def _keys(self) -> Line:
        if self._naming:
            return [("Enter", "-key"), (" saves it   ", ""), ("esc", "-key"), (" does not", "")]
        return [("Enter", "-key"), (" Show  ", ""), ("s", "-key"), (" Save what is shown  ", ""), ("x", "-key"),
                (" Remove  ", ""), ("esc", "-key"), (" Close", "")]  # fmt: skip

    # ── keys ───────────────────────────────────────────────
    def takes(self, event: events.Key) -> bool:
        keys = {"escape": self._leave} if self._naming else {
            "escape": self._leave, "q": self._leave, "down": self._down, "j": self._down, "up": self._up, "k": self._up,
            "enter": self._take, "s": self._save, "x": self._remove,
        }  # fmt: skip
        if event.key not in keys:
            return False
        self._error = ""
        keys[event.key]()
        return True

    def _down(self) -> None:
        self._at = min(self._at + 1, max(0, len(self.names) - 1))
        self._renew()

    def _up(self) -> None:
        self._at = max(0, self._at - 1)
        self._renew()

    def _take(self) -> None:
        if self.names:
            self.dismiss(self._views.all[self.names[self._at]])

    def _leave(self) -> None:
        if self._naming:
            self._naming = self.field.display = False
            self.set_focus(None)
            self._renew()
        else:
            self.dismiss(None)

    def _save(self) -> None:
        self._naming = self.field.display = True
        self.field.value = ""
        self.set_focus(self.field)
        self._renew()

    def _remove(self) -> None:
        if self.names:
            self._kept(lambda: self._views.remove(self.names[self._at]))
            self._at = min(self._at, max(0, len(self.names) - 1))
            self._renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        name = event.value
        if self._kept(lambda: self._views.save(name, self._shown_view)):
            self._at = max(0, self.names.index(name.strip()))
            self._leave()
        self._renew()

    def _kept(self, change: Any) -> bool:
        """Whether it went well; else why not is shown."""
        try:
            change()
        except JobctlError as error:
            self._error = cell(f"{error.message}; {error.hint}")
        except OSError as error:
            self._error = cell(f"it cannot be kept: {error.strerror or error}")
        else:
            return True
        return False
