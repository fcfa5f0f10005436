"""The words of a message, and the command that delivers it.

Everything a job is called or printed was made printable and short when its event was read (`notices.happening`); it
reaches a delivery by standard input and environment only, never as a part of a command or of a header's structure.
"""

import quopri
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from email.header import Header
from email.utils import format_datetime
from typing import Final, NamedTuple

from jobctl import schedule
from jobctl.model import Execution, Run
from jobctl_daemon.decide import notices
from jobctl_daemon.decide.notices import Address, Box, Happening, Kind, plain

#: What a bundle is called by, the gravest first.
_GRAVEST_FIRST: Final = (Kind.DEAD, Kind.FAILED, Kind.QUARANTINED, Kind.SKIPPING, Kind.UNTOLD, Kind.RECOVERED)

#: sendmail(8) reads the addresses from the message (-t), and takes a line with a single dot for text (-i).
SENDMAIL: Final = """\
for program in "$(command -v sendmail)" /usr/sbin/sendmail /usr/lib/sendmail; do
    [ -x "$program" ] && exec "$program" -i -t
done
echo "there is no sendmail here: install a mail transport, or use --notify exec:COMMAND" >&2
exit 127
"""
_EXEC: Final = "exec:"


class Here(NamedTuple):
    """Where the messages come from: the host's name, its zone for the times in them, and its mail program where one is
    set."""

    host: str
    zone: str
    sendmail: str = ""


class Letter(NamedTuple):
    """A message: one line, the whole text, and what a command finds in its environment."""

    subject: str
    text: str
    variables: dict[str, str]


# ── words ──────────────────────────────────────────────


def letter(box: Box, run: Run | None, here: Here) -> Letter:
    """The message about what the box holds; `run` is that of a single thing, if it is still known."""
    held, number = box.held, len(box.held) + box.more
    if number == 1:
        line = summary(held[0])
        variables = _variables(held[0], held[0].count, here)
        return Letter(f"jobctl on {here.host}: {line}", _single(held[0], run, here), variables)
    gravest = min(held, key=lambda what: _GRAVEST_FIRST.index(what.kind))
    line = f"{summary(gravest)}, and {number - 1} more"
    return Letter(f"jobctl on {here.host}: {line}", _bundle(held, number, here), _variables(gravest, number, here))


def summary(what: Happening) -> str:
    """One line."""
    why = what.reason or what.failure_class
    match what.kind:
        case Kind.RECOVERED:
            return f"{what.job} works again"
        case Kind.QUARANTINED:
            return f"{what.job} is paused: {why}" if why else f"{what.job} is paused"
        case Kind.SKIPPING:
            return f"{what.job} was skipped {what.count} times in a row" + (f": {why}" if why else "")
        case Kind.UNTOLD:
            return "failures may not have been told"
    words = f"{what.job} still fails" if what.again else f"{what.job} failed"
    return words + (f": {why}" if why else "") + (f" ({what.count} more since the last message)" if what.again else "")


def _single(what: Happening, run: Run | None, here: Here) -> str:
    facts = [
        ("job", what.job),
        ("run", "" if what.run_id is None else str(what.run_id)),
        ("due", _local(notices.instant_ms(run.scheduled_at), here) if run else ""),
        ("when", _local(what.at_ms, here)),
        ("attempts", str(what.attempt) if what.attempt else ""),
        ("class", what.failure_class if what.kind in (Kind.DEAD, Kind.FAILED) else ""),
        ("last line", what.error),
    ]
    lines = [f"{here.host}: {summary(what)}", "", *(f"  {name:<10} {value}" for name, value in facts if value), ""]
    lines += [f"  {command:<34} {words}".rstrip() for command, words in _commands(what)]
    if what.kind in (Kind.DEAD, Kind.FAILED):
        lines += ["", "While it fails in the same way, this is told once an hour; that it works again, once."]
    return "\n".join(lines) + "\n"


def _bundle(held: Sequence[Happening], number: int, here: Here) -> str:
    kinds = Counter(what.kind for what in held)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in _GRAVEST_FIRST if kind in kinds)
    lines = [f"{number} messages from {here.host}" + (f": {counts}" if number == len(held) else ""), ""]
    for what in held:
        of_run = "" if what.run_id is None else f" (run {what.run_id})"
        lines.append(f"  {_local(what.at_ms, here)}  {summary(what)}{of_run}")
    if number > len(held):
        lines.append(f"  and {number - len(held)} more")
    lines += ["", "  jobctl status", "  jobctl dlq ls", "  jobctl runs --state failed"]
    own = (_own_command(what) for what in held)
    lines += [f"  {command:<34} {words}" for command, words in dict.fromkeys(filter(None, own))]
    return "\n".join(lines) + "\n"


