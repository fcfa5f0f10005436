"""A feed with its ears: what it told, in the order in which it did."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl.clock import SystemClock
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.feed import Feed
from jobctl_tui.live.link import Link
from kit.pump import Pump


class Followed:
    """Everything that a feed has told, kept."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self.pump = Pump()
        self.told: list[Changes] = []
        self.links: list[Link] = []
        self.feed = Feed(connect, SystemClock(), self.pump.post, self._changed)

    def _changed(self, changes: Changes) -> None:
        self.told.append(changes)
        if changes.link:
            self.links.append(self.feed.link)

    def until(self, *states: str) -> Link:
        self.pump.until(lambda: self.feed.link.state in states)
        return self.feed.link

    @property
    def events(self) -> list[int]:
        """The numbers of all that were told as news."""
        return [event["id"] for changes in self.told for event in changes.events]


@contextmanager
def followed(socket: str) -> Iterator[Followed]:
    """A feed of the daemon that listens there, from its first moment on."""
    made = Followed(lambda: Client(UnixTransport(socket)))
    made.feed.start()
    try:
        yield made
    finally:
        made.feed.close()
