"""What the ways to a new crontab have in common: whose it is, installing it, and what is said of that."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import CallerError, Forbidden, JobctlError, NotFound

Json = dict[str, Any]

#: The limit of the daemon (`jobctl.crontabs.check`, which is not loaded for this; a test compares).
BYTES_MAX: Final = 750_000
#: Of a table that is all wrong nobody reads more.
_SHOWN_MAX: Final = 50


class Said(Exception):
    """It did not work, and this is what to say of it, as it stands."""


class Whose(NamedTuple):
    """The table: its user, and whom to ask for it; None: the caller's own."""

    user: str
    named: str | None


# ── installing ───────────────────────────────────────────────────
def bytes_of(found: Json) -> bytes:
    """The table of an answer."""
    from base64 import b64decode

    return b64decode(found["base64"])


def install(session: Session, client: Client, whose: Whose, data: bytes, path: str, etag: str | None = None) -> None:
    """Puts `data` in the place of the table. Raises `Refused` when lines of it are, after saying which."""
    try:
        done = client.put_crontab(data, whose.named, etag)
    except CallerError as error:
        if "problems" not in error.details or (session.render.machine and etag is None):
            raise
        problems: Any = error.details["problems"]
        tell_problems(session, path, problems)
        raise Refused([str(one["kind"]) for one in problems]) from error
    if session.render.machine:
        session.render.json({"schema": 1, **done})
        return
    tell_problems(session, path, done["problems"])
    if not done["loaded"]:
        session.render.word(
            f"crontab: it is installed, but not taken over yet: {done['why']}; the daemon goes on trying"
        )


class Refused(Said):
    """A table that is not installed, with the kinds of its faults."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__(conclusion(kinds))
        self.kinds = set(kinds)


def conclusion(kinds: Iterable[str]) -> str:
    """The last line of a refusal, by the kinds of its faults."""
    found = set(kinds)
    if found == {"newline"}:
        return "new crontab file is missing newline before EOF, can't install."
    if found == {"length"}:
        return "crontab is too long; maximum number of lines is 10000."
    if found == {"variables"}:
        return "the variables of all lines together are too many, can't install."
    return "errors in crontab file, can't install."


# ── words ────────────────────────────────────────────────────────
def yes_or_no(session: Session, question: str, again: str) -> bool | None:
    """What a person answers; None when there is nobody to answer, or no terminal any more. Asks until it is a yes or a
    no, as crontab(1)."""
    try:
        return _answered(session, question, again)
    except OSError:
        return None


def _answered(session: Session, question: str, again: str) -> bool | None:
    out = session.render.out
    out.write(question)
    while True:
        line = session.world.stdin.readline()
        answer = line.strip()[:1].lower()
        if answer in ("y", "n"):
            return answer == "y"
        if not line:
            out.write("\n")
            return None
        session.render.err.write(again)


def tell_problems(session: Session, path: str, problems: list[Json]) -> None:
    """`"FILE":LINE: why`, as crontab(1) says it, and the line below."""
    of_lines = [one for one in problems if one["kind"] == "line"]
    for one in of_lines[:_SHOWN_MAX]:
        session.render.word(f'"{path}":{one["line"]}: {one["reason"]}')
        if one["text"].strip():
            session.render.word(f"    {one['text']}")
    if len(of_lines) > _SHOWN_MAX:
        session.render.word(f"and {len(of_lines) - _SHOWN_MAX} lines more")
    for kind in sorted({one["kind"] for one in problems} - {"line"}) if of_lines else ():
        session.render.word(conclusion([kind]))


def tell_error(session: Session, error: JobctlError) -> None:
    """An error of the daemon, in the way of this program."""
    if isinstance(error, NotFound) and error.message.startswith("no crontab for"):
        session.render.word(error.message)
        return
    if isinstance(error, Forbidden) and " may not use " in error.message:
        session.render.word(
            f"You ({error.message.partition(' may not use ')[0]}) are not allowed to use this program (crontab)"
        )
        session.render.word(f"  {error.message}; see crontab(1)")
        return
    why = f": {error.details['why']}" if error.details.get("why") else ""
    session.render.word(f"crontab: {error.message}{why}")
    if error.hint:
        session.render.word(f"  {error.hint}")
