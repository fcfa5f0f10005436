"""The first line: which daemon, whether what is shown is current, what is wrong, and what time it is there."""

from typing import Any, Final

from jobctl.reading.safe import cell
from jobctl.reading.times import span
from jobctl_tui.live.link import Link
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]
Cell = tuple[str, str]


def link_cell(link: Link, now_ms: int, glyphs: Glyphs, when: When) -> Cell:
    """`● live`, or for how long it is not and as of when what is shown was true."""
    for_s = max(0, now_ms - link.since_ms) / 1000
    if link.state == "live":
        return f"{glyphs.live} live", "-ok"
    if link.state == "slow":
        return f"{glyphs.slow} slow {span(for_s)}{_as_of(link, when)}", "-late"
    if link.state == "connecting":
        return f"{glyphs.slow} connecting", "-dim"
    word = "DOWN" if link.state == "down" else "REFUSED"
    return f"{glyphs.down} {word} {span(for_s)}{_as_of(link, when)}", "-failed"


def _as_of(link: Link, when: When) -> str:
    return f"  stale: as of {when.clock(link.as_of_ms).rpartition(' ')[0]}" if link.as_of_ms is not None else ""


#: What is counted, in the order of its weight: the path in the status, the word, the style.
_COUNTED: Final = (
    ("jobs.failed", "FAILED", "-failed"),
    ("jobs.late", "LATE", "-late"),
    ("running", "running", "-running"),
    ("retrying", "retrying", "-retry"),
    ("dead.total", "dead", "-failed"),
    ("quarantined", "quarantined", "-failed"),
    ("jobs.parked", "parked", "-late"),
    ("jobs.paused", "paused", "-paused"),
)
#: Beside these a warning can wait.
_URGENT: Final = frozenset({"FAILED", "LATE", "dead", "quarantined", "parked"})


def counters(status: Json | None) -> list[Cell]:
    """`2 FAILED`, `3 running`: those that are not zero, the heaviest first. What the daemon warns of stands before them
    where nothing is more urgent: the tab of the daemon has the whole sentence."""
    if status is None:
        return []
    found = [("daemon PAUSED", "-paused")] if status.get("paused") else []
    if status.get("state") == "stopping":
        found.append(("stopping", "-late"))
    counted = [(f"{number} {word}", style) for path, word, style in _COUNTED if (number := _at(status, path))]
    if not status["jobs"]["total"]:
        counted = [("no jobs", "-dim")]
    urgent = any(_at(status, path) for path, word, _ in _COUNTED if word in _URGENT)
    return [*found, *([] if urgent else _warnings(status)), *counted]


def _warnings(status: Json) -> list[Cell]:
    if number := len(status.get("warnings") or ()):
        return [(f"! {number} warning{'s' if number > 1 else ''}", "-late")]
    return [("! no reboot", "-late")] if status.get("returns_after_reboot") is False else []


def _at(status: Json, path: str) -> int:
    value: Any = status
    for part in path.split("."):
        value = value.get(part) or {}
    return value if isinstance(value, int) else 0


def who(status: Json | None, host: str) -> tuple[str, str]:
    """`jobctl@prod-db1`, and of a trial its folder: one must never be taken for the host's own daemon."""
    known = status or {}
    return f"jobctl@{cell(known.get('host') or host)}", cell(known.get("home") or "")


def tab_words(name: str, status: Json | None) -> str:
    """`4 Dead:4`: what waits there."""
    dead = _at(status or {}, "dead.total")
    return f"Dead:{dead}" if name == "dead" and dead else {"dead": "Dead"}.get(name, name.title())
