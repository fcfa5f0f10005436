"""What a row of a screen knows of a job and a list of jobs does not: its last ten runs, and how long they take."""

from collections.abc import Sequence
from typing import Any, Final

from jobctl.client.sync import Client
from jobctl.errors import JobctlError

_PAGE: Final = 500
#: So few jobs are asked for one by one where there are many more.
_ONE_BY_ONE: Final = 100

Json = dict[str, Any]


def lines_of(client: Client, ids: Sequence[int]) -> dict[int, Json]:
    """By id; without those that are gone, and none at all from a daemon that knows no windows."""
    try:
        return _lines_of(client, ids)
    except JobctlError:
        return {}


def _lines_of(client: Client, ids: Sequence[int]) -> dict[int, Json]:
    wanted = set(ids)
    if not wanted:
        return {}
    window = client.jobs_window(limit=_PAGE, sort="name")
    found = _of(window, wanted)
    total = int(window["total"])
    if len(wanted) <= _ONE_BY_ONE and total > 2 * _PAGE:
        for ident in sorted(wanted - found.keys()):
            found |= _of(client.jobs_window(limit=1, sort="name", around=ident), wanted)
        return found
    for offset in range(_PAGE, total, _PAGE):
        if len(found) == len(wanted):
            break
        found |= _of(client.jobs_window(offset, _PAGE, sort="name"), wanted)
    return found


def _of(window: Json, wanted: set[int]) -> dict[int, Json]:
    return {line["id"]: line for line in window["items"] if line["id"] in wanted}
