"""What is said while the daemon is away: why, what is shown instead, when it is tried again, and what can be done."""

from collections.abc import Iterable, Sequence
from typing import Final

from jobctl.reading.safe import cell
from jobctl.reading.times import span
from jobctl.reading.width import width
from jobctl_tui.actions import Action
from jobctl_tui.live.link import Link
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.keys import shown
from jobctl_tui.words.when import When
from jobctl_tui.words.wrap import wrapped

Words = tuple[str, str]
Line = Sequence[Words]

#: A screen that is lower has room for why and when alone.
LOW: Final = 16
#: One that is higher has room for what else is known.
TALL: Final = 30


def title(link: Link) -> str:
    return "The daemon will not serve these screens" if link.state == "refused" else "Daemon not reachable"


def lines(link: Link, now_ms: int, when: When, columns: int, facts: Iterable[str] = ()) -> list[Line]:
    """All that there is to say, without the keys."""
    said: list[Line] = [[(line, "-failed")] for line in wrapped(cell(link.why), columns, "  ")]
    said += [[(line, "")] for line in wrapped(_meaning(link, now_ms, when), columns)]
    if link.error is not None and link.error.hint:
        said += [[(line, "-dim")] for line in wrapped(f"Try: {cell(link.error.hint)}", columns, "     ")]
    said += [[(line, "-dim")] for fact in facts for line in wrapped(cell(fact), columns, "  ")]
    return said


def retry(link: Link, now_ms: int, glyphs: Glyphs) -> str:
    """`Retry 6 in 4 s…`."""
    if link.retry_at_ms is None:
        return f"Retry {link.tries}{glyphs.ellipsis}"
    left_s = max(0, -(-(link.retry_at_ms - now_ms) // 1000))
    return f"Retry {link.tries} in {left_s} s{glyphs.ellipsis}"


def keys(actions: Iterable[Action], glyphs: Glyphs, room: int) -> list[Words]:
    """`⏎ retry now  s start …`: as many as there is room for."""
    words: list[Words] = []
    for action in actions:
        key, label = shown(action.keys[0], glyphs), f" {action.label.lower()}"
        room -= width(key + label) + 2
        if room < 0:
            break
        words += [("  ", ""), (key, "-key"), (label, "")]
    return words


def _meaning(link: Link, now_ms: int, when: When) -> str:
    if link.as_of_ms is None:
        return "Nothing has been read yet. These screens come to life as soon as a daemon answers."
    at = when.clock(link.as_of_ms).rpartition(" ")[0]
    ago = span(max(0, now_ms - link.as_of_ms) / 1000)
    return (
        f"Shown below is what was true at {at}, {ago} ago. Jobs may be running, failing or NOT firing; this screen "
        "cannot tell. What changes jobs is off until the daemon answers."
    )
