"""What stands above the log of a run: what it is at, when and why, its attempts as bars, and what is usual."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jobctl.reading.safe import cell
from jobctl.reading.width import cut, width
from jobctl_tui.live.runfacts import Facts
from jobctl_tui.words import run as words
from jobctl_tui.words.bars import Bar, Chart, chart, ruler
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]
Words = tuple[str, str]
Line = list[Words]

#: Bars that are narrower say nothing.
_BAR_CELLS_MIN: Final = 12
_STYLE_SIGNS: Final = {"-ok": "ok", "-failed": "failed", "-running": "running", "-late": "killed", "-retry": "retry"}


class Room(NamedTuple):
    """Columns of the screen, and lines for bars."""

    columns: int
    bars: int


def headline(facts: Facts, glyphs: Glyphs, now_ms: int, columns: int) -> Line:
    """`‹ Runs / backup-db / run 4812        ✗ FAILED  exit 1     attempt 3 of 3`."""
    run = facts.run
    state, style = words.headline(run, glyphs, now_ms)
    tries = f"attempt {run['attempt']} of {run['max_attempts']}" if int(run["attempt"]) else ""
    right = width(state) + (width(tries) + 5 if tries else 0) + 1
    if tries and columns - right < 24:
        right, tries = width(state) + 1, ""
    way = f" {glyphs.back} Runs / {cell(run['job'])} / run {run['id']}"
    left = max(8, columns - right - 1)
    if width(way) > left:
        way = f" {glyphs.back} {cell(run['job'])} / {run['id']}"
    way = cut(way, left)
    gap = max(1, columns - right - width(way))
    return [(way, "-bold"), (" " * gap, ""), (state, style), (f"     {tries}" if tries else "", "")]


def above(facts: Facts, shown: int | None, glyphs: Glyphs, when: When, now_ms: int, room: Room) -> list[Line]:
    """All of it, without the headline. `shown`: the attempt whose log is below."""
    run = facts.run
    first_at = facts.attempts[0]["started_at"] if facts.attempts else None
    lines: list[Line] = [[(f" {words.times(run, when, now_ms, first_at)}", "")]]
    reason, style = words.why(run, glyphs, now_ms)
    if reason:
        lines.append([(f" {reason}", style)])
    usual = words.usual(run, facts.durations, facts.limit_s, glyphs, now_ms) if words.is_active(run) else ""
    if usual:
        lines.append([(f" {usual}", "-late" if "slower" in usual else "-dim")])
    return [*lines, *attempts(facts, shown, glyphs, now_ms, room)]


def attempts(facts: Facts, shown: int | None, glyphs: Glyphs, now_ms: int, room: Room) -> list[Line]:
    """A line for each, the newest ones where there is no room for all; and the marks below the one that runs."""
    if room.bars < 1 or not facts.attempts:
        return []
    said = max(width(bar.words) for bar in _chart(facts, now_ms, 1).bars)
    label = 15 + max(said, 8)
    cells = room.columns - label - 3
    drawn = _chart(facts, now_ms, max(cells, 1))
    bars, folded = _fitting(drawn.bars, room.bars)
    lines = [_folded(folded, glyphs)] if folded else []
    lines += [_line(bar, shown, glyphs, label, cells) for bar in bars]
    if drawn.marks and cells >= _BAR_CELLS_MIN and room.bars > 1:
        marks = ruler(drawn.marks, cells, line=glyphs.rule, stop=glyphs.bar)
        lines += [[(" " * label, ""), (marks, "-dim")]] if marks else []
    return lines


def _fitting(bars: Sequence[Bar], most: int) -> tuple[Sequence[Bar], Sequence[Bar]]:
    """Those that are shown, and those before them."""
    if len(bars) <= most:
        return bars, ()
    kept = max(1, most - 1)
    return bars[-kept:], bars[:-kept]


def _folded(bars: Sequence[Bar], glyphs: Glyphs) -> Line:
    """`… 6 earlier: 5 × exit 1, lost`."""
    counts: dict[str, int] = {}
    for bar in bars:
        counts[bar.words] = counts.get(bar.words, 0) + 1
    ends = ", ".join(f"{count} times {word}" if count > 1 else word for word, count in counts.items())
    return [(f" {glyphs.ellipsis} {len(bars)} earlier: {cell(ends)}", "-dim")]


def _line(bar: Bar, shown: int | None, glyphs: Glyphs, label: int, cells: int) -> Line:
    sign = glyphs.running if bar.open and bar.work else getattr(glyphs, _STYLE_SIGNS.get(bar.style, "manual"))
    here = bar.attempt == shown
    head = f"{bar.attempt:>2} {sign} {cell(bar.words)}"
    head = f" {head}{bar.took.rjust(max(1, label - 2 - width(head)))} "
    line: Line = [(head, "-bold" if here else bar.style)]
    used = bar.lead + bar.wait + bar.work
    if cells >= _BAR_CELLS_MIN:
        parts = ((" " * bar.lead, ""), (glyphs.light * bar.wait, "-dim"), (glyphs.eighths[-1] * bar.work, bar.style))
        line += [part for part in parts if part[0]]
        if bar.note and used + len(bar.note) + 5 <= cells:
            line.append((f"  ({bar.note})", "-dim"))
    if here:
        line.append((f" {glyphs.here}", "-key"))
    return line


def _chart(facts: Facts, now_ms: int, cells: int) -> Chart:
    return chart(facts.attempts, facts.run, facts.durations, now_ms, cells)
