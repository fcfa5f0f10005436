"""The help of a screen, made from the actions that can be taken on it: it cannot say anything else than the keys do."""

from collections.abc import Sequence
from typing import Final

from jobctl.reading.width import cut, width
from jobctl_tui.actions import Action, Risk
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.keys import shown

Words = tuple[str, str]
Line = list[Words]

_GROUPS: Final = (("act", "ACT"), ("find", "FIND"), ("view", "VIEW"), ("move", "MOVE"))
_KEYS: Final = 11
#: Two columns from this width on.
_TWO: Final = 72
_FILTER: Final = "state:failed tag:prod -tag:test next<1h last>2d dur>5m exit:1 name:db-* word /regex/"
_RECENT: Final = ". ok  r ok after a retry  x failed  s skipped  k killed  > running"


def sheet(actions: Sequence[Action], search: str, columns: int, glyphs: Glyphs) -> list[Line]:
    """Lines of at most `columns`; with `search` only what has it in its words, its key or its command."""
    wanted = [action for action in actions if _has(action, search.strip().lower(), glyphs)]
    room = (columns // 2 - 2 if columns >= _TWO else columns) - _KEYS
    parts = [_part(title, [one for one in wanted if one.group == group], room, glyphs) for group, title in _GROUPS]
    parts = [part for part in parts if part]
    if not parts:
        return [[("no key does that here; ", "-dim"), (":", "-key"), (" finds commands of the other tabs", "-dim")]]
    lines = _beside(parts, columns) if columns >= _TWO else [line for part in parts for line in (*part, [])]
    return lines if search.strip() else [*lines, *_legend(glyphs)]


def _has(action: Action, text: str, glyphs: Glyphs) -> bool:
    said = f"{action.label} {action.help} {action.cli} {action.id}".lower()
    return not text or text in said or text in [shown(key, glyphs).lower() for key in action.keys]


def _part(title: str, actions: Sequence[Action], room: int, glyphs: Glyphs) -> list[Line]:
    if not actions:
        return []
    return [[(title, "-bold")], *(_line(action, room, glyphs) for action in sorted(actions, key=lambda one: one.rank))]


def _line(action: Action, room: int, glyphs: Glyphs) -> Line:
    """Where there is no room for a sentence, the word of the key bar."""
    keys = " ".join(shown(key, glyphs) for key in action.keys[:2]) or f":{action.id.rpartition('.')[2]}"
    asks = f" {glyphs.warning}" if action.risk is Risk.ASKED else ""
    words = action.help if width(action.help + asks) <= room else action.label
    return [(keys + " " * max(1, _KEYS - width(keys)), "-key"), (words, ""), (asks, "-late")]


def _beside(parts: Sequence[list[Line]], columns: int) -> list[Line]:
    """In two columns of about the same height."""
    half = sum(map(len, parts)) / 2
    left: list[Line] = []
    right: list[Line] = []
    for part in parts:
        side = left if len(left) + len(part) / 2 <= half or not left else right
        side += [*part, []]
    room = columns // 2 - 1
    rows = max(len(left), len(right))
    left += [[] for _ in range(rows - len(left))]
    right += [[] for _ in range(rows - len(right))]
    return [[*_fitted(one, room), *other] for one, other in zip(left, right, strict=True)]


def _fitted(line: Line, room: int) -> Line:
    fitted: Line = []
    for text, style in line:
        fitted.append((cut(text, room), style))
        room -= width(fitted[-1][0])
    return [*fitted, (" " * (room + 2), "")]


def _legend(glyphs: Glyphs) -> list[Line]:
    states = (("ok", "ok"), ("failed", "FAILED"), ("late", "LATE"), ("retrying", "retry"), ("running", "running"),
              ("queued", "queued"), ("paused", "paused"))  # fmt: skip
    shown_states = "  ".join(f"{glyphs.of(state)} {word}" for state, word in states)
    return [
        [("FILTER  ", "-bold"), (_FILTER, "")],
        [("STATES  ", "-bold"), (shown_states, "")],
        [("LAST 10 ", "-bold"), (f"{_RECENT}, the newest at the end", "")],
        [(f"{glyphs.warning} ", "-late"), ("asks first. What can be taken back is done at once: ", ""), ("u", "-key"),
         (", for 30 s. Nothing is destroyed by a ctrl key.", "")],
    ]  # fmt: skip
