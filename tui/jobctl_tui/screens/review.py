"""The questions of the editor: is this to be saved, is it to be given up, what of a change that somebody else made."""

from collections.abc import Sequence
from typing import Any, Final

from textual.geometry import Size

from jobctl.reading.safe import cell
from jobctl_tui.screens.ask import Ask, columns_of, same_as
from jobctl_tui.screens.lines import Line
from jobctl_tui.words.difference import Change
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.outlook import Saved, change_lines, saving, told

Json = dict[str, Any]

#: Lines of the box beside what it tells: its edges, the command line, the buttons, the keys.
_FRAME: Final = 8


def fitting(lines: Sequence[Line], screen: Size, command: str = "") -> list[Line]:
    """As many as there is room for above the command line; how to answer is never pushed off the screen."""
    room = max(2, screen.height - _FRAME - max(0, len(same_as(command, screen)) - 1))
    if len(lines) <= room:
        return list(lines)
    return [*lines[: room - 1], [(f"and {len(lines) - room + 1} more lines", "-dim")]]


class Review(Ask):
    """What a save would change, field by field."""

    UNDONE = True

    def __init__(self, name: str, new: bool, saved: Saved, fires: Sequence[Line], screen: Size, glyphs: Glyphs) -> None:
        columns = columns_of(screen)
        facts: list[Line] = [*saving(saved._replace(command=""), columns, glyphs)]
        if not saved.by_daemon:
            facts += told("the daemon does not answer: this was computed here, and it cannot be saved until it does",
                          columns, "-late")  # fmt: skip
        coming: list[Line] = [*([[]] if facts else []), [("next", "-dim")], *fires]
        if fires and len(fitting(facts + coming, screen, saved.command)) == len(facts + coming):
            facts += coming
        title = f"Add {name}" if new else f"Save {name}"
        told_of = fitting(facts, screen, saved.command)
        super().__init__(title, told_of, "Add it" if new else "Save it", "s", saved.command)


class Leave(Ask):
    """What was typed would be lost."""

    def __init__(self, name: str, changes: Sequence[Change], screen: Size, glyphs: Glyphs) -> None:
        lines = list(change_lines(changes, columns_of(screen), glyphs)) or [[("what was typed is lost", "")]]
        super().__init__(f"Leave {name} without saving", fitting(lines, screen), "Leave it", "l")


class Overtaken(Ask):
    """Somebody else has changed the job since it was read."""

    def __init__(self, name: str, theirs: Sequence[Change], both: Sequence[str], screen: Size, glyphs: Glyphs) -> None:
        columns = columns_of(screen)
        lines: list[Line] = [[("since you opened it:", "-dim")], *change_lines(theirs, columns, glyphs)]
        if not theirs:
            lines.append([("nothing that is shown here", "-dim")])
        if both:
            lines += told(f"you both changed {', '.join(both)}: yours would replace theirs", columns, "-late")
        lines += told("Nothing of yours is saved yet: it is put on top of theirs, and shown before it is.", columns)
        super().__init__(f"{name} was changed meanwhile", fitting(lines, screen), "Put mine on top", "p")


class NotRight(Ask):
    """What is wrong with a text that came back from $EDITOR, by line."""

    UNDONE = True

    def __init__(self, wrongs: Sequence[tuple[int | None, str]], screen: Size) -> None:
        columns = columns_of(screen)
        lines: list[Line] = []
        for number, words in wrongs[:8]:
            lines += told(words, columns, "", f"line {number}: " if number else "", "-failed")
        super().__init__("The text is not right", fitting(lines, screen), "Edit it again", "e")


def named(name: str) -> str:
    """A job's name for a title; one that is not there yet."""
    return cell(name) if name else "the job"
