"""When a job is due, as one text: `0 3 * * *`, `every 10m`, `at tomorrow 09:00`, `in 10m`, `after backup`, `on boot`,
`on start`, `by hand`. Its parts mean what the options of `jobctl add` mean."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from jobctl.errors import InvalidInput
from jobctl.reading.times import milliseconds
from jobctl.schedule import find_zone, parse_cron, parse_duration, parse_when

#: Of which a schedule has one.
KINDS: Final = ("cron", "every", "at", "after", "on_boot", "on_start")
#: What else a schedule has, and with which kinds.
GOES_WITH: Final = {"jitter": ("cron", "every"), "dst_gap": ("cron",), "dst_overlap": ("cron",)}
_WORDS: Final = {
    "": {}, "by hand": {}, "manual": {}, "none": {}, "never": {},
    "on boot": {"on_boot": True}, "@reboot": {"on_boot": True}, "at boot": {"on_boot": True},
    "on start": {"on_start": True},
}  # fmt: skip
_LED: Final = re.compile(r"@?(?P<word>every|at|in|after|cron)\s+(?P<rest>\S.*)", re.DOTALL)
_HINT: Final = "write 0 3 * * *, every 10m, at tomorrow 09:00, in 10m, after JOB, on boot, on start, or by hand"


def text_of(schedule: Mapping[str, Any] | None) -> str:
    """As it is typed, empty for by hand; `schedule` has the fields of the API, durations as texts."""
    plan = schedule or {}
    if plan.get("cron"):
        return str(plan["cron"])
    if plan.get("every"):
        return f"every {plan['every']}"
    if plan.get("at"):
        return f"at {_local(str(plan['at']), str(plan.get('timezone') or 'UTC'))}"
    if plan.get("after"):
        return f"after {str(plan['after']).removesuffix(':success')}"
    return "on boot" if plan.get("on_boot") else "on start" if plan.get("on_start") else ""


def plan_of(text: str) -> dict[str, Any]:
    """The field of the schedule that says when; empty: by hand. Raises `InvalidInput`: what it is, and what was most
    likely meant. Whether a cron text or a time can be is checked by those who know the zone and the moment."""
    bare = " ".join(text.split())
    if bare.lower() in _WORDS:
        return dict(_WORDS[bare.lower()])
    led = _LED.fullmatch(bare)
    if led is None:
        return {"cron": _cron(bare)}
    rest = led["rest"]
    match led["word"]:
        case "every":
            parse_duration(rest)
            return {"every": rest}
        case "in":
            parse_duration(rest)
            return {"at": f"in {rest}"}
        case "at":
            return {"at": rest}
        case "after":
            return {"after": rest}
        case _:
            return {"cron": _cron(rest)}


def with_plan(schedule: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule with another time: its zone stays, and what goes with the new kind of it."""
    kind = next((kind for kind in KINDS if kind in plan), None)
    kept = {name: value for name, value in schedule.items() if name == "timezone" or kind in GOES_WITH.get(name, ())}
    return {**plan, **kept}


def _cron(text: str) -> str:
    try:
        parse_cron(text)
    except InvalidInput as error:
        raise InvalidInput(error.message, _meant(text) or error.hint, field="schedule") from error
    return text


def _meant(text: str) -> str:
    """What somebody wrote without the word that leads it."""
    try:
        parse_duration(text)
    except InvalidInput:
        pass
    else:
        return f"every {text}, or once: in {text}"
    try:
        parse_when(text, 0, "UTC")
    except InvalidInput:
        return "" if len(text.split()) >= 5 or text.startswith("@") else _HINT
    return f"once: at {text}"


def _local(at: str, zone: str) -> str:
    """An instant on the wall clock of a zone, where that says which it is."""
    at_ms = milliseconds(at)
    try:
        local = datetime.fromtimestamp(at_ms // 1000, find_zone(zone))
        text = local.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")
        return text if parse_when(text, 0, zone) == at_ms else at
    except (InvalidInput, ValueError, OverflowError):
        return at
