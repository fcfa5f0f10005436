"""The signs beside the words: of UTF-8, and of ASCII for terminals whose locale has no more.

No state is told by a sign or a colour alone: its word stands beside it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Glyphs(NamedTuple):
    """Each is one column wide, but for `radio_on` and its kin."""

    ok: str
    failed: str
    late: str
    retry: str
    running: str
    queued: str
    paused: str
    manual: str
    skipped: str
    killed: str

    live: str
    slow: str
    down: str
    warning: str

    cursor: str
    """At the left of the line under the cursor."""
    mark: str
    """Beside a row that is marked."""
    folded: str
    unfolded: str
    back: str
    """Before the way to a screen: `‹ Runs / backup-db`."""
    here: str
    """The attempt, the hour, the match that is meant."""
    follow: str
    frozen: str
    wrapped: str
    """At the beginning of a line that goes on the one before."""
    bullet: str
    dot: str
    """Between two facts on one line."""
    ellipsis: str
    dash: str
    """For what there is none of."""
    arrow: str
    """From what it was to what it is."""
    enter: str
    """The key."""
    space: str
    """The key."""
    left_right: str
    up_down: str

    rule: str
    """A line across the screen."""
    bar: str
    """A line down the screen."""

    levels: str
    """Eight heights, lowest first: a spark."""
    eighths: str
    """A bar's end, by eighths of a column, thinnest first; the last is full."""
    light: str
    medium: str
    """Behind `eighths[-1]`: what waits, what may still come."""
    lane: str
    """A cell of a timeline in which nothing happens."""
    tick: str
    """A cell in which one thing happens."""

    radio_on: str
    radio_off: str
    box_on: str
    box_off: str

    def of(self, state: str) -> str:
        """The sign of a state's word, of a job, a run or an attempt."""
        name = _SIGNS.get(state)
        return getattr(self, name) if name else " "


UTF8: Final = Glyphs(
    ok="✓", failed="✗", late="!", retry="↻", running="▶", queued="…", paused="‖", manual="·", skipped="−", killed="⊘",
    live="●", slow="◐", down="○", warning="!",
    cursor="▌", mark="●", folded="▸", unfolded="▾", back="‹", here="◂", follow="▼", frozen="❄", wrapped="↳",
    bullet="•", dot="·", ellipsis="…", dash="—", arrow="→", enter="⏎", space="␣", left_right="←→", up_down="↑↓",
    rule="─", bar="│",
    levels="▁▂▃▄▅▆▇█", eighths="▏▎▍▌▋▊▉█", light="░", medium="▓", lane="·", tick="|",
    radio_on="(•)", radio_off="( )", box_on="[x]", box_off="[ ]",
)  # fmt: skip

ASCII: Final = Glyphs(
    ok="v", failed="x", late="!", retry="r", running=">", queued=".", paused="=", manual="-", skipped="s", killed="k",
    live="*", slow="~", down="o", warning="!",
    cursor=">", mark="*", folded="+", unfolded="-", back="<", here="<", follow="v", frozen="#", wrapped="\\",
    bullet="*", dot="-", ellipsis="~", dash="-", arrow=">", enter="Enter", space="Space", left_right="<>", up_down="^v",
    rule="-", bar="|",
    levels="_.-=+*%#", eighths="-=#", light=".", medium="=", lane=".", tick="|",
    radio_on="(*)", radio_off="( )", box_on="[x]", box_off="[ ]",
)  # fmt: skip

#: A state's word, and the field of its sign.
_SIGNS: Final[Mapping[str, str]] = {
    "ok": "ok", "succeeded": "ok", "done": "ok",
    "failed": "failed", "dead": "failed", "quarantined": "failed", "parked": "failed",
    "late": "late",
    "retrying": "retry",
    "running": "running",
    "queued": "queued", "scheduled": "queued", "ready": "queued", "waiting": "queued",
    "paused": "paused",
    "manual": "manual",
    "skipped": "skipped", "superseded": "skipped", "discarded": "skipped",
    "killed": "killed", "cancelled": "killed",
}  # fmt: skip

#: A state's word, and the class that widgets style it by (`vtable---failed`, `-failed`).
_STYLES: Final[Mapping[str, str]] = {
    "ok": "-ok", "succeeded": "-ok", "done": "-dim",
    "failed": "-failed", "dead": "-failed", "quarantined": "-failed", "parked": "-failed",
    "late": "-late",
    "retrying": "-retry",
    "running": "-running",
    "queued": "-retry", "scheduled": "-dim", "ready": "-retry", "waiting": "-retry",
    "paused": "-paused",
    "manual": "-dim", "skipped": "-dim", "superseded": "-dim", "discarded": "-dim",
    "killed": "-late", "cancelled": "-late",
}  # fmt: skip


def style_of(state: str) -> str:
    """The style class of a state's word; nothing for a word that nobody knows."""
    return _STYLES.get(state, "")


def glyphs_for(environ: Mapping[str, str]) -> Glyphs:
    """UTF-8 where the locale of LC_ALL, LC_CTYPE or LANG, in that order (locale(7)), says so and JOBCTL_ASCII does not
    say otherwise: 1 is ASCII, 0 is UTF-8.

    An interpreter that finds the locale C sets LC_CTYPE to C.UTF-8 for itself (PEP 538): that says nothing of the
    terminal.
    """
    wanted = environ.get("JOBCTL_ASCII", "")
    if wanted:
        return UTF8 if wanted == "0" else ASCII
    coerced = environ.get("LC_CTYPE", "") in ("C.UTF-8", "C.utf8", "UTF-8") and environ.get("LANG", "") in _NO_LOCALE
    names = ("LC_ALL", "LANG") if coerced else ("LC_ALL", "LC_CTYPE", "LANG")
    named = next((environ[name] for name in names if environ.get(name)), "")
    return UTF8 if named.lower().replace("-", "").partition("@")[0].endswith("utf8") else ASCII


_NO_LOCALE: Final = ("", "C", "POSIX")
