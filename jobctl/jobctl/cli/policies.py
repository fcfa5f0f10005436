"""From the options of limits and failures to the fields of a request; what cannot be is refused before anything is
sent."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobctl.errors import InvalidInput
from jobctl.states import FailureClass, MailOn, Misfire, OnFailure, Overlap

OVERLAPS: Final = tuple(map(str, Overlap))
MISFIRES: Final = tuple(map(str, Misfire))
ON_FAILURES: Final = tuple(map(str, OnFailure))
#: What --no-retry-on takes beside exit codes: a run that was cancelled is never retried.
KINDS: Final = tuple(str(kind) for kind in FailureClass if kind is not FailureClass.CANCELLED)
#: What --on-lost takes, as far as it can be listed.
ON_LOST: Final = ("retry", "dead", "ask:")
MAIL_ON: Final = tuple(map(str, MailOn))
NOTIFY: Final = ("mail", "mail:", "exec:")
_EXIT_CODE_MAX: Final = 255
_PRIORITY_MAX: Final = 9


def policies(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of those options that were given."""
    _choice("--misfire", options.get("misfire"), MISFIRES)
    _choice("--on-failure", options.get("on_failure"), ON_FAILURES)
    body: dict[str, Any] = {}
    if options.get("overlap") is not None:
        body |= _overlap(options["overlap"])
    if options.get("limit") is not None:
        body["limit"] = _at_least("--limit", options["limit"], 1)
    if options.get("priority") is not None:
        body["priority"] = _priority(options["priority"])
    if options.get("notify"):
        body["notify"] = [_destination(text) for text in options["notify"]]
    if mail := _mail(options):
        body["mail"] = mail
    retry = _retry(options)
    return {**body, "retry": retry} if retry else body


def _mail(options: Mapping[str, Any]) -> dict[str, Any]:
    """Who gets the output, and when: of an edit one of the two may be given."""
    _choice("--mail-on", options.get("mail_on"), MAIL_ON)
    to, when = options.get("mail"), options.get("mail_on")
    mail = {} if to is None else {"to": _recipients(to)}
    return mail if when is None else {**mail, "on": when}


def _recipients(text: str) -> str:
    from jobctl.addresses import recipients

    try:
        return recipients(text)
    except InvalidInput as error:
        raise InvalidInput(f"--mail: {error.message}", error.hint, field="--mail") from error


def _retry(options: Mapping[str, Any]) -> dict[str, Any]:
    retry = {name: options[name] for name in ("backoff", "backoff_max") if options.get(name) is not None}
    if options.get("retries") is not None:
        retry["max"] = _at_least("--retries", options["retries"], 0)
    if options.get("no_retry_on") is not None:
        retry["no_retry_on"] = [_failure(word.strip()) for word in options["no_retry_on"].split(",") if word.strip()]
    if options.get("on_lost") is not None:
        retry |= _on_lost(options["on_lost"])
    return retry


def _overlap(text: str) -> dict[str, Any]:
    word, colon, count = text.partition(":")
    _choice("--overlap", word, OVERLAPS)
    if not colon:
        return {"overlap": word}
    if word != Overlap.QUEUE or not _is_number(count) or int(count) < 1:
        raise InvalidInput(
            f"--overlap {text!r}: only queue takes a number, of runs that may wait", "as in queue:3", field="--overlap"
        )
    return {"overlap": word, "overlap_queue": int(count)}


def _on_lost(text: str) -> dict[str, Any]:
    word, colon, rest = text.partition(":")
    if word == "ask" and rest.strip():
        return {"on_lost": text}
    if word == "retry" and _is_number(rest):
        return {"on_lost": word, "lost": int(rest)}
    if word in ("retry", "dead") and not colon:
        return {"on_lost": word}
    raise InvalidInput(
        f"--on-lost {text!r} is none of retry, retry:N, dead, ask:COMMAND",
        "COMMAND is a line for the shell that ends with 0 when the work was done, with 1 when it was not",
        field="--on-lost",
    )


def _failure(word: str) -> int | str:
    if _is_number(word) and 1 <= int(word) <= _EXIT_CODE_MAX:
        return int(word)
    if word not in KINDS:
        raise InvalidInput(
            f"--no-retry-on: {word!r} is neither an exit code nor one of {', '.join(KINDS)}",
            "several with commas, as in 3,oom",
            field="--no-retry-on",
        )
    return word


def _priority(text: str) -> int | str:
    from jobctl.defaults import PRIORITIES

    word = text.strip().lower()
    if word in PRIORITIES:
        return word
    if not _is_number(word.removeprefix("-")) or abs(int(word)) > _PRIORITY_MAX:
        raise InvalidInput(
            f"--priority {text!r} is none of {', '.join(PRIORITIES)}, and no number from -9 to 9",
            "smaller goes first",
            field="--priority",
        )
    return int(word)


def _destination(text: str) -> str:
    way, colon, where = text.partition(":")
    if text == "mail" or (way in ("mail", "exec") and colon and where.strip()):
        return text
    raise InvalidInput(
        f"--notify {text!r} is none of mail, mail:ADDRESS, exec:COMMAND", "see jobctl add --help", field="--notify"
    )


def _at_least(option: str, value: int, least: int) -> int:
    if value < least:
        raise InvalidInput(f"{option} {value} is not possible", f"{least} or more", field=option)
    return value


def _choice(option: str, value: str | None, allowed: Sequence[str]) -> None:
    """One of a few words, or none."""
    if value is not None and value not in allowed:
        raise InvalidInput(f"{option} {value!r} is none of {', '.join(allowed)}", "see jobctl add --help", field=option)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
