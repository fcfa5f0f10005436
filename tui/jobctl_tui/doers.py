"""Who does what an action asks for: the nearest that can."""

from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, signature

from textual.app import App
from textual.screen import Screen

from jobctl_tui.actions import Action
from jobctl_tui.keys import Keymap
from jobctl_tui.stack import Stack

Doer = Callable[..., object]


class Doers:
    """From the focus upwards, and at last those of `everywhere`, which is set once they are there."""

    everywhere: Sequence[object] = ()

    def __init__(self, stack: Stack, keymap: Keymap) -> None:
        self._stack = stack
        self._keymap = keymap
        self._where: tuple[object, ...] = ()
        self._here: tuple[Action, ...] = ()

    def here(self) -> tuple[Action, ...]:
        """Asked for every second: worked out anew when the focus, the tab or the daemon's state has changed."""
        scopes = self._stack.scopes
        where = (scopes, self._stack.top.focused, self._stack.pane)
        if where != self._where:
            chain = self._chain()
            self._where, self._here = where, tuple(
                action for action in self._keymap.reachable(scopes)
                if any(hasattr(node, method_of(action)) for node in chain)
            )  # fmt: skip
        return self._here

    def take(self, action: Action, *arguments: str) -> bool:
        """By the first `act_…` that does not return False."""
        return any(method(*arguments) is not False for method in self._of(action))

    def of(self, action: Action) -> Doer | None:
        return next(self._of(action), None)

    def _of(self, action: Action) -> Iterator[Doer]:
        for node in self._chain():
            method = getattr(node, method_of(action), None)
            if method is not None:
                yield method

    def _chain(self) -> list[object]:
        """What is shown is in it also when nothing has the focus."""
        focused = self._stack.top.focused
        above = focused.ancestors_with_self if focused is not None else ()
        nodes = [node for node in above if not isinstance(node, App)]
        nodes += [node for node in (self._stack.pane, self._stack.top) if node not in nodes]
        return [*sorted(nodes, key=lambda node: isinstance(node, Screen)), *self.everywhere]


def method_of(action: Action) -> str:
    return "act_" + action.id.replace(".", "_").replace("-", "_")


def takes_words(method: Doer | None) -> bool:
    """Whether it can be told what it is to be done to."""
    kinds = [] if method is None else [each.kind for each in signature(method).parameters.values()]
    return Parameter.VAR_POSITIONAL in kinds
