"""What jobs may be called, and a name for one that has none."""

import re
from typing import Final

from jobctl.errors import InvalidInput
from jobctl.model import Target

NAME_CHARS_MAX: Final = 128
_NAME: Final = re.compile(r"[\w.@/:+][\w .@/:+-]*(?<! )")
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.@:+-]+")


def checked_name(name: str | None, target: Target) -> str:
    """The name that was given, or one made from the command."""
    if name is None:
        return made_name(target)
    if len(name) > NAME_CHARS_MAX or not _NAME.fullmatch(name) or not name.isprintable():
        raise InvalidInput(
            f"{name[:40]!a} cannot be a job's name",
            f"1 to {NAME_CHARS_MAX} letters, digits, spaces and . _ - @ : / +, not beginning with - or a space",
            field="name",
        )
    if name.isdecimal():
        raise InvalidInput(f"{name[:40]} could be an id", "put a letter into the name", field="name")
    return name


def made_name(target: Target) -> str:
    """A name from the command: the last part of its first word."""
    words = target.command or (target.shell or "").split()
    base = _NOT_IN_A_NAME.sub("-", words[0].rstrip("/").rpartition("/")[2] if words else "").strip("-")[:100].strip("-")
    return base if base and not base.isdecimal() else "job"


def numbered(name: str, number: int) -> str:
    """The name with a number behind it, for when it is taken."""
    return f"{name}-{number}"
