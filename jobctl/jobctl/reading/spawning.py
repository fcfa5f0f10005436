"""Why a command could not be started, for people: without the names that errno(3) has for it."""

import re
from typing import Final

_PREFIX: Final = "it could not be started: "
_CODE: Final = re.compile(rf"^({_PREFIX})?E[A-Z0-9]+: ")
_NO_PROGRAM: Final = re.compile(rf"^({_PREFIX})?ENOENT: program (.+): No such file or directory")


def in_words(reason: str) -> str:
    """The reason of a run or the detail of an attempt; another one is left as it is."""
    return _CODE.sub(r"\1", _NO_PROGRAM.sub(r"\1no such program: \2", reason))
