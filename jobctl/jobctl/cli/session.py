"""One invocation of one verb: its world, its common options, its printer and the daemon it talks to."""

import re
from datetime import UTC
from functools import cached_property

from jobctl.cli.render import Render
from jobctl.cli.world import World
from jobctl.client.discover import AnyDaemon, Places, places
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput, Unreachable
from jobctl.reading.times import Viewer


class Common:
    """The options that every verb takes, set while the command line is read."""

    def __init__(self) -> None:
        self.output = "table"
        self.socket: str | None = None
        self.colour = "auto"
        self.utc = False
        self.no_start = False


class Session:
    """What a verb is given, as `ctx.obj`. `command` is what followed `--`, None when there was none; `typed` is all
    that stood beside the words of the verb."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.common = Common()
        self.command: list[str] | None = None
        self.typed: list[str] = []

    @cached_property
    def render(self) -> Render:
        world = self.world
        return Render(world.stdout, world.stderr, world.environ, self.common.output, self.common.colour)

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.world.clock.now_ms(), zone=UTC if self.common.utc else None)

    def viewer_in(self, zone: str | None) -> Viewer:
        """Times in a job's zone, for verbs that also take times in it."""
        if zone is None or self.common.utc:
            return self.viewer
        from jobctl.schedule import find_zone

        return Viewer(self.world.clock.now_ms(), zone=find_zone(zone))

    @cached_property
    def places(self) -> Places:
        return places(self.world.environ, self.world.uid, self.common.socket)

    @cached_property
    def _transport(self) -> AnyDaemon:
        return AnyDaemon(self.places.sockets)

    @property
    def socket(self) -> str | None:
        """The socket of the daemon that answered, once one has."""
        return self._transport.socket

    def reader(self) -> Client:
        """For reading: never starts a daemon."""
        return Client(self._transport)

    def writer(self) -> Client:
        """For writing: starts the user's daemon when none answers, and says so."""
        client = self.reader()
        if self._transport.socket is None:
            try:
                next(client.jobs(limit=1), None)
            except Unreachable as error:
                self._start(error)
        return client

    def _start(self, error: Unreachable) -> None:
        if self.common.no_start or self.places.named or error.details.get("listening"):
            raise error
        from jobctl.client.start import start_daemon
        from jobctl.paths import daemon_places

        own = daemon_places(self.world.environ, self.world.uid)
        status = start_daemon(own.socket, self.world.clock)
        self._transport.socket = own.socket
        self.render.word(
            f"started a daemon, pid {status.get('pid')}, its files in {own.state_dir} (`jobctl daemon stop` stops it)"
        )


_DURATION = re.compile(r"(?:[0-9]+(?:ms|[wdhms])\s?)+")


def instant(
    session: Session, text: str | None, *, past: bool = False, option: str = "--at", zone: str | None = None
) -> str | None:
    """RFC 3339 of an instant that a person wrote; `2h` alone is `past` ago for options that look back."""
    if text is None:
        return None
    from jobctl.reading.times import rfc3339
    from jobctl.schedule import host_zone, parse_duration, parse_when

    now_ms = session.world.clock.now_ms()
    try:
        if past and _DURATION.fullmatch(text.strip()):
            return rfc3339(now_ms - parse_duration(text.strip()))
        return rfc3339(parse_when(text, now_ms, zone or ("UTC" if session.common.utc else host_zone()[0])))
    except InvalidInput as error:
        from jobctl.cli.hints import time_hint

        raise InvalidInput(f"{option}: {error.message}", time_hint(text) or error.hint, field=option) from error
