"""The runners that answer, what each of them holds, and where the next start goes."""

import asyncio
import contextlib
import heapq
import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from jobctl.clock import Clock
from jobctl.errors import Unreachable
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.link import Foreign, Link
from jobctl_daemon.execution.outbox import Outbox
from jobctl_daemon.execution.reaching import reachable
from jobctl_daemon.execution.reports import Draining, Ended, Held, Refused, Report, Rescanned, Started, Underway, parse

#: For status: how long a runner has for a sign of life.
_LOOK_S = 0.3
#: After its last instant by its timeout and grace, before somebody asks what has become of a command.
_OVERDUE_MS = 1_000
#: A container that is stopped has ten seconds as a rule, before everything in it is killed.
_PARTING_GRACE_MS = 8_000
_PARTING_S = 9.0
#: Starts that wait for a runner, below which more of them are welcome: what the runners do in some 50 ms.
_SHORT = 50
_STOPPED_BY = {"cancel": "cancelled", "kill": "killed"}


@dataclass(slots=True)
class Flight:
    """An attempt that a runner has, from the start message to the acknowledged result."""

    link: Link | None
    """None while its start waits for a runner that has room."""
    due_ms: int | None = None
    """None for one whose start lag is not measured: started by an earlier daemon, or late on purpose."""
    started: bool = False
    ended: bool = False
    stop_asked: bool = False
    overdue: bool = False
    """Its timeout and its grace are over, and nothing has been heard of its end."""
    says: tuple[str, str] | None = None
    """Whose command it is and what it is in words, until its start has been told of."""
    also: tuple[Link, ...] = ()
    """Runners that have told the same: of a result that a dead one left, several may have taken charge."""

    under_way: bool = False
    """The runner has begun with it and takes others meanwhile."""

    def begun(self) -> None:
        """The runner is free for another start."""
        if not self.started and not self.under_way:
            self.under_way = True
            if self.link is not None:
                self.link.start_answered()

    def answered(self) -> None:
        """The runner has dealt with the start."""
        self.begun()
        self.started = True


@dataclass(frozen=True, slots=True)
class Stranger:
    """A living runner whose protocol is not spoken here."""

    version: str
    protocol: str
    pid: int | None


