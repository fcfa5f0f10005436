"""From the options of a definition to the body of a request, and errors that name the option."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from jobctl.cli.policies import policies
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput
from jobctl.reading.times import rfc3339, span

T = TypeVar("T")

_PAST_MS_MAX = 60_000
#: What a field of the API is on the command line.
OPTIONS: Final = {name: "--" + name.replace("_", "-") for name in (
    "env_file", "misfire_within", "late_after", "log_max", "dst_gap", "dst_overlap", "jitter", "every", "cron", "at",
    "after", "on_boot", "on_start", "timeout", "grace", "overlap", "misfire", "umask", "nice", "user", "cwd", "env",
    "stdin", "note", "shell", "limit", "on_failure", "queue", "priority", "notify", "mail",
)} | {
    "payload_ref": "--payload", "run_at": "--at", "timezone": "--tz", "tags": "--tag",
    "overlap_queue": "--overlap queue:N", "retry.max": "--retries", "retry.backoff": "--backoff",
    "retry.backoff_max": "--backoff-max", "retry.no_retry_on": "--no-retry-on", "retry.on_lost": "--on-lost",
    "retry.lost": "--on-lost retry:N", "mail.to": "--mail", "mail.on": "--mail-on",
}  # fmt: skip
_FIELDS: Final = re.compile(
    r"(?<![\w-])(?:schedule\.|target\.)?(?P<field>payload_ref|run_at|env_file|misfire_within|late_after|log_max"
    r"|dst_gap|dst_overlap|on_boot|on_start|overlap_queue|on_failure|timezone(?= is)|(?<=target\.)shell"
    r"|(?<=schedule\.)(?:at|after|every|cron|jitter)"
    r"|retry\.(?:max|backoff_max|backoff|no_retry_on|on_lost|lost)|mail\.(?:to|on))\b"
)

#: Options that go into the body under their own name, as they were written.
_PLAIN: Final = ("name", "stdin", "user", "umask", "nice", "timeout", "grace", "late_after", "misfire",
                 "misfire_within", "log_max", "note", "queue", "on_failure")  # fmt: skip
_DURATIONS: Final = ("every", "jitter", "timeout", "grace", "misfire_within", "late_after", "backoff", "backoff_max")


def fields(session: Session, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that options set, but for what is run and when. Nothing that was not given is sent."""
    check_durations(options, [name for name in _DURATIONS if name in options])
    if options.get("stdin") is not None and options.get("payload") is not None:
        raise InvalidInput("--stdin and --payload are two inputs", "leave one of them out", field="--payload")
    body: dict[str, Any] = {name: options[name] for name in _PLAIN if options.get(name) is not None}
    body |= policies(options)
    body |= {name: path(options[name]) for name in ("cwd", "env_file") if options.get(name)}
    body |= {"payload_ref": path(options["payload"])} if options.get("payload") else {}
    body |= {"env": variables(options["env"], session.world.environ)} if options.get("env") else {}
    return body | ({"tags": list(options["tag"])} if options.get("tag") else {})


def target(session: Session, shell: str | None) -> dict[str, Any]:
    """What is run: the words after `--`, or a line for the shell."""
    command = session.command
    if shell is not None and command is not None:
        raise InvalidInput("--shell and -- COMMAND are two commands", "leave one of them out", field="--shell")
    if shell is not None:
        if not shell.strip():
            raise InvalidInput("--shell is empty", "write a command line", field="--shell")
        return {"shell": shell}
    if not command:
        raise InvalidInput("there is no command", "put it behind --, as in: jobctl add NAME --every 10m -- COMMAND ARG")
    return {"command": command}


def moment(session: Session, options: Mapping[str, Any], now_instead: str) -> str | None:
    """The instant of `--at` or `--in`, in RFC 3339.

    One that has passed is a slip, and refused, unless a key says that this may be a repetition: it must get its job.
    """
    at, later, zone = (options[name] for name in ("at", "later", "tz"))
    if at is None and later is None:
        return None
    from jobctl.schedule import host_zone, parse_when

    now_ms = session.world.clock.now_ms()
    if later is not None:
        return rfc3339(now_ms + duration_ms("--in", later))
    assert at is not None
    at_ms = int(named("--at", lambda: parse_when(at, now_ms, zone or host_zone()[0]), lambda: _time_hint(at)))
    if at_ms < now_ms - _PAST_MS_MAX and options.get("idempotency_key") is None:
        raise InvalidInput(
            f"--at {at}: that was {span((now_ms - at_ms) / 1000)} ago", f"for now: {now_instead}", field="--at"
        )
    return rfc3339(at_ms)


def run_now(target: Mapping[str, Any]) -> str:
    """The command line that runs a target at once."""
    from shlex import join, quote

    if target.get("shell") is not None:
        return f"jobctl run --shell {quote(target['shell'])}"
    return f"jobctl run -- {join(target['command'])}"


def told(ask: Callable[[], T]) -> T:
    """What `ask` returns; an error of the API says which option it is about, not which field."""
    try:
        return ask()
    except InvalidInput as error:
        field = str(error.details.get("field") or "").removeprefix("schedule.").removeprefix("target.")
        option = OPTIONS.get(field) or OPTIONS.get(field.partition(".")[0])
        message, hint = _FIELDS.sub(_as_option, error.message), _FIELDS.sub(_as_option, error.hint)
        if option is not None and option not in message:
            message = f"{option}: {message}"
        named = InvalidInput(message, hint, field=option or error.field)
        named.details |= {name: words for name, words in error.details.items() if name != "field"}
        raise named from error


def _as_option(match: re.Match[str]) -> str:
    return OPTIONS[match["field"]]


def named(option: str, read: Callable[[], T], guess: Callable[[], str] = str) -> T:
    """What `read` returns; when it refuses, the error says which option it was. `guess`: a hint that fits better."""
    try:
        return read()
    except InvalidInput as error:
        raise InvalidInput(f"{option}: {error.message}", guess() or error.hint, field=option) from error


def duration_ms(option: str, text: str) -> int:
    from jobctl.schedule import parse_duration

    return named(option, lambda: parse_duration(text), lambda: _duration_hint(text))


def check_durations(options: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refused here, with the option's name, before a daemon is started for it."""
    for name in names:
        if options[name] is not None:
            duration_ms("--" + name.replace("_", "-"), options[name])


def _duration_hint(text: str) -> str:
    from jobctl.cli.hints import duration_hint

    return duration_hint(text)


def _time_hint(text: str) -> str:
    from jobctl.cli.hints import time_hint

    return time_hint(text)


def variables(pairs: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """`K=V` as written; `K` alone takes the caller's value, so that secrets need not be typed."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name:
            raise InvalidInput(f"--env {pair!r} has no name", "write it as NAME=VALUE", field="--env")
        if not equals and name not in environ:
            raise InvalidInput(
                f"--env {name}: it is not set here", "write it as NAME=VALUE, or export it", field="--env"
            )
        found[name] = value if equals else environ[name]
    return found


def path(text: str | None) -> str | None:
    """Absolute, from the caller's folder: the daemon has another one."""
    return None if text is None else os.path.abspath(text)


def refuse_words(extra: Sequence[str], verb: str, command: str) -> NoReturn:
    """Words that are neither the name nor behind `--`: most likely the command."""
    raise InvalidInput(
        f"{extra[0]!r} is not expected here", f"put the command behind --, as in: jobctl {verb} -- {command}"
    )
