"""The variables of a job as lines to edit. Values that are secrets are covered, and stay what they are while they are.

The names decide: a value does not say that it is a password.
"""

import re
from collections.abc import Mapping
from typing import Final

from jobctl.errors import InvalidInput
from jobctl.reading.safe import cell

_SECRET: Final = re.compile(
    r"pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|private|credential|auth|dsn|(?:access|secret|encryption)_?key"
    r"|_key$|^key$|cookie|session",
    re.IGNORECASE,
)
#: In the place of a secret.
COVER: Final = "********"
#: In the place of a value that cannot stand on one line as it is.
AS_IT_IS: Final = "<as it is>"


def is_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold something that nobody looking on should read."""
    return _SECRET.search(name) is not None


def lines_of(env: Mapping[str, str], *, revealed: bool = False) -> str:
    """`NAME=value` a line."""
    return "\n".join(f"{name}={_shown(name, value, revealed)}" for name, value in env.items())


def env_of(text: str, before: Mapping[str, str]) -> dict[str, str]:
    """The variables of a text; a covered value is the one `before`. Raises `InvalidInput`."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InvalidInput(f"line {number} is no variable", "write NAME=VALUE, one a line", field="env")
        if name in found:
            raise InvalidInput(f"{name[:40]} is there twice", "keep one of them", field="env")
        kept = value in (COVER, AS_IT_IS) and name in before
        found[name] = before[name] if kept else value
    return found


def _shown(name: str, value: str, revealed: bool) -> str:
    if is_secret(name) and not revealed and value:
        return COVER
    return value if cell(value) == value else AS_IT_IS