class RunnerPool:
    """Spreads starts over the runners that are up to date, so that a slow exec holds up only its own runner."""

    def __init__(self, clock: Clock, on_reports: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self._clock = clock
        self._on_reports = on_reports
        self._on_lost = on_lost
        self.on_short: Callable[[], None] = lambda: None
        """Called when so few starts are left to be sent that there should be more."""
        self._reports: deque[Report] = deque()
        self.links: dict[str, Link] = {}
        self.mute: dict[str, Link] = {}
        """Runners that took the connection and have not told yet what they hold."""
        self.strangers: dict[str, Stranger] = {}
        self.locked: frozenset[str] = frozenset()
        """Runners that live and take no connection: starting, ending, or stopped for long."""
        self.adopted = False
        """It is known of every claim whether a runner holds it, or that nothing can be said of it yet."""
        self.unjudged = 0
        """Claims nobody knows, of which nothing can be said before every runner has been heard."""
        self.flights: dict[str, Flight] = {}
        self.losses = 0
        """Connections lost so far: what was known of the runners before one of them went is no longer whole."""
        self._stops: dict[str, dict[str, Any]] = {}
        self._build = ""
        self._outbox = Outbox()
        self._ends: list[tuple[int, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._watched: list[int] = []
        self._news = asyncio.Event()
        self.handing_over = asyncio.Lock()
        """Held from a claim's commit to its start message: in between nobody may judge the claim unknown."""

    # ── connections ──────────────────────────────────────────────
    async def connect(self, path: str, build: str) -> Link:
        """Connects to one runner and waits until it has told what it holds.

        OSError when nobody listens, `Foreign` when it speaks otherwise, `Unreachable` when it goes or says nothing: in
        that case it is kept, in `mute`, and is one of `links` once it has spoken.
        """
        instance = os.path.basename(path).removesuffix(".sock")
        loop = asyncio.get_running_loop()
        with reachable(path) as short:
            _, link = await loop.create_unix_connection(lambda: Link(self._lines, self._lost, self._silent), short)
        self.mute[instance] = link
        try:
            await link.greet(build)
            await link.until(link.listed)
        except Foreign as stranger:
            self._keep_away(instance, stranger)
            raise
        except Unreachable:
            raise
        except BaseException:
            link.close()
            raise
        return link

    def _keep_away(self, instance: str, stranger: Foreign) -> None:
        """Nothing is asked of it; when it is gone, its commands are another's."""
        self.mute.pop(instance, None)
        try:
            gone = os.pidfd_open(stranger.pid or 0)
        except (OSError, ValueError):
            self._on_lost()
            return
        self.strangers[instance] = Stranger(stranger.version, stranger.protocol, stranger.pid)
        structlog.get_logger().warning("runner.foreign", instance=instance, protocol=stranger.protocol)
        self._watched.append(gone)
        asyncio.get_running_loop().add_reader(gone, self._stranger_gone, gone, instance)

    def _stranger_gone(self, gone: int, instance: str) -> None:
        asyncio.get_running_loop().remove_reader(gone)
        self._watched.remove(gone)
        os.close(gone)
        self.strangers.pop(instance, None)
        self.losses += 1
        self._on_lost()

    def takers(self, build: str) -> list[Link]:
        """The runners that take new work."""
        able = [link for link in self.links.values() if link.hello.version == build and not link.draining]
        return [link for link in able if not link.silent] or able

    def unheard(self) -> list[str]:
        """Living runners of which it is not known what they hold."""
        looking = [name for name, link in self.links.items() if not link.rescanned.is_set()]
        return sorted({*self.mute, *self.strangers, *self.locked, *looking})

    def close(self) -> None:
        """Lets go of the runners; their commands go on."""
        for link in [*self.links.values(), *self.mute.values()]:
            link.close()
        self.links.clear()
        self.mute.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        for descriptor in self._watched:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        self._watched.clear()

    def ask(self) -> list[Link]:
        """Asks for a sign of life and waits for none; those that were asked. Who stays silent is known in time."""
        links = [link for link in self.links.values() if not link.silent]
        for link in links:
            link.ping()
        return links

    async def look(self) -> None:
        """Asks every runner for a sign of life; returns soon, also when one gives none."""
        links = self.ask()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                for link in links:
                    await link.word.wait()

    async def heard(self, link: Link) -> bool:
        """Whether it answers what it was just asked; waits for that only a little, and not for one that is silent."""
        if link.silent or link.lost:
            return False
        link.ping()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                await link.word.wait()
        return link.word.is_set() and not link.silent

    async def interrupt(self) -> None:
        """Has all commands ended: what this daemon runs in goes down. Returns when they are gone, or do not go."""
        if self._outbox:
            self._give_back_unsent()
        for link in self.links.values():
            link.ask({"op": "interrupt", "grace_ms": _PARTING_GRACE_MS})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PARTING_S):
                while any(not flight.ended and flight.link is not None for flight in self.flights.values()):
                    self._news.clear()
                    await self._news.wait()

    # ── attempts ─────────────────────────────────────────────────
    def start(
        self,
        message: dict[str, Any],
        due_ms: int | None,
        build: str,
        says: tuple[str, str] | None = None,
        owner: int = 0,
    ) -> None:
        """Hands an attempt to a runner as soon as one has room: the one that holds least. `owner`: who takes turns."""
        self._build = build
        self.flights[message["id"]] = Flight(None, due_ms, says=says)
        self._outbox.add(message, owner)
        self._send_some()

    @property
    def busy(self) -> bool:
        """Whether the runners have starts enough for now: what is claimed beyond them would only wait elsewhere."""
        return len(self._outbox) > _SHORT

    def has_room(self, link: Link) -> bool:
        """Whether a start that is sent now is made at once, as far as one can know.

        One at a time: what is sent behind a start that hangs hangs too, and cannot be taken back. It costs nothing that
        can be measured, since a runner starts no faster than it is asked.
        """
        return not link.starting and link.attentive

    def _send_some(self) -> None:
        was_busy = self.busy
        self._send_what_is_taken()
        if was_busy and not self.busy:
            self.on_short()

    def _send_what_is_taken(self) -> None:
        while self._outbox:
            takers = self.takers(self._build)
            able = [link for link in takers if self.has_room(link)]
            if not able:
                for link in takers:
                    if not link.starting:  # else its answer is that word
                        link.ping()  # a word of it lets the next start go
                return
            message = self._outbox.next()
            attempt = message["id"]
            link = self.flights[attempt].link = min(able, key=lambda taker: taker.sent)
            link.start(message)
            if stop := self._stops.pop(attempt, None):
                self._ask_stop(attempt, stop)

    def stop(self, attempt: str, mode: str, grace_ms: int | None) -> None:
        """TERM, grace, KILL ("cancel") or KILL now ("kill"); remembered when the start is still on its way."""
        message: dict[str, Any] = {"op": "kill", "id": attempt, "mode": mode}
        if grace_ms is not None:
            message["grace_ms"] = grace_ms
        flight = self.flights.get(attempt)
        if flight is None:
            self._stops[attempt] = message
        elif flight.link is None:
            self._withdraw(attempt, mode)
        else:
            self._ask_stop(attempt, message)

    def _ask_stop(self, attempt: str, message: dict[str, Any]) -> None:
        flight = self.flights[attempt]
        assert flight.link is not None
        flight.stop_asked = True
        flight.link.ask(message)

    def _withdraw(self, attempt: str, mode: str) -> None:
        """What no runner has been sent ends here."""
        message = self._outbox.withdraw(attempt)
        self.flights[attempt].ended = True
        result = Result(
            run_id=message["run_id"],
            fence=message["fence"],
            ended_ms=self._clock.now_ms(),
            cause=_STOPPED_BY[mode],
            detail="was not started",
        )
        self._reports.append(Ended(result))
        self._on_reports()

    def settle(self, attempts: Iterable[str]) -> None:
        """The store has the results: the runners may forget them, and their slots are free."""
        by_link: dict[Link, list[str]] = {}
        for attempt in attempts:
            flight = self.flights.pop(attempt, None)
            self._stops.pop(attempt, None)
            if flight is not None:
                flight.answered()
                for link in (flight.link, *flight.also):
                    if link is not None:
                        by_link.setdefault(link, []).append(attempt)
        for link, ids in by_link.items():
            link.send({"op": "ack", "ids": ids})
        self._send_some()

    def take(self) -> list[Report]:
        """Everything reported since the last call."""
        reports = list(self._reports)
        self._reports.clear()
        return reports

    @property
    def taken(self) -> int:
        """Slots that are in use, or may be: a command whose runner cannot be asked may be alive."""
        return len(self.flights) + self.unjudged

    def held(self) -> dict[str, str]:
        """Attempt id → starting, running or ended, over all runners."""
        words = {(True, True): "ended", (False, True): "ended", (True, False): "running", (False, False): "starting"}
        return {attempt: words[flight.started, flight.ended] for attempt, flight in self.flights.items()}

    # ── what the runners say ─────────────────────────────────────
    def _lines(self, link: Link, lines: list[bytes]) -> None:
        now_ms = self._clock.now_ms()
        try:
            reports = [report for line in lines for report in parse(line, now_ms)]
        except (ValueError, KeyError, TypeError) as error:
            structlog.get_logger().error("runner.unreadable", error=str(error))
            link.close()
            return
        for report in reports:
            self._note(link, report)
        self._reports.extend(report for report in reports if isinstance(report, Started | Ended | Refused))
        self._send_some()
        self._news.set()
        self._on_reports()

    def _note(self, link: Link, report: Report) -> None:
        if isinstance(report, Held):
            for attempt in report.attempts:
                self.flights.setdefault(attempt, Flight(link, None, started=True))
            self._known(link)
        elif isinstance(report, Draining):
            link.draining = True
            self._on_lost()
        elif isinstance(report, Rescanned):
            self._looked(link, report)
        elif isinstance(report, Underway):
            if (flight := self.flights.get(attempt_id(report.run_id, report.fence))) is not None:
                flight.begun()
        elif not isinstance(report, Refused):
            self._note_attempt(link, report)

    def _known(self, link: Link) -> None:
        """It has told what it holds. Somebody may have given up waiting for that."""
        instance = link.hello.instance
        self.links[instance] = link
        structlog.get_logger().info("runner.connected", instance=instance, kill_by=link.hello.kill_by)
        if self.mute.pop(instance, None) is not None and not link.ours:
            link.drain()
        link.listed.set()
        if not link.awaited:
            self._on_lost()

    def _looked(self, link: Link, report: Rescanned) -> None:
        link.rescan_busy = report.busy
        link.rescanned.set()
        if not link.awaited:
            self._on_lost()

    def _note_attempt(self, link: Link, report: Started | Ended) -> None:
        facts = report if isinstance(report, Started) else report.result
        attempt = attempt_id(facts.run_id, facts.fence)
        flight = self.flights.setdefault(attempt, Flight(link, None, started=True))
        flight.answered()
        if flight.link is not link and link not in flight.also:
            flight.also += (link,)
        flight.ended = flight.ended or isinstance(report, Ended)
        if isinstance(report, Started) and report.ends_boot_ms is not None:
            heapq.heappush(self._ends, (report.ends_boot_ms + _OVERDUE_MS, attempt))
            self._set_alarm()

    def _lost(self, link: Link) -> None:
        self.losses += 1
        for known in (self.links, self.mute):
            for instance in [name for name, one in known.items() if one is link]:
                del known[instance]
        for attempt, flight in list(self.flights.items()):
            if flight.link is link:
                del self.flights[attempt]
                self.unjudged += 1
        if self._outbox and not self.takers(self._build):
            self._give_back_unsent()
        self._news.set()
        self._on_lost()

    def _give_back_unsent(self) -> None:
        """Nobody is left who could start them."""
        refused = [Refused(message["run_id"], message["fence"], "there is no runner") for message in self._outbox]
        self._outbox.clear()
        self._reports.extend(refused)
        self._on_reports()

    def _silent(self, link: Link) -> None:
        """One has fallen silent, or speaks again: there may be too few that work, or too many."""
        if not link.lost:
            self._send_some()
            self._on_lost()

    # ── timeouts ─────────────────────────────────────────────────
    def _set_alarm(self) -> None:
        """At the next instant at which a command must have ended, its runner is asked whether it is there."""
        if len(self._ends) > 2 * len(self.flights) + 64:
            self._ends = [entry for entry in self._ends if entry[1] in self.flights]
            heapq.heapify(self._ends)
        while self._ends and self._ends[0][1] not in self.flights:
            heapq.heappop(self._ends)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._ends:
            wait_s = max(0, self._ends[0][0] - self._clock.boot_ms()) / 1000
            self._alarm = asyncio.get_running_loop().call_later(wait_s, self._ask_overdue)

    def _ask_overdue(self) -> None:
        self._alarm = None
        while self._ends and self._ends[0][0] <= self._clock.boot_ms():
            flight = self.flights.get(heapq.heappop(self._ends)[1])
            if flight is not None and not flight.ended and flight.link is not None:
                flight.overdue = True
                flight.link.ping()
        self._set_alarm()
