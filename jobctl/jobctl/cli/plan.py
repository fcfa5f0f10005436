"""From the options of a schedule to the field `schedule`: at most one of its kinds, and how it is carried out."""

import re
from collections.abc import Mapping
from typing import Any, Final

from jobctl.cli import draft
from jobctl.cli.draft import named
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput

#: Of which a schedule has one.
KINDS: Final = ("cron", "every", "at", "after", "on_boot", "on_start")
#: What else it has, and with which kinds.
GOES_WITH: Final = {"jitter": ("cron", "every"), "dst_gap": ("cron",), "dst_overlap": ("cron",)}
MANNER: Final = tuple(GOES_WITH)
_CRON_FIELDS: Final = 5
_CRON_FIELD: Final = re.compile(r"[0-9*,/A-Za-z-]{1,40}")


def schedule(
    session: Session, options: Mapping[str, Any], of_line: Mapping[str, Any], now_instead: str
) -> dict[str, Any]:
    """What was given of it. `of_line` is the schedule of `--line`; `now_instead` runs what is meant at once."""
    at = draft.moment(session, options, now_instead)
    kinds: dict[str, Any] = {
        "--line": of_line or None,
        "--cron": options["cron"],
        "--every": options["every"],
        "--in" if options["later"] is not None else "--at": at,
        "--after": options["after"],
        "--on-boot": options["on_boot"] or None,
        "--on-start": options["on_start"] or None,
    }
    if options["at"] is not None and options["later"] is not None:
        raise InvalidInput("a job has one schedule, not --at and --in", "keep one", field="schedule")
    given = {option: value for option, value in kinds.items() if value is not None}
    if len(given) > 1:
        raise InvalidInput(f"a job has one schedule, not {' and '.join(given)}", "make a job of each, or keep one")
    plan: dict[str, Any] = {}
    for option, value in given.items():
        field = option.removeprefix("--").replace("-", "_")
        plan |= value if isinstance(value, dict) else {"at" if field == "in" else field: value}
    if options["cron"] is not None:
        _check_cron(options["cron"])
    return plan | {name: options[name] for name in MANNER if options[name] is not None}


def crontab_line(text: str) -> dict[str, Any]:
    """Schedule, command and input of one crontab line, read exactly as cron reads it."""
    from jobctl.crontabs.line import parse_line

    entry = named("--line", lambda: parse_line(text))
    plan = {"on_boot": True} if entry.schedule == "@reboot" else {"cron": entry.schedule}
    return {"target": {"shell": entry.command}, "stdin": entry.input, "schedule": plan}


def check_quotes(words: list[str], extra: list[str], cron: str | None) -> None:
    """`extra` words may be the rest of an expression without quotes; its `*` may be names of files by now. Of one that
    had quotes nothing is missing but what it lacks."""
    if cron is None or not words or cron.startswith("@") or len(cron.split()) != 1:
        return
    fields = [cron, *words[1 - _CRON_FIELDS :]]
    plain = len(fields) == _CRON_FIELDS and all(_CRON_FIELD.fullmatch(field) for field in fields)
    example = " ".join(fields) if plain else "0 3 * * *"
    if extra or plain:
        raise InvalidInput(
            f"--cron takes one argument, and {cron!r} is not all of it",
            f'put the expression in quotes: --cron "{example}"',
            field="--cron",
        )


def _check_cron(text: str) -> None:
    """Refused here, before a daemon is started for it."""
    from jobctl.schedule import parse_cron

    if text.removeprefix("@").startswith("every"):
        from jobctl.cli.hints import duration_hint

        wanted = text.removeprefix("@").removeprefix("every").strip()
        meant = duration_hint(wanted).rpartition(" ")[2] or wanted or "10m"
        raise InvalidInput(f"--cron {text!r} is an interval", f"write it as --every {meant}", field="--cron")
    if text.strip() == "@reboot":
        raise InvalidInput("@reboot is not a time", "write it as --on-boot", field="--cron")
    try:
        named("--cron", lambda: parse_cron(text))
    except InvalidInput as error:
        from jobctl.cli.hints import cron_hint

        error.hint = cron_hint(error.hint)
        raise