def _own_command(what: Happening) -> tuple[str, str] | None:
    """What only this job needs, and nobody finds in a list."""
    return _commands(what)[-1] if what.kind is Kind.QUARANTINED else None


def _commands(what: Happening) -> list[tuple[str, str]]:
    job = shlex.quote(what.job)
    log = (f"jobctl log {what.run_id}", "what it printed")
    look = (f"jobctl show {what.run_id} --run", "its attempts, and why each failed")
    runs = (f"jobctl runs {job}", "what ran lately")
    match what.kind:
        case Kind.DEAD:
            return [log, look, (f"jobctl dlq replay {what.run_id}", "run it again, under the same key")]
        case Kind.FAILED:
            return [log, look, (f"jobctl retry {what.run_id}", "run it again")]
        case Kind.RECOVERED:
            return [runs]
        case Kind.QUARANTINED:
            return [("jobctl dlq ls", "what died"), runs, (f"jobctl resume {job}", "let it go on")]
        case Kind.SKIPPING:
            return [(f"jobctl why {job}", "why it did not run"), runs]
        case Kind.UNTOLD:
            return [
                ("jobctl status", "is the daemon well"),
                ("jobctl dlq ls", "what died"),
                ("jobctl runs --state failed", "what failed"),
            ]


def _variables(what: Happening, count: int, here: Here) -> dict[str, str]:
    """Of a bundle: the gravest thing in it, and how many there are."""
    return {
        "JOBCTL_EVENT": what.kind.value,
        "JOBCTL_ABOUT_HOST": here.host,
        "JOBCTL_ABOUT_JOB": what.job,
        "JOBCTL_ABOUT_RUN": "" if what.run_id is None else str(what.run_id),
        "JOBCTL_ABOUT_KEY": what.key,
        "JOBCTL_ABOUT_CLASS": what.failure_class,
        "JOBCTL_ABOUT_REASON": what.reason,
        "JOBCTL_ABOUT_COUNT": str(count),
    }


def _local(at_ms: int, here: Here) -> str:
    return schedule.local_time(at_ms, here.zone).replace("T", " ")


# ── delivery ──────────────────────────────────────────────


def name(box: Box) -> str:
    """How the delivery is called in lists of runs."""
    jobs = {what.job for what in box.held}
    if box.more or len(jobs) > 1:
        return "notify several jobs"
    return f"notify {jobs.pop() or 'jobd'}"


def execution(box: Box, wanted: Letter, here: Here, now_ms: int) -> Execution:
    """The command that delivers the message, as the job's user and with its PATH."""
    address = box.address
    by_mail = not address.to.startswith(_EXEC)
    program = f"exec {shlex.quote(here.sendmail)} -i -t" if here.sendmail else SENDMAIL
    return Execution(
        shell=program if by_mail else address.to.removeprefix(_EXEC),
        stdin=mail(box, wanted, here, now_ms) if by_mail else wanted.text,
        env=wanted.variables,
        user=address.user,
        path=address.path,
    )


def mail(box: Box, wanted: Letter, here: Here, now_ms: int) -> str:
    """The message for sendmail: RFC 5322, in ASCII whatever its words are (but for an address that is not, RFC 6532).

    The transport adds From. Every attempt of the delivery has the same Message-ID, so that a receiver can tell a
    repetition. Auto-Submitted keeps holiday replies away (RFC 3834).
    """
    headers = {
        "To": recipient(box.address),
        "Subject": encoded(wanted.subject),
        **postmark(notices.key_of(box), now_ms, here),
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "quoted-printable",
    }
    return f"{head(headers.items())}\n{quopri.encodestring(wanted.text.encode()).decode('ascii')}"


def recipient(address: Address) -> str:
    """ADDRESS of mail:ADDRESS, or the owner's login name, which the host's mail transport knows."""
    _, _, wanted = address.to.partition(":")
    return plain(wanted) or plain(address.owner)


def postmark(key: str, at_ms: int, here: Here) -> dict[str, str]:
    """The headers by which a message is known again: the same for every attempt of a delivery."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", here.host) or "localhost"
    moment = datetime.fromisoformat(schedule.local_time(at_ms, here.zone))
    return {
        "Date": format_datetime(moment),
        "Message-ID": f"<{at_ms}.{key.replace(':', '.')}@{host}>",
        "Auto-Submitted": "auto-generated",
    }


def head(headers: Iterable[tuple[str, str]]) -> str:
    """The headers of a message, without the empty line behind them. No value has a line's end of its own."""
    return "".join(f"{field}: {value}\n" for field, value in headers)


def encoded(text: str, field: str = "Subject") -> str:
    """A header's value; RFC 2047 where it is not ASCII, or would be taken for that."""
    if text.isascii() and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name=field).encode()
