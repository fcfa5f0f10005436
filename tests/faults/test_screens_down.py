"""The screens themselves while their daemon is killed, and when it is back: nobody presses a key."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from kit.daemon import RealDaemon, real_daemon
from kit.screens import Shown, screens


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("down") / "h") as made:
        yield made


@pytest.fixture
def daemon(home: RealDaemon) -> RealDaemon:
    return home.up()


@contextlib.asynccontextmanager
async def showing(daemon: RealDaemon, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Shown]:
    async with screens(lambda: Client(UnixTransport(daemon.socket)), size) as ui:
        await ui.shows("live")
        yield ui


async def elsewhere(call: Any, *args: Any) -> Any:
    """What waits for a daemon must not hold up the screens."""
    return await asyncio.to_thread(call, *args)


async def test_a_killed_daemon_leaves_what_was_true_and_its_return_brings_what_is(daemon: RealDaemon) -> None:
    daemon.add("a-stays", ["/bin/true"])
    async with showing(daemon) as ui:
        await ui.shows("a-stays")
        daemon.kill9()
        await ui.shows("Daemon not reachable")
        assert "DOWN" in ui.lines()[0]
        assert "stale: as of" in ui.lines()[0]
        assert "a-stays" in ui.text()
        await elsewhere(daemon.start)
        await elsewhere(daemon.add, "a-newcomer", ["/bin/true"])
        await ui.shows("a-newcomer")
        await ui.until(lambda: "Daemon not reachable" not in ui.text())
        assert "● live" in ui.lines()[0]


@pytest.mark.long
async def test_a_daemon_that_was_away_is_started_from_here(daemon: RealDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBCTL_HOME", str(daemon.home))
    async with showing(daemon) as ui:
        daemon.kill9()
        await ui.shows("start daemon")
        await ui.press("s")
        await ui.until(lambda: "Daemon not reachable" not in ui.text())
        await ui.shows("● live")
    assert (await elsewhere(daemon.jobctl, "daemon", "stop")).returncode == 0


async def test_a_log_goes_on_after_a_kill_without_a_gap_or_a_repeat(daemon: RealDaemon, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    daemon.add("talker", f"seq -f 'line %04g' 1 500; read x < {go}; seq -f 'line %04g' 501 1000; sleep 60")
    run = daemon.state(daemon.triggered("talker"), "running")
    async with showing(daemon) as ui:
        ui.app.open_run(run["id"])
        await ui.shows("line 0500")
        daemon.kill9()
        await ui.until(lambda: "DOWN" in ui.lines()[0])
        assert "line 0500" in ui.text()
        with go.open("w") as pipe:
            pipe.write("go\n")
        await elsewhere(daemon.start)
        await ui.shows("line 1000")
        found = [line.split("line ")[1][:4] for line in ui.lines() if "line " in line]
        assert found == [f"{number:04d}" for number in range(1001 - len(found), 1001)]
        pages = ui.app.screen._pages
        assert pages.size == len("line 0001\n") * 1000
        assert pages.count == 1000


@pytest.mark.long
async def test_a_stopped_daemon_holds_up_neither_keys_nor_leaving(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    for number in range(50):
        daemon.add(f"job-{number}", ["/bin/true"])
    async with showing(daemon) as ui:
        await ui.shows("job-1")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(20):
                began_s = time.monotonic()
                await ui.press("j", "r", "2", "1")
                assert time.monotonic() - began_s < 2
            await ui.until(lambda: "slow" in ui.lines()[0] or "DOWN" in ui.lines()[0])
            began_s = time.monotonic()
            await ui.press("q")
            await ui.until(lambda: not ui.app.is_running)
            assert time.monotonic() - began_s < 2
        finally:
            daemon.process.send_signal(signal.SIGCONT)
