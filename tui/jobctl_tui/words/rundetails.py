"""Everything that is known of a run, as `jobctl show` says it, on lines of the screen's width."""

from typing import Final

from jobctl.reading import attempts, facts
from jobctl.reading.safe import cell
from jobctl.reading.times import Viewer, duration
from jobctl.reading.width import width
from jobctl_tui.live.runfacts import Facts
from jobctl_tui.words import run as words
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.runhead import Line
from jobctl_tui.words.spark import spark

_LABEL: Final = 13


def details(known: Facts, viewer: Viewer, glyphs: Glyphs, columns: int) -> list[Line]:
    """A label, and its text on as many lines as it needs."""
    run = known.run
    lines: list[Line] = []
    for label, text in [
        *facts.of_run(run, viewer),
        *facts.of_work(known.work),
        *_where(known, glyphs),
        ("queue", f"{run['queue']}   on {run['node']}" if run["node"] else str(run["queue"])),
        *attempts.facts(list(known.attempts), viewer, state=str(run["state"])),
    ]:
        lines += _lines(label, cell(text), columns)
    return lines


def _where(known: Facts, glyphs: Glyphs) -> list[tuple[str, str]]:
    """What `jobctl show` tells of the job, as this run had it; values of variables may be secrets, and stay away."""
    found: list[tuple[str, str]] = []
    work = known.work
    if work is not None:
        if work["cwd"] and not work["edited"]:
            found.append(("directory", str(work["cwd"])))
        if work["user"]:
            found.append(("user", str(work["user"])))
        if work["env"] and not work["edited"]:
            found.append(("env", ", ".join(sorted(work["env"]))))
        if work["env_file"]:
            found.append(("env file", str(work["env_file"])))
    if known.limit_s is not None:
        found.append(("timeout", f"{duration(known.limit_s)} for each attempt"))
    usual = known.durations
    if usual.get("p50") is not None:
        found.append(("durations", words.usual({"state": "", "started_at": None}, usual, None, glyphs, 0)))
        last = [item["duration"] for item in usual.get("items") or ()]
        found += [("", spark(last[::-1], glyphs.levels, len(last)))] if last else []
    return found


def _lines(label: str, text: str, columns: int) -> list[Line]:
    room = max(16, columns - _LABEL - 2)
    made: list[Line] = []
    while text or not made:
        piece, text = _piece(text, room)
        made.append([(f" {(label if not made else '').ljust(_LABEL)}", "-dim"), (piece, "")])
    return made


def _piece(text: str, room: int) -> tuple[str, str]:
    """The beginning of a text that has room, up to the last space in it where there is one; and the rest."""
    if width(text) <= room:
        return text, ""
    end = len(text)
    while width(text[:end]) > room:
        end -= max(1, (width(text[:end]) - room) // 2)
    space = text.rfind(" ", room // 2, end)
    return (text[:space], text[space + 1 :]) if space > 0 else (text[:end], text[end:])
