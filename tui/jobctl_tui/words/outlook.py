"""What stands beside the fields of the editor: the next fires, clock changes and what avoids them, and what a save
would change. Lines of words and the names of their styles."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from jobctl.reading.safe import cell
from jobctl.reading.width import width
from jobctl_tui.words import fires
from jobctl_tui.words.difference import Change
from jobctl_tui.words.fires import Foretold
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.wrap import wrapped

Line = list[tuple[str, str]]

#: Wider ones have room for UTC.
_UTC_COLUMNS: Final = 52


class Saved(NamedTuple):
    """What a save would do, as far as that is known."""

    changes: Sequence[Change] = ()
    command: str = ""
    """The same on the command line."""
    next_fire: tuple[str, str, str] | None = None
    """Before, after, and how much it moves."""
    warnings: Sequence[str] = ()
    by_daemon: bool = False
    """Whether the daemon has said so; else it was computed here."""


def told(text: str, columns: int, style: str = "", lead: str = "", lead_style: str = "") -> list[Line]:
    """Somebody's sentence behind a sign, in as many lines as it needs."""
    room = max(12, columns - width(lead))
    first, *more = wrapped(cell(text), room)
    return [[(lead, lead_style), (first, style)], *([(" " * width(lead), ""), (line, style)] for line in more)]


def outlook(foretold: Foretold, now_ms: int, columns: int, glyphs: Glyphs) -> list[Line]:
    """What the schedule will do. `columns` are those of the place."""
    lines = [*_fires(foretold, now_ms, columns)]
    changes = list(_clock(foretold, now_ms, columns, glyphs))
    if changes:
        lines += [[], [(" clock changes in the next 12 months", "-dim")], *changes]
    for warning in foretold.warnings:
        lines += told(warning, columns, "", f" {glyphs.warning} ", "-late")
    return lines


def _fires(foretold: Foretold, now_ms: int, columns: int) -> Iterator[Line]:
    if foretold.preview is None:
        yield [("  the next fires are shown when the schedule can be read", "-dim")]
        return
    if not foretold.preview.fires:
        yield [(f"  {fires.without_fires(foretold)}", "-dim")]
    for number, fire in enumerate(fires.fire_lines(foretold.preview, now_ms), 1):
        line = [(f" {number:>2}  ", "-dim"), (fire.local, "")]
        line += [(f"   {fire.utc}", "-dim")] if columns >= _UTC_COLUMNS else []
        line.append((f"   {fire.ahead}", "-key"))
        yield [*line, (f"   {fire.note}", "-late")] if fire.note else line


def _clock(foretold: Foretold, now_ms: int, columns: int, glyphs: Glyphs) -> Iterator[Line]:
    found, spec = foretold.preview, foretold.spec
    if found is None or spec is None:
        return
    touched = fires.change_lines(found, spec)
    for change in touched:
        what = change.what.replace(" > ", f" {glyphs.arrow} ")
        yield from told(f"{change.day}  {what}", columns, "", f" {glyphs.warning} ", "-late")
        yield [(f"     {glyphs.arrow} {change.becomes}", ""), (f"   [{change.policy}]", "-dim")]
    quiet = fires.untouched(found)
    if quiet:
        yield from told(quiet, columns, "-dim", f" {glyphs.ok} ", "-ok")
    around = fires.ways_around(found, spec, now_ms)
    if around:
        yield from told(f"avoided by {around}", columns, "", f" {glyphs.ok} ", "-ok")
    if touched:
        yield [("   ", ""), ("d", "-key"), (" changes the policy", "-dim")]


def saving(saved: Saved, columns: int, glyphs: Glyphs) -> list[Line]:
    """What a save would change."""
    lines = list(change_lines(saved.changes, columns, glyphs))
    if saved.next_fire is not None:
        before, after, moved = saved.next_fire
        lines += told(
            f"next fire  {before} {glyphs.arrow} {after}" + (f" ({moved})" if moved else ""), columns, "", "   "
        )
    for warning in saved.warnings:
        lines += told(warning, columns, "", f" {glyphs.warning} ", "-late")
    if saved.command:
        lines += [[], *told(saved.command, columns, "-dim", " Same as  ", "-dim")]
    return lines


def change_lines(changes: Iterable[Change], columns: int, glyphs: Glyphs) -> Iterator[Line]:
    """Field by field: `~ timeout  1h → 30m`, `+` for what was not there, `-` for what is no more."""
    changes = list(changes)
    label = min(14, max((width(change.label) for change in changes), default=0))
    for change in changes:
        sign = "~" if change.before and change.after else "+" if change.after else "-"
        style = {"~": "-key", "+": "-ok", "-": "-failed"}[sign]
        dash = glyphs.dash
        text = f"{cell(change.before) or dash} {glyphs.arrow} {cell(change.after) or dash}"
        lead = f" {sign} {cell(change.label):<{label}}  "
        yield from told(text, columns, "", lead, style)
