"""Cron text as Debian's cron (3.0pl1) reads it, without the accidents of its parser.

Five fields or one lower-case alias. What Debian accepts only by accident (descending ranges, text after a
complete element, numbers that wrap at 32 bits) is refused, and `debian_reading` says what it would have done.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

from jobctl.errors import InvalidInput

from .debian import debian_reading
from .fields import FIELDS, Field

MAX_TEXT = 1024
# A list may repeat its elements (Debian takes 20 kB of `mon,mon,...`); beyond this nothing is even looked at.
MAX_RAW_TEXT = 32 * 1024

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

#: What is said where Debian's cron does not make something else of it.
REFUSED_TOO = "Debian's cron refuses it too."

_SHOWN = 60
_ELEMENT = re.compile(r"(?:\*|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:/([0-9]+))?")


@dataclass(frozen=True, slots=True)
class CronFields:
    """What a cron text means: sorted numbers, Sunday being 0, and the flags the numbers cannot tell.

    `wildcard`: minute or hour starts with `*`, so clock changes need no care. `both_days`: day of month or
    weekday starts with `*`, so both must match; otherwise either does. `reboot`: `@reboot`, all fields empty.
    `words`: the five fields as written (an alias expanded), each element of a list once.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    wildcard: bool
    both_days: bool
    reboot: bool
    words: tuple[str, ...]


REBOOT = CronFields((), (), (), (), (), wildcard=False, both_days=False, reboot=True, words=("@reboot",))


def parse_cron(text: str) -> CronFields:
    """The meaning of a cron text.

    Raises `InvalidInput` that names the field and says what is wrong; the hint tells what Debian's cron makes
    of it, where that differs. Rule: Debian cron 3.0pl1-162, `entry.c`; checked by `tests/data/cron`.
    """
    if len(text) > MAX_RAW_TEXT:
        raise _too_long(text)
    return _parse(text)


@lru_cache(maxsize=2048)
def _parse(text: str) -> CronFields:
    bare = text.strip(" \t")
    if bare.startswith("@"):
        return _alias(bare)
    words = tuple(_without_repeats(word) for word in _split(bare))
    if sum(map(len, words)) + 4 > MAX_TEXT:
        raise _too_long(text)
    _check_count(words, bare)
    minutes, hours, days, months, weekdays = (
        _numbers(field, word, " ".join(words)) for field, word in zip(FIELDS, words, strict=True)
    )
    return CronFields(
        minutes,
        hours,
        days,
        months,
        tuple(sorted({day % 7 for day in weekdays})),
        wildcard=words[0].startswith("*") or words[1].startswith("*"),
        both_days=words[2].startswith("*") or words[4].startswith("*"),
        reboot=False,
        words=words,
    )


def _alias(bare: str) -> CronFields:
    if bare == "@reboot":
        return REBOOT
    if bare in ALIASES:
        return _parse(ALIASES[bare])
    name = re.split(r"[ \t]", bare, maxsplit=1)[0]
    known = ", ".join([*ALIASES, "@reboot"])
    if name == "@every":
        interval = bare[len(name) :].strip(" \t")[:_SHOWN] or "10m"
        hint = f"An interval is not a cron text: use `--every {interval}`."
    elif name in ALIASES or name == "@reboot":
        hint = f"An alias stands alone: `{name}`. Debian's cron takes what follows as the command."
    elif name.lower() in ALIASES or name.lower() == "@reboot":
        hint = f"Aliases are lower case: `{name.lower()}`. Debian's cron refuses capitals too."
    else:
        hint = f"Known are {known}."
    raise InvalidInput(f"{_shown(bare)} is not a schedule alias", hint, field="cron")


def _split(bare: str) -> list[str]:
    if not bare:
        raise InvalidInput(
            "the cron text is empty", "Write five fields, such as `0 3 * * *`, or `@daily`.", field="cron"
        )
    return re.split(r"[ \t]+", bare)


def _without_repeats(word: str) -> str:
    return ",".join(dict.fromkeys(word.split(","))) if "," in word and "," not in (word[0], word[-1]) else word


def _check_count(words: tuple[str, ...], bare: str) -> None:
    if len(words) == 5:
        return
    names = ", ".join(field.name for field in FIELDS)
    problem = f"a cron text has five fields ({names}); {_shown(bare)} has {len(words)}"
    if len(words) < 5:
        raise InvalidInput(problem, "Put `*` where any value will do.", field="cron")
    hint = (
        "Cron has no seconds and no years: Debian's cron takes the sixth word as the command"
        f" (`{words[5][:_SHOWN]}`). For a whole crontab line use `--line`."
    )
    raise InvalidInput(problem, hint, field="cron")


def _numbers(field: Field, word: str, text: str) -> tuple[int, ...]:
    size = field.high + 1
    found = bytearray(size)
    for element in word.split(","):
        chosen = _range(field, element, text)
        found[chosen.start : chosen.stop : chosen.step] = b"\x01" * len(chosen)
    return tuple(compress(range(size), found))


def _range(field: Field, element: str, text: str) -> range:
    match = _ELEMENT.fullmatch(element)
    if match is None or not element.isascii():
        raise _refusal(field, element, _what_is_wrong(field, element), text)
    first, last, step = match.groups()
    if step is not None and int(step) == 0:
        raise _refusal(field, element, "a step is at least 1", text)
    if first is not None and last is None and step is not None:
        problem = f"a step needs a range: `{first}-{field.high}/{step}` or `*/{step}`"
        raise _refusal(field, element, problem, text)
    low = field.low if first is None else _number(field, element, first, text)
    high = field.high if first is None else low if last is None else _number(field, element, last, text)
    if low > high:
        raise _refusal(field, element, "the range runs backwards", text)
    # A step beyond the field means its first value only; capped, because a range step must fit a machine word.
    return range(low, high + 1, min(int(step or 1), field.high + 1))


def _number(field: Field, element: str, digits: str, text: str) -> int:
    name = field.names.get(digits.lower())
    if name is not None:
        return name
    if not digits.isdigit():
        raise _refusal(field, element, _what_is_wrong(field, element), text)
    number = int(digits)
    if not field.low <= number <= field.high:
        raise _refusal(field, element, f"{digits[:20]} is not within {field.low}-{field.high}", text)
    return number


def _what_is_wrong(field: Field, element: str) -> str:
    if not element:
        return "a list has an empty element"
    if re.search(r"[?LWHR~#lwhr]", element) and not re.search(r"[a-zA-Z]{2}", element):
        return "`L W # ? H R ~` belong to other schedulers, not to cron"
    if element[0] in "+-":
        return "numbers have no sign"
    if re.fullmatch(r"[A-Za-z]+(?:-[A-Za-z]+)?", element):
        words = f"the first three letters of a name, such as {', '.join(list(field.names)[:2])}"
        return f"the names are {words}" if field.names else "only months and weekdays have names"
    return "an element is `*`, `*/S`, `N`, `A-B` or `A-B/S`"


def _refusal(field: Field, element: str, problem: str, text: str) -> InvalidInput:
    reading = debian_reading(text)
    hint = reading if reading else REFUSED_TOO
    where = f"{field.name} {_shown(element)}" if element else field.name
    return InvalidInput(f"{where}: {problem}", hint, field="cron")


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return ascii(cut) if not cut.isprintable() else f"`{cut}`"


def _too_long(text: str) -> InvalidInput:
    message = f"the cron text has {len(text)} characters; the limit is {MAX_TEXT}"
    return InvalidInput(message, "Use ranges and steps, such as `0-30/5`.", field="cron")
