"""The program `crontab`: jobctl called by that name. Options, messages and exit codes are those of Debian's crontab(1).

A command line that it cannot read, and whatever does not work, ends with 1.
"""

from collections.abc import Sequence
from typing import Final

from jobctl.cli.ending import Ended, How
from jobctl.cli.world import World

NAME: Final = "crontab"
_LETTERS: Final = "elrinh"
_ACTS: Final = {"e": "edit", "l": "list", "r": "remove", "h": "help"}
USAGE: Final = """\
usage:\tcrontab [-u user] [-n] file
\tcrontab [ -u user ] [ -i ] { -e | -l | -r }

\t-h\t(displays this help message)

\tfile\t(default operation is replace, per 1003.2)
\t-n\t(dry run: checks the syntax, then bails out)
\t-u user\t(choose the user whose crontab is touched)

\t-e\t(edit user's crontab)
\t-l\t(list user's crontab)
\t-r\t(delete user's crontab)

\t-i\t(prompt before deleting user's crontab)
"""


class _Wrong(Exception):
    """A command line that cannot be read, in Debian's words."""


def program(arguments: Sequence[str], world: World) -> None:
    """Carries out one command line."""
    from jobctl.cli.crontab_acts import Wish, carry_out
    from jobctl.cli.session import Session

    session = Session(world)
    try:
        act, user, file, asks = _read(list(arguments), terminal=world.stdin.isatty())
    except _Wrong as wrong:
        session.render.err.write(f"{NAME}: usage error: {wrong}\n{USAGE}")
        raise Ended(How.TROUBLE) from None
    if act == "help":
        session.render.text(USAGE)
        return
    carry_out(session, Wish(act, user, file, asks))


def _read(words: list[str], *, terminal: bool) -> tuple[str, str | None, str | None, bool]:
    """The act, the user, the file, and whether to ask; letters and their values may be joined, as getopt(3) has it."""
    acts: list[str] = []
    user: str | None = None
    asks = dry = False
    files: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            files += words
            break
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter == "u":
                if not letters and not words:
                    raise _Wrong("unrecognized option: -u needs a user")
                user, letters = letters or words.pop(0), ""
            elif letter not in _LETTERS and letter != "n":
                raise _Wrong("unrecognized option")
            elif letter in _ACTS:
                acts.append(_ACTS[letter])
            else:
                asks, dry = asks or letter == "i", dry or letter == "n"
    return _meant(acts, files, dry=dry, terminal=terminal), user, files[0] if files else "-", asks


def _meant(acts: list[str], files: list[str], *, dry: bool, terminal: bool) -> str:
    if len(acts) > 1:
        raise _Wrong("only one operation permitted")
    if acts and files:
        raise _Wrong("no arguments permitted after this option")
    if acts:
        if dry and acts[0] in ("remove", "edit"):
            raise _Wrong("-n checks a file, and goes with no other operation")
        return acts[0]
    if not files and (dry or terminal):  # who types `crontab` and ^D would be left without a crontab
        raise _Wrong("file name must be specified for replace; - is standard input")
    if len(files) > 1:
        raise _Wrong("only one file name permitted")
    return "check" if dry else "replace"
