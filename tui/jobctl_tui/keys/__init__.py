"""All actions of all scopes, and which key means which of them where."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from jobctl.errors import InvalidInput
from jobctl_tui.actions import Action, Scope
from jobctl_tui.keys import daemon, dead, down, editor, everywhere, jobs, lists, run, runs, upcoming
from jobctl_tui.words.keys import named

ACTIONS: Final[tuple[Action, ...]] = tuple(
    action
    for scope in (everywhere, lists, jobs, runs, upcoming, dead, daemon, run, editor, down)
    for action in scope.ACTIONS
)
_IN_ASCII: Final = str.maketrans({"…": "...", "½": "1/2"})
BY_ID: Final[Mapping[str, Action]] = {action.id: action for action in ACTIONS}


class Keymap:
    """The actions of a screen by their keys; `remapped` are the keys of ui.toml by ids of actions."""

    def __init__(
        self, remapped: Mapping[str, Iterable[str]] | None = None, *, read_only: bool = False, ascii_only: bool = False
    ) -> None:
        for ident in remapped or {}:
            if ident not in BY_ID:
                raise InvalidInput(f"[keys]: there is no action {ident!r}", "jobctl ui --print-keys lists them")
        keys = {ident: tuple(map(named, texts)) for ident, texts in (remapped or {}).items()}
        self.actions: tuple[Action, ...] = tuple(
            action._replace(
                keys=keys.get(action.id, action.keys),
                label=action.label.translate(_IN_ASCII) if ascii_only else action.label,
                help=action.help.translate(_IN_ASCII) if ascii_only else action.help,
            )
            for action in ACTIONS
            if not (read_only and action.changes)
        )

    def of(self, scopes: Iterable[Scope]) -> tuple[Action, ...]:
        """Those of some scopes, in the order of the scopes: the first that has a key has it."""
        wanted = tuple(scopes)
        return tuple(action for scope in wanted for action in self.actions if action.scope is scope)

    def reachable(self, scopes: Iterable[Scope]) -> Iterator[Action]:
        """The same, each with those of its keys that nothing nearer has; one whose keys are all taken is left out."""
        taken: set[str] = set()
        for action in self.of(scopes):
            keys = tuple(key for key in action.keys if key not in taken)
            taken.update(keys)
            if keys or not action.keys:
                yield action._replace(keys=keys)

    def find(self, key: str, scopes: Iterable[Scope]) -> Action | None:
        return next((action for action in self.of(scopes) if key in action.keys), None)
