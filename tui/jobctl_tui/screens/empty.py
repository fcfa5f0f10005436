"""What stands where a list has no rows: why, and what to do next."""

from collections.abc import Sequence
from typing import Any, Final

from jobctl.reading.safe import cell
from jobctl.reading.times import span
from jobctl_tui.screens.lines import Line, Lines

Json = dict[str, Any]

_INDENT: Final = 23


class Empty(Lines):
    """Some lines in the upper part of the room that there is."""

    SCOPED_CSS = False  # the size of the screen is a class of that
    DEFAULT_CSS = """
    Empty { height: 1fr; width: 1fr; padding: 2 4 0 4; }
    .-tiny Empty, .-small Empty, .-low Empty { padding: 0 1 0 1; }
    """


def no_jobs(status: Json | None, *, may_change: bool) -> list[Line]:
    """How to bring what there is, and how to add the first."""
    lines: list[Line] = [[("No jobs yet.", "-bold")], []]
    lines += _told("Bring what you have:", ["jobctl import crontab", "jobctl import crontab --system"])
    lines += _told("Or add one:", ["jobctl add hello --every 5m -- echo hello"])
    if may_change:
        lines.append([("Or here:".ljust(_INDENT), ""), ("press ", ""), ("n", "-key")])
    if status is not None:
        up = f"The daemon is up (pid {status.get('pid')}, {span(status.get('uptime_s') or 0)})"
        lines += [[], [(f"{up}, clock zone {cell(status.get('timezone'))}.", "-dim")]]
    return lines


def no_runs(*, jobs: int) -> list[Line]:
    """Nothing has run yet: when something will, or how it would."""
    lines: list[Line] = [[("Nothing has run yet.", "-bold")], []]
    if not jobs:
        return [*lines, *_told("Run a command once:", ["jobctl run -- echo hello"])]
    lines += _told("Run a job now:", ["jobctl run JOB"])
    return [*lines, [("Or here:".ljust(_INDENT), ""), ("1", "-key"), (", choose it, ", ""), ("r", "-key")],
            [("What fires next:".ljust(_INDENT), ""), ("3", "-key")]]  # fmt: skip


def no_dead() -> list[Line]:
    """The best that can be said of it."""
    return [
        [("No dead letters: nothing has failed for good.", "-bold")],
        [],
        [("What fails and has no retries left waits here with its reason and its log,", "")],
        [("until it is replayed or given up.", "")],
        [],
        *_told("What failed lately:", ["jobctl runs --state failed"]),
    ]


def no_match(query: str, examples: Sequence[str] = ()) -> list[Line]:
    """The filter shows nothing: how to be rid of it, and what filters of this list look like."""
    lines: list[Line] = [
        [("Nothing matches  ", "-bold"), (cell(query), "-key")],
        [],
        [("esc", "-key"), (" clears the filter, ", ""), ("/", "-key"), (" changes it", "")],
    ]
    if examples:
        lines += [[], [("A word is a part of a name, or a state. Also:", "-dim")]]
        lines += [[(f"  {example}", "-key")] for example in examples]
    return lines


def _told(words: str, commands: Sequence[str]) -> list[Line]:
    return [
        [((words if number == 0 else "").ljust(_INDENT), ""), (command, "-key")]
        for number, command in enumerate(commands)
    ]
