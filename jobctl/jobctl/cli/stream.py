"""Events one after another, for as long as somebody wants to hear them: over restarts of the daemon, none left out and
none twice, because each has a number and the next request says which was the last."""

import json
from collections.abc import Iterator
from typing import Any

from jobctl.cli.patience import Patience
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import Unavailable, Unreachable

Json = dict[str, Any]


def followed(session: Session, client: Client, after: int | None, kind: str | None) -> Iterator[Json]:
    """Events with a higher number than `after`, or from now on; never ends.

    Where that is known before the first one comes, a connection that breaks until then loses nothing either.
    """
    patience = Patience(session)
    last = newest(client) if after is None else after
    while True:
        try:
            for message in client.events(after=last, kind=kind, follow=True):
                patience.answered()
                if message.event == "reset":
                    last = _after_reset(session, message.id, last)
                    continue
                event: Json = json.loads(message.data)
                last = event["id"]
                yield event
        except (Unreachable, Unavailable) as error:
            if session.socket is None:
                raise
            patience.missed(error)


def newest(client: Client) -> int:
    """The number of the newest event there is."""
    return int(client.status()["last_event"])


def _after_reset(session: Session, newest: str, last: int) -> int:
    """The daemon has forgotten what came next, or counts by another database; it goes on from its newest."""
    if not newest.isdigit():
        return last
    session.render.word(f"what happened between event {last} and {newest} is no longer kept; it goes on from there")
    return int(newest)
