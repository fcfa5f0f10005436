"""Where inside a cron text its mistake stands."""

import re
from typing import Final

_ABOUT: Final = re.compile(r"(?P<name>[a-z ]+?) `(?P<element>[^`]+)`: ")


def cron_offset(text: str, reason: str, written: str) -> int:
    """How far behind the beginning of the value the element stands that `reason` is about; 0 where nobody can say.

    `written` is the value as it stands in the file: one whose characters are not those of the text has no offsets.
    """
    about = _ABOUT.match(reason)
    if about is None or not written[1:].startswith(text) or not text:
        return 0
    words = [(match.start(), match[0]) for match in re.finditer(r"[^ \t]+", text)]
    number = next((at for at, name in enumerate(_FIELDS) if name == about["name"]), None)
    if number is None or number >= len(words):
        return 0
    begin, word = words[number]
    for part in re.finditer(r"[^,]+", word):
        if part[0] == about["element"]:
            return 1 + begin + part.start()
    return 1 + begin


def _names() -> tuple[str, ...]:
    from jobctl.schedule.fields import FIELDS

    return tuple(field.name for field in FIELDS)


_FIELDS: Final = _names()
