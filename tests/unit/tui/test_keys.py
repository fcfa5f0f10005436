"""Every key means one thing where it is pressed, every action has somebody who does it, and people may move them."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.actions import Action, Risk, Scope
from jobctl_tui.doers import method_of
from jobctl_tui.keys import ACTIONS, BY_ID, Keymap
from jobctl_tui.screens.main import TABS
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.keys import named, shown

TUI = Path(__file__).parents[3] / "tui" / "jobctl_tui"
#: Scopes that are there together, the nearest first.
TOGETHER = [tab.scopes for tab in TABS] + [(Scope.RUN, Scope.EVERYWHERE), (Scope.EDITOR, Scope.EVERYWHERE)]


def test_no_action_is_there_twice() -> None:
    assert [ident for ident, times in Counter(action.id for action in ACTIONS).items() if times > 1] == []


@pytest.mark.parametrize("scope", Scope)
def test_no_key_means_two_things_in_one_scope(scope: Scope) -> None:
    keys = Counter(key for action in ACTIONS if action.scope is scope for key in action.keys)
    assert [key for key, times in keys.items() if times > 1] == []


def test_somebody_does_every_action() -> None:
    methods = {
        node.name
        for path in TUI.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert [action.id for action in ACTIONS if method_of(action) not in methods] == []


def test_nobody_does_what_is_no_action() -> None:
    known = {method_of(action) for action in ACTIONS}
    found = {
        node.name
        for path in TUI.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("act_")
    }
    assert found - known == set()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_an_action_is_told_in_short_and_its_keys_reach_a_program_over_any_line(action: Action) -> None:
    assert action.label
    assert len(action.label) <= 14
    assert action.help
    assert not action.help[0].isupper()
    assert action.group in ("act", "find", "view", "move")
    for key in action.keys:
        assert not key.startswith(("alt+", "super+")), key  # lost in tmux, mosh and on serial lines
        assert named(shown(key, UTF8)) == named(shown(key, ASCII)) == key


def test_what_cannot_be_taken_back_is_on_no_ctrl_key_and_on_no_key_beside_those_that_move() -> None:
    for action in ACTIONS:
        if action.risk is Risk.ASKED and action.scope is not Scope.EDITOR:
            assert all(not key.startswith("ctrl+") and key not in "jkhlgGd" for key in action.keys), action


@pytest.mark.parametrize("scopes", TOGETHER, ids=str)
def test_help_and_quit_are_never_hidden_by_a_nearer_key(scopes: tuple[Scope, ...]) -> None:
    keymap = Keymap()
    for ident in ("help", "quit", "palette"):
        assert any((found := keymap.find(key, scopes)) is not None and found.id == ident for key in BY_ID[ident].keys)


def test_a_read_only_screen_has_no_action_that_changes_anything() -> None:
    keymap = Keymap(read_only=True)
    assert keymap.actions
    assert [action.id for action in keymap.actions if action.changes] == []
    assert keymap.find("p", (Scope.JOBS, Scope.EVERYWHERE)) is None
    assert keymap.find("K", (Scope.RUN,)) is None


def test_a_person_may_give_an_action_other_keys() -> None:
    keymap = Keymap({"quit": ("Q", "^q"), "job.kill": ("F9",)})
    everywhere = (Scope.JOBS, Scope.EVERYWHERE)
    assert keymap.find("q", everywhere) is None
    for key, ident in (("Q", "quit"), ("ctrl+q", "quit"), ("f9", "job.kill")):
        found = keymap.find(key, everywhere)
        assert found is not None
        assert found.id == ident


def test_an_action_that_is_not_there_and_a_key_that_is_not_there_are_told() -> None:
    with pytest.raises(InvalidInput, match=r"no action 'quti'"):
        Keymap({"quti": ("Q",)})
    with pytest.raises(InvalidInput, match=r"no key 'hyper\+x'"):
        Keymap({"quit": ("hyper+x",)})


@pytest.mark.parametrize(
    ("written", "name", "utf8", "ascii_"),
    [("?", "question_mark", "?", "?"), ("^p", "ctrl+p", "^p", "^p"), ("ctrl+P", "ctrl+p", "^p", "^p"),
     ("K", "K", "K", "K"), ("enter", "enter", "⏎", "Enter"), (" ", "space", "␣", "Space"),
     ("shift+tab", "shift+tab", "⇧tab", "S-tab"), ("F5", "f5", "F5", "F5"), ("[", "left_square_bracket", "[", "["),
     ("up", "up", "↑", "Up"), ("escape", "escape", "esc", "esc"), ("&", "ampersand", "&", "&")],
)  # fmt: skip
def test_keys_as_they_are_written_and_shown(written: str, name: str, utf8: str, ascii_: str) -> None:
    assert named(written) == name
    assert (shown(name, UTF8), shown(name, ASCII)) == (utf8, ascii_)
