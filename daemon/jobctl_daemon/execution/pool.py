"""The runners that answer, what each of them holds, and where the next start goes."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from jobctl.clock import Clock
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution.link import Link
from jobctl_daemon.execution.reports import Draining, Ended, Held, Refused, Report, Rescanned, Started, parse


@dataclass(slots=True)
class Flight:
    """An attempt that a runner has, from the start message to the acknowledged result."""

    link: Link
    due_ms: int | None = None
    """None for one whose start lag is not measured: started by an earlier daemon, or late on purpose."""
    started: bool = False
    ended: bool = False

    def answered(self) -> None:
        """The runner has dealt with the start."""
        if not self.started:
            self.started = True
            self.link.start_answered()


class RunnerPool:
    """Spreads starts over the runners that are up to date, so that a slow exec holds up only its own runner."""

    def __init__(self, clock: Clock, on_reports: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self._clock = clock
        self._on_reports = on_reports
        self._on_lost = on_lost
        self._reports: deque[Report] = deque()
        self.links: dict[str, Link] = {}
        self.flights: dict[str, Flight] = {}
        self.losses = 0
        """Connections lost so far: what was known of the runners before one of them went is no longer whole."""
        self._stops: dict[str, dict[str, Any]] = {}
        self.handing_over = asyncio.Lock()
        """Held from a claim's commit to its start message: in between nobody may judge the claim unknown."""

    # ── connections ──────────────────────────────────────────────
    async def connect(self, path: str, build: str) -> Link:
        """Connects to one runner and waits until it has told what it holds.

        OSError when nobody listens, `Unreachable` when the one who does falls silent.
        """
        loop = asyncio.get_running_loop()
        _, link = await loop.create_unix_connection(lambda: Link(self._lines, self._lost), path)
        try:
            hello = await link.greet(build)
            await link.until(link.listed)
        except BaseException:
            link.close()
            raise
        self.links[hello.instance] = link
        if hello.version != build:
            link.drain()
        return link

    def takers(self, build: str) -> list[Link]:
        """The runners that take new work."""
        able = [link for link in self.links.values() if link.hello.version == build and not link.draining]
        return [link for link in able if not link.silent] or able

    def close(self) -> None:
        """Lets go of the runners; their commands go on."""
        for link in list(self.links.values()):
            link.close()
        self.links.clear()

    # ── attempts ─────────────────────────────────────────────────
    def start(self, message: dict[str, Any], due_ms: int | None, build: str) -> None:
        """Hands an attempt to the runner with the fewest starts under way."""
        link = min(self.takers(build), key=lambda taker: taker.starting)
        link.expect_start()
        attempt = message["id"]
        self.flights[attempt] = Flight(link, due_ms)
        link.send(message)
        stop = self._stops.pop(attempt, None)
        if stop is not None:
            link.send(stop)

    def stop(self, attempt: str, mode: str, grace_ms: int | None) -> None:
        """TERM, grace, KILL ("cancel") or KILL now ("kill"); remembered when the start is still on its way."""
        message: dict[str, Any] = {"op": "kill", "id": attempt, "mode": mode}
        if grace_ms is not None:
            message["grace_ms"] = grace_ms
        flight = self.flights.get(attempt)
        if flight is None:
            self._stops[attempt] = message
        else:
            flight.link.send(message)

    def settle(self, attempts: Iterable[str]) -> None:
        """The store has the results: the runners may forget them, and their slots are free."""
        by_link: dict[Link, list[str]] = {}
        for attempt in attempts:
            flight = self.flights.pop(attempt, None)
            self._stops.pop(attempt, None)
            if flight is not None:
                flight.answered()
                by_link.setdefault(flight.link, []).append(attempt)
        for link, ids in by_link.items():
            link.send({"op": "ack", "ids": ids})

    def take(self) -> list[Report]:
        """Everything reported since the last call."""
        reports = list(self._reports)
        self._reports.clear()
        return reports

    def held(self) -> dict[str, str]:
        """Attempt id → starting, running or ended, over all runners."""
        words = {(True, True): "ended", (False, True): "ended", (True, False): "running", (False, False): "starting"}
        return {attempt: words[flight.started, flight.ended] for attempt, flight in self.flights.items()}

    # ── what the runners say ─────────────────────────────────────
    def _lines(self, link: Link, lines: list[bytes]) -> None:
        now_ms = self._clock.now_ms()
        link.silent = False
        try:
            reports = [report for line in lines for report in parse(line, now_ms)]
        except (ValueError, KeyError, TypeError) as error:
            structlog.get_logger().error("runner.unreadable", error=str(error))
            link.close()
            return
        for report in reports:
            self._note(link, report)
        self._reports.extend(report for report in reports if isinstance(report, Started | Ended | Refused))
        self._on_reports()

    def _note(self, link: Link, report: Report) -> None:
        if isinstance(report, Held):
            for attempt in report.attempts:
                self.flights.setdefault(attempt, Flight(link, None, started=True))
            link.listed.set()
        elif isinstance(report, Draining):
            link.draining = True
            self._on_lost()
        elif isinstance(report, Rescanned):
            link.rescanned.set()
        elif not isinstance(report, Refused):
            self._note_attempt(link, report)

    def _note_attempt(self, link: Link, report: Started | Ended) -> None:
        facts = report if isinstance(report, Started) else report.result
        flight = self.flights.setdefault(attempt_id(facts.run_id, facts.fence), Flight(link, None, started=True))
        flight.answered()
        flight.ended = flight.ended or isinstance(report, Ended)

    def _lost(self, link: Link) -> None:
        self.losses += 1
        for instance, known in list(self.links.items()):
            if known is link:
                del self.links[instance]
        for attempt, flight in list(self.flights.items()):
            if flight.link is link:
                del self.flights[attempt]
        self._on_lost()
