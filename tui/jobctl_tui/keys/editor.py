"""What can be done while a job is written or changed. Letters are typed in a field, so what counts is on ctrl as well
and in the palette; `d` and its like work where nothing is typed."""

from typing import Final

from jobctl_tui.actions import Action, Risk, Scope

_S: Final = Scope.EDITOR
_U: Final = Risk.UNDONE

ACTIONS: Final[tuple[Action, ...]] = (
    Action("editor.save", ("ctrl+s",), "Review & save", _S, "what would change, and save it", 2, _U,
           cli="jobctl edit JOB"),
    Action("editor.next", ("tab",), "Next", _S, "the next field", 30, group="move"),
    Action("editor.previous", ("shift+tab",), "Previous", _S, "the field before", 92, group="move"),
    Action("editor.scroll.down", ("pagedown",), "Page down", _S, "further down the page", 97, group="move"),
    Action("editor.scroll.up", ("pageup",), "Page up", _S, "further up the page", 97, group="move"),
    Action("editor.policy", ("d",), "Clock policy", _S, "what happens at times that clock changes skip or repeat", 40),
    Action("editor.text", ("f2", "ctrl+o"), "$EDITOR", _S, "all of it as a text, edit in $EDITOR", 20),
    Action("editor.revert", ("ctrl+r",), "Revert field", _S, "the field as it was", 45),
    Action("editor.reveal", ("ctrl+t",), "Secrets", _S, "show or hide values of secret variables", 75, group="view"),
    Action("editor.back", ("escape",), "Back", _S, "back; asks only when something is changed", 10, group="move"),
)  # fmt: skip
