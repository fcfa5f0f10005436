"""Whether others can tell root's daemon what to do: its settings name a mail program, and folders of tables."""

from collections.abc import Collection, Sequence
from typing import Final

from jobctl.trust import weaknesses

_SHOWN: Final = 3


def warning(paths: Sequence[str], uids: Collection[int], gids: Collection[int] = (0,)) -> str | None:
    """One line on the places of these paths that others than `uids` can change; None: there are none."""
    found = weaknesses([], "/", "", paths, uids, gids)
    if not found:
        return None
    return f"others than root can change what jobd does: {'; '.join(found[:_SHOWN])}"
