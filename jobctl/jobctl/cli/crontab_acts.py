"""What `crontab` does with a user's table: print, install, check, remove. Words and codes are those of crontab(1)."""

import os
import stat
from typing import Any, Final, NamedTuple

from jobctl.cli.crontab_table import (
    BYTES_MAX,
    Json,
    Said,
    Whose,
    bytes_of,
    conclusion,
    install,
    tell_error,
    tell_problems,
    yes_or_no,
)
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import Conflict, Forbidden, JobctlError, NotFound, Unreachable

_ROOT: Final = 0


class Wish(NamedTuple):
    """What is asked for: list, remove, edit, replace or check; of whom, and with which file."""

    act: str
    user: str | None
    file: str | None
    asks: bool


def carry_out(session: Session, wish: Wish) -> None:
    """Does it, or says why not and ends with 1. For programs (`--json`) errors are those of all verbs."""
    try:
        _do(session, wish)
    except Said as said:
        for line in str(said).splitlines():
            session.render.word(line)
        raise Ended(How.TROUBLE) from said
    except JobctlError as error:
        if session.render.machine:
            raise
        tell_error(session, error)
        raise Ended(How.TROUBLE) from error


def _do(session: Session, wish: Wish) -> None:
    whose = _whose(session, wish.user)
    if wish.act == "check":
        _check(session, whose, wish.file or "-")
    elif wish.act == "list":
        _list(session, whose)
    elif wish.act == "remove":
        _remove(session, whose, asks=wish.asks)
    elif wish.act == "replace":
        data = _file(session, wish.file or "-")
        install(session, client_of(session, writes=True), whose, data, wish.file or "-")
    else:
        from jobctl.cli.crontab_edit import edit

        edit(session, client_of(session, writes=True), whose)


# ── whose, and where ─────────────────────────────────────────────
def _whose(session: Session, named: str | None) -> Whose:
    """Raises `Said` for a user who is not there, or whom the caller may not name."""
    import pwd

    uid = session.world.uid
    try:
        own = pwd.getpwuid(uid).pw_name
    except KeyError:
        own = str(uid)
    if named is None:
        return Whose(own, None)
    try:
        entry = pwd.getpwnam(named)
    except (KeyError, UnicodeError, ValueError):
        raise Said(f"crontab:  user `{named}' unknown") from None
    if uid not in (_ROOT, entry.pw_uid):
        raise Said("must be privileged to use -u")
    return Whose(entry.pw_name, None if entry.pw_name == own else entry.pw_name)


def client_of(session: Session, *, writes: bool) -> Client:
    """The system daemon where it runs the host's crontabs, as cron does for everybody; else the user's own."""
    from jobctl.client.transport import UnixTransport

    places = session.places
    if len(places.sockets) > 1 and not places.named:
        system = Client(UnixTransport(places.sockets[-1]))
        try:
            system.crontab()
        except NotFound:
            return system
        except Conflict as error:
            if error.details.get("field") != "crontabs":
                return system
        except Unreachable:
            pass
        else:
            return system
    starts = writes and session.world.uid != _ROOT  # root's daemon would first have to take the host's crontabs over
    return session.writer() if starts else session.reader()


# ── the acts ─────────────────────────────────────────────────────
def _list(session: Session, whose: Whose) -> None:
    """Byte for byte for programs; on a terminal without what would control it."""
    found = client_of(session, writes=False).crontab(whose.named)
    render = session.render
    if render.output in ("json", "ndjson"):
        render.json({"schema": 1, **found})
        return
    data = bytes_of(found)
    if render.out.terminal:
        from jobctl.reading.safe import text

        render.text(text(data.decode("utf-8", "backslashreplace")))
    else:
        render.bytes(data)


def _remove(session: Session, whose: Whose, *, asks: bool) -> None:
    client = client_of(session, writes=True)
    _must_be_there(client, whose)
    if asks:
        answer = yes_or_no(session, f"crontab: really delete {whose.user}'s crontab? (y/n) ", "Please enter Y or N: ")
        if answer is None:
            raise Said("crontab: nobody has answered; nothing was removed")
        if not answer:
            return
    client.delete_crontab(whose.named)
    if session.render.machine:
        session.render.json({"schema": 1, "user": whose.user, "removed": True})


def _must_be_there(client: Client, whose: Whose) -> None:
    """Raises `NotFound`. One that a former holder of the name has left is not shown, and may be removed."""
    try:
        client.crontab(whose.named)
    except Forbidden as error:
        if error.details.get("field") != "owner":
            raise


def _check(session: Session, whose: Whose, path: str) -> None:
    """Needs no daemon."""
    from jobctl.crontabs.check import check

    data = _file(session, path)
    verdict = check(data, whose.user)
    if session.render.machine:
        problems = [_fault(one) for one in verdict.faults or verdict.warnings]
        shown = {"schema": 1, "user": whose.user, "jobs": verdict.jobs, "problems": problems}
        session.render.json({**shown, "installable": not verdict.faults})
        if verdict.faults:
            raise Ended(How.TROUBLE)
        return
    tell_problems(session, path, [_fault(one) for one in verdict.faults or verdict.warnings])
    if verdict.faults:
        raise Said(conclusion([fault.kind for fault in verdict.faults]))
    session.render.word("The syntax of the crontab file was successfully checked.")


def _fault(one: Any) -> Json:
    return {"line": one.line, "text": one.text, "reason": one.reason, "kind": one.kind}


# ── files and words ──────────────────────────────────────────────
def _file(session: Session, path: str) -> bytes:
    """The bytes to install. Opened as the caller, who this is; a FIFO holds nobody up."""
    data = session.world.stdin.buffer.read(BYTES_MAX + 1) if path == "-" else _regular(path)
    if len(data) > BYTES_MAX:
        raise Said(f"crontab is too long; it may have {BYTES_MAX} bytes: put long commands in scripts.")
    return data


def _regular(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Said(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Said(f"{path}: Not a regular file.")
    with open(descriptor, "rb") as file:
        return file.read(BYTES_MAX + 1)
