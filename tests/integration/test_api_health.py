"""GET /v1/health: what a monitor is told."""

import asyncio
import threading
from pathlib import Path

from jobctl.clock import SystemClock
from jobctl_daemon.execution.pool import RunnerPool
from jobctl_daemon.facts import HealthDesk
from jobctl_daemon.health import Health
from jobctl_daemon.store.sqlite import SqliteStore
from unit.api.world import world


async def test_it_is_ready_when_nothing_fails_and_a_write_goes_through(tmp_path: Path) -> None:
    async with world(tmp_path) as api:
        assert (await api.ask("GET", "/v1/health/ready")).json == {"status": "ok"}
        for field in ("unready", "untried"):
            setattr(api.health, field, "this and that")
            answer = await api.ask("GET", "/v1/health/ready")
            assert (answer.status, answer.json["code"], answer.json["why"]) == (503, "unavailable", "this and that")
            setattr(api.health, field, None)
        api.health.stopping = True
        assert (await api.ask("GET", "/v1/health/ready")).json["why"] == "the daemon is stopping"
        assert (await api.ask("GET", "/v1/health/live")).json == {"status": "ok"}
        assert set(api.health.beats["api"]) == {None}


async def _desk(store: SqliteStore, folder: Path) -> HealthDesk:
    clock = SystemClock()
    desk = HealthDesk(clock, Health(clock), RunnerPool(clock, lambda: None, lambda: None), str(folder))
    desk.store = store
    return desk


async def test_however_many_ask_it_is_one_write_and_while_it_hangs_there_is_no_second(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "jobctl.db"))
    await store.open()
    let_go = threading.Event()
    try:
        desk = await _desk(store, tmp_path)
        before = store.watched()["store writer"].beats
        assert await asyncio.gather(*(desk.tried() for _ in range(50))) == [None] * 50
        assert store.watched()["store writer"].beats == before + 1

        store._writer._thread.post(lambda _: let_go.wait(30) and None)
        said = await asyncio.gather(*(desk.tried() for _ in range(3)))
        assert all(words is not None and words.startswith("the store writer has not answered for") for words in said)
        assert (await desk.tried() or "").startswith("the store writer")
        let_go.set()
        assert await desk.tried() is None
        assert store.watched()["store writer"].beats == before + 3
    finally:
        let_go.set()
        await store.close()


async def test_what_the_store_says_of_a_write_is_the_reason(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "jobctl.db"))
    await store.open()
    desk = await _desk(store, tmp_path)
    await store.close()
    assert await desk.tried() == "the store is closed"
