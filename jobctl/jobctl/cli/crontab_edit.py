"""`crontab -e`: the table in an editor, checked by the daemon before it is installed. An edit is never lost."""

from typing import Final, NamedTuple

from jobctl.cli.crontab_sheet import Sheet
from jobctl.cli.crontab_table import Refused, Said, Whose, bytes_of, install, tell_error, yes_or_no
from jobctl.cli.crontab_told import Told, told_to_end
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.client.sync import NO_CRONTAB, Client
from jobctl.errors import Conflict, JobctlError, NotFound

_AGAIN: Final = "Enter Y or N\n"
_CHANGES_SHOWN: Final = 40
#: Where there is no table yet.
HELP: Final = b"""\
# Your crontab: a line for each job, with the minute, the hour, the day of the month, the month and the day of the week
# at which it starts (* is any), and its command. Lines that begin with # are comments.
#
# For example, a backup at 5 in the morning every Monday:
# 0 5 * * 1 tar -zcf /var/backups/home.tgz /home/
#
# What became of each run: jobctl runs; what it printed: jobctl log JOB; when it comes next: jobctl ls.
#
# m h  dom mon dow   command
"""


class _Seen(NamedTuple):
    """The table as it was looked at, and how the daemon knows it."""

    data: bytes
    etag: str


def edit(session: Session, client: Client, whose: Whose) -> None:
    """Has it edited until it is installed, unchanged or given up. `Said` when nothing was installed."""
    seen = _look(client, whose)
    if seen.etag == NO_CRONTAB:
        session.render.word(f"no crontab for {whose.user} - using an empty one")
    begun = seen.data if seen.etag != NO_CRONTAB else HELP
    with told_to_end(session.world.clock) as ear:
        paper = Sheet(begun, session.world.environ)
        try:
            with ear.listening():
                _until_done(session, client, whose, paper, seen, begun)
        except BaseException as error:
            _keep(session, paper, begun, error)
            raise
        finally:
            paper.close()


def _keep(session: Session, paper: Sheet, begun: bytes, error: BaseException) -> None:
    """What was written is there when this program has ended, and it is said where, while no signal cuts that short.

    Raises `Said` or `Ended` for what is no surprise.
    """
    path = paper.left(begun)
    if path is None:
        if isinstance(error, Told):
            raise Said(f"crontab: {error}; nothing was installed") from error
        return
    _tell_why(session, error)
    session.render.word(f"crontab: edits left in {path}")
    if isinstance(error, Said | Told | JobctlError):
        raise Ended(How.TROUBLE) from error


def _tell_why(session: Session, error: BaseException) -> None:
    if isinstance(error, JobctlError):
        tell_error(session, error)
    elif isinstance(error, Told):
        session.render.word(f"crontab: {error}; nothing was installed")
    elif isinstance(error, Said):
        session.render.word(str(error))


def _look(client: Client, whose: Whose) -> _Seen:
    try:
        found = client.crontab(whose.named)
    except NotFound:
        return _Seen(b"", NO_CRONTAB)
    return _Seen(bytes_of(found), found["etag"])


def _until_done(session: Session, client: Client, whose: Whose, paper: Sheet, seen: _Seen, begun: bytes) -> None:
    while True:
        data = paper.edited()
        if data == begun:
            session.render.word("crontab: no changes made to crontab")
            return
        if not data and begun:
            question = "The file is empty now. Install an empty crontab? (y/n) "
            if not yes_or_no(session, question, _AGAIN):
                raise Said("crontab: the file is empty; nothing was installed (crontab -r removes a crontab)")
        session.render.word("crontab: installing new crontab")
        try:
            _install(session, client, whose, paper, data, seen)
        except Refused as refused:
            if not yes_or_no(session, f"{refused}\nDo you want to retry the same edit? (y/n) ", _AGAIN):
                raise Said("crontab: nothing was installed") from refused
        else:
            return


def _install(session: Session, client: Client, whose: Whose, paper: Sheet, data: bytes, seen: _Seen) -> None:
    """Once more with a newline at the end, or over what somebody else has put there, where a person wants that."""
    etag = seen.etag
    while True:
        try:
            install(session, client, whose, data, paper.path, etag)
            return
        except Refused as refused:
            if refused.kinds != {"newline"}:
                raise
            if not yes_or_no(session, f"{refused}\nAdd the missing newline? (y/n) ", _AGAIN):
                raise
            data += b"\n"
            paper.write(data)
        except Conflict as error:
            if error.details.get("field") != "If-Match":
                raise
            now = _look(client, whose)
            _tell_changes(session, whose, seen.data, now)
            if not yes_or_no(session, "Replace it with yours? (y/n) ", _AGAIN):
                raise Said("crontab: nothing was installed") from error
            etag = now.etag


def _tell_changes(session: Session, whose: Whose, before: bytes, now: _Seen) -> None:
    from difflib import unified_diff

    render = session.render
    if now.etag == NO_CRONTAB:
        render.word(f"somebody has removed the crontab of {whose.user} since you began")
        return
    render.word(f"somebody has changed the crontab of {whose.user} since you began:")
    old, new = (text.decode("utf-8", "backslashreplace").splitlines() for text in (before, now.data))
    changes = list(unified_diff(old, new, "when you began", "now", lineterm="", n=1))
    for line in changes[:_CHANGES_SHOWN]:
        render.word(f"  {line}")
    if len(changes) > _CHANGES_SHOWN:
        render.word(f"  … and {len(changes) - _CHANGES_SHOWN} lines more")
