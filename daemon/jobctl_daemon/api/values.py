"""Values that the bodies of several verbs have in common."""

from collections.abc import Sequence
from typing import Final

from jobctl.errors import InvalidInput
from jobctl_daemon.api.limits import PAGE_MAX, WHY_CHARS_MAX

_ID_MAX: Final = (1 << 63) - 1


def checked_why(why: str | None) -> str | None:
    """A reason in a person's words."""
    if why is not None and (len(why) > WHY_CHARS_MAX or "\0" in why):
        raise InvalidInput(f"the reason has over {WHY_CHARS_MAX} characters or a NUL", "say it shorter", field="why")
    return why


def checked_ids(ids: Sequence[int] | None, most: int = PAGE_MAX) -> tuple[int, ...] | None:
    """Ids of runs, each once, in the order given."""
    if ids is None:
        return None
    if not 1 <= len(ids) <= most:
        raise InvalidInput(f"{len(ids)} ids are given", f"give 1 to {most}", field="ids")
    if not all(1 <= number <= _ID_MAX for number in ids):
        raise InvalidInput("one of these is not the id of a run", "see `jobctl dlq ls`", field="ids")
    return tuple(dict.fromkeys(ids))
