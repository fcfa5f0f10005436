"""While the daemon is away: what is said above the lists, and that nothing of what was true goes away."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobctl.client.transport import Request, Response, unreachable
from kit.screens import VIEWS, Shown, screens
from kit.scripted import Scripted, answered

Json = dict[str, Any]

JOBS: list[Json] = [
    {"id": 3, "name": "backup-db", "owner": "root", "state": "failed", "rank": 0, "words": "every day at 03:00",
     "expression": "0 3 * * *", "timezone": "UTC", "paused_why": None, "suspended_by": None, "suspended_until": None,
     "quarantined": False, "next_run_at": "2026-11-30T03:00:00Z", "late_since": None, "active": None,
     "last": {"id": 4812, "state": "dead", "outcome": "exit_code", "class": "exit_code", "exit_code": 1, "signal": None,
              "finished_at": "2026-11-29T02:00:41Z", "duration": 41.0},
     "recent": "......x..x", "error": "No space left on device", "dead": 1, "tags": [], "queue": "default",
     "priority": 0, "declared": None, "rev": 1, "p50": 60.0, "p95": 90.0, "skipping": 0},
]  # fmt: skip


class Leaving(Scripted):
    """It can go away, and then neither answers nor refuses: a try is under way for as long as the test wants."""

    def __init__(self) -> None:
        window = {"schema": 1, "event": 88_120, "total": 1, "offset": 0, "items": JOBS}
        super().__init__({"/v1/jobs/window": window}, {"socket": "/run/jobctl/jobd.sock"})
        self.away = False
        self.speaks = 1
        self.back = threading.Event()

    def __call__(self, request: Request) -> Response:
        if self.away:
            self.back.wait(20)
            if self.away:
                raise unreachable("/run/jobctl/jobd.sock: connection refused")
        if request.path == "/v1/status" and self.speaks != 1:
            return answered({"protocol": self.speaks})
        return super().__call__(request)

    def goes(self) -> None:
        self.away = True
        self.close()

    def returns(self) -> None:
        self._over = threading.Event()
        self.away = False
        self.back.set()


@pytest.fixture
def daemon() -> Iterator[Leaving]:
    made = Leaving()
    yield made
    made.away = False
    made.back.set()
    made.close()


@asynccontextmanager
async def gone(daemon: Leaving, size: tuple[int, int] = (80, 24), look: str = "colour") -> AsyncIterator[Shown]:
    """The screens, 34 s after the daemon has gone."""
    async with screens(daemon.client(), size, look, clock=daemon.clock) as ui:
        await ui.shows("backup-db")
        daemon.goes()
        await ui.until(lambda: ui.app.feed.link.state == "down" and ui.app.feed.link.retry_at_ms is None)
        daemon.clock.at_ms += 34_000
        ui.app.tick()
        await ui.shows("34s")
        yield ui


@pytest.mark.parametrize(
    ("size", "look"), [*VIEWS, *(pytest.param((40, 10), look, marks=pytest.mark.long) for look in ("colour", "mono"))]
)
async def test_a_daemon_that_is_away_looks_like_this(daemon: Leaving, size: tuple[int, int], look: str) -> None:
    async with gone(daemon, size, look) as ui:
        await ui.snapshot("down")


async def test_what_was_true_stays_and_is_called_stale(daemon: Leaving) -> None:
    async with gone(daemon) as ui:
        assert "DOWN 34s  stale: as of 02:12:41" in ui.lines()[0]
        assert "Daemon not reachable" in ui.text()
        assert "backup-db" in ui.text()
        assert "what was true at 02:12:41, 34s ago" in " ".join(ui.text().replace("│", " ").split())


async def test_nothing_is_asked_for_that_changes_a_job(daemon: Leaving) -> None:
    async with gone(daemon) as ui:
        asked = len(daemon.asked)
        await ui.press("p")
        await ui.shows("paused backup-db: the daemon")
        assert [one for one in daemon.asked[asked:] if one.method == "POST"] == []


async def test_it_is_live_again_without_a_key(daemon: Leaving) -> None:
    async with gone(daemon) as ui:
        daemon.returns()
        await ui.shows("live")
        await ui.until(lambda: "Daemon not reachable" not in ui.text())
        await ui.shows("back after 34 s: no run ended meanwhile")


async def test_a_daemon_of_another_version_is_not_called_down(daemon: Leaving) -> None:
    daemon.speaks = 9
    async with screens(daemon.client(), (80, 24), clock=daemon.clock) as ui:
        await ui.shows("The daemon will not serve these screens")
        await ui.shows("Retry 1 in 30 s")
        assert "REFUSED" in ui.lines()[0]
        assert "the daemon speaks protocol 9, this jobctl speaks 1" in ui.text()
        await ui.snapshot("refused")


async def test_why_it_is_away_can_be_copied(daemon: Leaving, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    async with gone(daemon) as ui:
        monkeypatch.setattr(ui.app, "copy", lambda text, what: copied.append(text))
        await ui.press("y")
        assert copied
        assert "the daemon has hung up" in copied[0]


async def test_a_screen_that_only_reads_does_not_start_a_daemon(daemon: Leaving) -> None:
    async with screens(daemon.client(), (80, 24), clock=daemon.clock, read_only=True) as ui:
        await ui.shows("backup-db")
        daemon.goes()
        await ui.shows("Daemon not reachable")
        assert "retry now" in ui.text()
        assert "start daemon" not in ui.text()
