"""What a key bar may name: a key that something nearer has is nobody else's."""

from jobctl_tui.actions import Scope
from jobctl_tui.keys import Keymap


def test_while_the_daemon_is_away_enter_tries_again_and_opens_nothing() -> None:
    found = {action.id: action.keys for action in Keymap().reachable((Scope.DOWN, Scope.LISTS, Scope.EVERYWHERE))}
    assert found["down.retry"] == ("enter",)
    assert "open" not in found
    assert "copy" not in found


def test_an_action_keeps_the_keys_that_are_free() -> None:
    keymap = Keymap({"down.retry": ("j",)})
    found = {action.id: action.keys for action in keymap.reachable((Scope.DOWN, Scope.LISTS))}
    assert found["down"] == ("down",)
    assert "enter" in found["open"]


def test_no_key_is_named_twice() -> None:
    for scope in Scope:
        keys = [key for action in Keymap().reachable((scope, Scope.LISTS, Scope.EVERYWHERE)) for key in action.keys]
        assert len(keys) == len(set(keys))


def test_what_has_no_key_stays_for_the_palette() -> None:
    assert any(not action.keys for action in Keymap().reachable((Scope.JOBS,)))
