"""The same on the command line: the form of an action, filled with what it is done to."""

import re
from collections.abc import Sequence
from shlex import quote
from typing import Final

#: What stands for what an action is done to.
_PLACES: Final = re.compile(r"\b(?:JOB|RUN|QUERY)\b")
#: A word that the filter grammar reads as more than a part of a name.
_FILTER: Final = re.compile(r"-?[a-z]+[:<>]|/|-")


def quoted(text: str) -> str:
    """One word for a POSIX shell; with characters that no terminal should be sent, for bash, ksh, zsh."""
    if text.isprintable():
        return quote(text)
    escaped = "".join(
        char if char.isprintable() and char not in "\\'"
        else f"\\{char}" if char in "\\'"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in text
    )  # fmt: skip
    return f"$'{escaped}'"


def filled(form: str, subjects: Sequence[str] = ()) -> str:
    """`jobctl pause backup-db`: without a subject the form stays as it is."""
    if not subjects:
        return form
    words = " ".join(map(quoted, subjects))
    return _PLACES.sub(lambda _: words, form, count=1)


def of_query(form: str, query: str) -> str:
    """`jobctl pause -q tag:pg` for a filter, as `filled` for a name."""
    if not is_filter(query):
        return filled(form, [query])
    return _PLACES.sub(lambda _: f"-q {quoted(query)}", form, count=1)


def is_filter(text: str) -> bool:
    """Whether it says more than a name can: `tag:pg`, `next<1h`, `-queue:mail`, `/^db/`, two words."""
    words = text.split()
    return len(words) > 1 or any(_FILTER.match(word) for word in words)
