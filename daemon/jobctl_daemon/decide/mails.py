"""The mail of a run as cron sends it: whether there is one, its headers, and what is said in place of missing output.

The headers are those of Debian's cron 3.0pl1 (do_command.c), with a date, a Message-ID that every attempt of the
delivery has, and Auto-Submitted (RFC 3834). The output follows them untouched, whatever its bytes are. What a job is
called, runs or has in its environment was made printable and short first, and reaches the mail program by standard
input only.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from jobctl.addresses import recipients
from jobctl.crontabs.shell import command_of
from jobctl.errors import InvalidInput
from jobctl.model import Enclosed, Event, Execution
from jobctl.states import MailOn
from jobctl_daemon.decide import letters
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.notices import instant_ms, plain
from jobctl_daemon.rows import Mailing, Notice

#: The keys of deliveries begin so: `mail:RUN:FENCE`. All of an owner are runs of one hidden job of this name.
KEY_PREFIX: Final = "mail:"
NAME: Final = "mail"

#: In the detail of an attempt: there was no room for what it printed (`execution.reports`).
_INCOMPLETE: Final = "log_incomplete("
_FAILED: Final = ("run.failed", "run.dead")
_OF_A_CRONTAB: Final = "crontab:"
#: A header's line has at most 998 bytes (RFC 5322, 2.1.1).
_SUBJECT_CHARS: Final = 900
_VARIABLE_CHARS: Final = 500
_VARIABLES_MOST: Final = 50
_TYPE_CHARS: Final = 200


class Office(NamedTuple):
    """Where mail is posted: the mail program, who sends it, and whose jobs get any by default."""

    here: Here
    sendmail: str
    sender: str
    """The name of the daemon's user."""


class End(NamedTuple):
    """The end of a run of which mail may be wanted, or of such a mail."""

    run_id: int
    fence: int
    size: int
    failed: bool
    at_ms: int
    why: str


class Delivered(NamedTuple):
    """The end of a mail for good: it went, it could not be delivered, or it was one too many."""

    how: str
    run_id: int = 0
    fence: int = 0
    """Of the attempt whose output it is."""
    status: int = 0
    """The exit code of the mail program; 0 also where it ended otherwise."""


def read(event: Event) -> End | Delivered | None:
    """What an event is here; None: nothing."""
    data = event.data
    if str(data.get("key")).startswith(KEY_PREFIX):
        return _delivered(event)
    if "mail" not in data and event.kind == "run.succeeded":
        return Delivered("sent")  # the store tells of no other
    size, fence = data.get("mail"), data.get("fence")
    if event.run_id is None or not isinstance(size, int) or not isinstance(fence, int):
        return None
    return End(
        run_id=event.run_id,
        fence=fence,
        size=size,
        failed=event.kind in _FAILED,
        at_ms=instant_ms(event.at),
        why=plain(data.get("reason")),
    )


def _delivered(event: Event) -> Delivered | None:
    how = {"run.succeeded": "sent", "run.failed": "failed", "run.skipped": "dropped"}.get(event.kind)
    run_id, _, fence = str(event.data.get("key")).removeprefix(KEY_PREFIX).partition(":")
    if how is None or not (run_id.isdecimal() and fence.isdecimal()):
        return None
    status = event.data.get("exit_code")
    return Delivered(how, int(run_id), int(fence), status if isinstance(status, int) else 0)


def concerns(event: Event) -> bool:
    """Whether the service must look at once."""
    return "mail" in event.data or str(event.data.get("key")).startswith(KEY_PREFIX)


def wanted(end: End, mailing: Mailing, of_crontabs: str) -> bool:
    """Whether somebody gets mail of it; `of_crontabs` is what holds for lines of crontabs that do not say when."""
    if mailing.mail is None:
        return False
    otherwise = of_crontabs if mailing.source.startswith(_OF_A_CRONTAB) else MailOn.OUTPUT
    when = mailing.mail.on or otherwise
    if when == MailOn.OUTPUT:
        return end.size > 0
    return when == MailOn.ALWAYS or (when == MailOn.FAILURE and end.failed)


def key_of(end: End) -> str:
    """Of the delivery: a run that is replayed is mailed again."""
    return f"{KEY_PREFIX}{end.run_id}:{end.fence}"


def notice(end: End, mailing: Mailing, office: Office) -> Notice:
    """The delivery of the mail, as whom the run ran as."""
    return Notice(
        key=key_of(end),
        job_id=mailing.run.job_id,
        name=NAME,
        execution=Execution(
            command=[office.sendmail, "-i", "-t"],
            stdin=head(end, mailing, office),
            sends=Enclosed(run_id=end.run_id, fence=end.fence, size=end.size, note=note(end, mailing)),
            user=mailing.execution.user,
        ),
        mail=True,
    )


def head(end: End, mailing: Mailing, office: Office) -> str:
    """The headers, with the empty line behind them."""
    env, user, host = mailing.execution.env, user_of(mailing), office.here.host.partition(".")[0]
    target = {"command": mailing.execution.command, "shell": mailing.execution.shell}
    subject = f"Cron <{user}@{host}> {command_of(target, None) or ''}"
    failed = " (failed)" if end.failed else ""
    headers = [
        ("From", _sender(env, office)),
        ("To", mailing.mail.to if mailing.mail else user),
        ("Subject", letters.encoded(plain(subject, _SUBJECT_CHARS) + failed)),
        *letters.postmark(key_of(end), end.at_ms, office.here).items(),
        ("MIME-Version", "1.0"),
        ("Content-Type", _given(env, "CONTENT_TYPE") or "text/plain; charset=UTF-8"),
        ("Content-Transfer-Encoding", _given(env, "CONTENT_TRANSFER_ENCODING") or "8bit"),
        *_variables(mailing, user),
        ("X-Jobctl-Run", f"{end.run_id} {letters.encoded(end.why, 'X-Jobctl-Run')}".rstrip()),
    ]
    return letters.head(headers) + "\n"


def user_of(mailing: Mailing) -> str:
    """Whom it ran as."""
    return plain(mailing.execution.user or mailing.owner)


def note(end: End, mailing: Mailing) -> str | None:
    """What is said beside the output."""
    if not end.size:
        return f"it printed nothing; {end.why}" if end.why else "it printed nothing"
    if _INCOMPLETE in (mailing.attempt.detail or ""):
        return "a part of the output is missing: there was no room to keep it"
    return None


def _sender(env: dict[str, str], office: Office) -> str:
    """MAILFROM, as Debian's cron has it, where it is an address."""
    try:
        return recipients(env.get("MAILFROM", ""))
    except InvalidInput:
        return f"{office.sender} (Cron Daemon)"


def _given(env: dict[str, str], name: str) -> str:
    """What a crontab says of a header's value; nothing where it cannot be one."""
    value = env.get(name, "")
    return value if value.isascii() and value.isprintable() and len(value) <= _TYPE_CHARS else ""


def _variables(mailing: Mailing, user: str) -> Iterator[tuple[str, str]]:
    """The environment of the table, for lines of crontabs alone: that of other jobs may hold secrets."""
    if not mailing.source.startswith(_OF_A_CRONTAB):
        return
    env = {"SHELL": "/bin/sh", **mailing.execution.env, "LOGNAME": user}
    for name, value in list(env.items())[:_VARIABLES_MOST]:
        yield "X-Cron-Env", letters.encoded(f"<{plain(f'{name}={value}', _VARIABLE_CHARS)}>", "X-Cron-Env")
