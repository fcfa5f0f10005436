"""What stands around a log: what it is above, how it is looked at below, and how it ended after its last line."""

from typing import Any

from jobctl.reading.runs import failure, first_line, size
from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds, took
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.logview import LogFacts
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.logline import Times

Json = dict[str, Any]


def above(facts: LogFacts, attempt: int | None, dropped: int, glyphs: Glyphs) -> str:
    """`log · attempt 3 · 214 lines · 2.1 MB · 1.2 MB removed · no space: match 1 of 3`."""
    parts = ["log"] + ([f"attempt {attempt}"] if attempt is not None else [])
    if facts.lines is not None:
        parts.append(f"{facts.lines:,} line{'' if facts.lines == 1 else 's'}".replace(",", " "))
    if facts.size:
        parts.append(size(facts.size))
    if dropped:
        parts.append(f"{size(dropped)} removed")
    if facts.pattern:
        parts.append(_matches(facts))
    return f" {glyphs.dot} ".join(parts)


def _matches(facts: LogFacts) -> str:
    where = f"match {facts.match} of {facts.matches}" if facts.match else f"{facts.matches} matches"
    looking = f", {facts.looked:.0%} looked through" if facts.looked < 1 else ""
    gave_up = ", given up: this pattern takes too long" if facts.gave_up else ""
    return f"{cell(facts.pattern)}: {where}{looking}{gave_up}"


def below(facts: LogFacts, active: bool, times: Times, glyphs: Glyphs) -> str:
    """`following · wrap on`, `end of log`, `line 17 992 of 18 204`, `not current: the daemon is away`."""
    parts = [_place(facts, active, glyphs)]
    if facts.only:
        parts.append("only lines that match")
    parts.append(f"wrap {'on' if facts.wrap else 'off'}")
    parts.append({Times.CLOCK: "time by the clock", Times.SINCE: "time since the start", Times.NONE: "no time"}[times])
    return f" {glyphs.dot} ".join(parts)


def ending(attempt: Json | None, glyphs: Glyphs) -> Cell | None:
    """Below the last line of an attempt that has ended."""
    if attempt is None or not attempt["ended_at"]:
        return None
    begun = attempt["started_at"]
    after = f" after {took((milliseconds(attempt['ended_at']) - milliseconds(begun)) / 1000)}" if begun else ""
    well = not attempt["class"]
    how = "ended well" if well else cell(failure(attempt))
    detail = f": {cell(first_line(attempt['detail']))}" if attempt["detail"] else ""
    return Cell(f" {glyphs.of('ok' if well else 'failed')} {how}{after}{detail}", "-ok" if well else "-failed")


def _place(facts: LogFacts, active: bool, glyphs: Glyphs) -> str:
    state = facts.state.state
    if state == "lost":
        return f"{glyphs.slow} not current: the daemon is away, what came last is shown"
    if state == "missing":
        return "no log"
    if facts.follow and state != "done":
        return f"{glyphs.follow} following" if active else "reading"
    if facts.follow:
        return "end of log"
    if facts.line is not None and facts.lines is not None:
        return f"line {facts.line:,} of {facts.lines:,}".replace(",", " ")
    return "scrolled up"
