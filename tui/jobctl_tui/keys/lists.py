"""What can be done on every list."""

from typing import Final

from jobctl_tui.actions import Action, Scope

_S: Final = Scope.LISTS

ACTIONS: Final[tuple[Action, ...]] = (
    Action("open", ("enter",), "Open", _S, "open what is under the cursor", 10, group="move"),
    Action("down", ("j", "down"), "Down", _S, "the next row", 96, group="move"),
    Action("up", ("k", "up"), "Up", _S, "the row before", 96, group="move"),
    Action("top", ("g", "home"), "Top", _S, "the first row", 96, group="move"),
    Action("bottom", ("G", "end"), "Bottom", _S, "the last row", 96, group="move"),
    Action("half.down", ("ctrl+d",), "½ down", _S, "half a page down", 97, group="move"),
    Action("half.up", ("ctrl+u",), "½ up", _S, "half a page up", 97, group="move"),
    Action("page.down", ("pagedown", "ctrl+f"), "Page down", _S, "a page down", 97, group="move"),
    Action("page.up", ("pageup", "ctrl+b"), "Page up", _S, "a page up", 97, group="move"),
    Action("filter", ("slash",), "Filter", _S, "narrow it down: words, state:failed, next<1h …", 30, group="find"),
    Action("mark", ("space",), "Mark", _S, "mark the row, to act on several at once", 32, group="find"),
    Action("mark.range", ("V",), "Range", _S, "mark from the last marked row to here", 74, group="find"),
    Action("mark.all", ("asterisk",), "Mark all", _S, "mark all that the filter shows, or none", 75, group="find"),
    Action("views", ("v",), "Views", _S, "saved views: a filter and an order under a name", 65, group="find"),
    Action("sort", ("s",), "Sort", _S, "by attention, name, next, last, state, duration", 62, group="view"),
    Action("reverse", ("S",), "Reverse", _S, "the same order backwards", 76, group="view"),
    Action("resort", ("full_stop",), "Re-sort", _S, "put the rows in order now", 77, group="view"),
    Action("drawer", ("d",), "Details", _S, "show or hide the details beside the list", 63, group="view"),
)  # fmt: skip
