"""Who has more than his share of what many use, and how much."""

from collections.abc import Iterable, Mapping


def beyond(uses: Mapping[int, int], most: int) -> dict[int, int]:
    """By how much those are over their share who make all uses together more than `most`.

    Who needs less than an equal share keeps what he has, and the others share what that leaves.
    """
    share = _share(uses.values(), most)
    return {} if share is None else {who: used - share for who, used in uses.items() if used > share}


def _share(uses: Iterable[int], most: int) -> int | None:
    """The most that one may have; None: all have room."""
    ordered = sorted(uses)
    left = most
    for number, used in enumerate(ordered):
        share = max(0, left // (len(ordered) - number))
        if used > share:
            return share
        left -= used
    return None
