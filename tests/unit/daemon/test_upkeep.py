"""The service that looks after the disk and the write-ahead log: asleep while all is well."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jobctl_daemon.disk import Reserve, Room, sizes
from jobctl_daemon.health import Health
from jobctl_daemon.services.upkeep import LOG_MS, SHORT_MS, Upkeep
from kit.clock import ManualClock

MIB = 1 << 20


@dataclass
class Length:
    """A write-ahead log of a test."""

    size: int = 0
    blocked: bool = False
    readers: tuple[str, ...] = ()


@dataclass
class Scene:
    """The service with a real folder and a log that is told what to be."""

    room: Room
    log: Length = field(default_factory=Length)
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_800_000_000_000))
    recovered: int = 0

    def __post_init__(self) -> None:
        self.health = Health(self.clock)
        self.upkeep = Upkeep(self.clock, self.health, self.room, self._tend, self._recovered)

    async def _tend(self) -> Length:
        return self.log

    def _recovered(self) -> None:
        self.recovered += 1

    async def wants_ms(self) -> int | None:
        """In how many ms it wants to be called, after a pass."""
        done = await self.upkeep.run_once()
        return None if done.next_ms is None else done.next_ms - self.clock.now_ms()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    room = Room(str(tmp_path), str(tmp_path / "jobctl.db"), 0)
    room.sizes = sizes(16 * MIB, 0)
    room.reserve = Reserve(room.reserve.path, room.sizes.reserve)
    return Scene(room)


async def test_the_first_pass_makes_the_reserve_and_then_it_sleeps(scene: Scene) -> None:
    assert scene.upkeep.wake.is_set()
    assert await scene.wants_ms() is None
    assert scene.room.reserve.whole()
    assert not scene.health.warnings


async def test_while_the_disk_is_short_it_looks_again_and_tells_once_when_it_is_over(
    scene: Scene, tmp_path: Path
) -> None:
    (tmp_path / "jobctl.db").write_bytes(b"x")
    scene.room.opened()
    await scene.wants_ms()
    (tmp_path / "jobctl.db").rename(tmp_path / "away")

    assert [await scene.wants_ms(), await scene.wants_ms()] == [SHORT_MS, SHORT_MS]
    assert scene.recovered == 0
    (tmp_path / "away").rename(tmp_path / "jobctl.db")
    assert [await scene.wants_ms(), await scene.wants_ms()] == [None, None]
    assert scene.recovered == 1


async def test_who_was_held_for_a_moment_is_woken_although_nobody_saw_the_disk_short(scene: Scene) -> None:
    await scene.wants_ms()
    scene.room.refused()
    assert scene.room.held()

    assert await scene.wants_ms() is None
    assert scene.recovered == 1
    await scene.wants_ms()
    assert scene.recovered == 1


async def test_a_reserve_that_was_spent_is_made_again(scene: Scene) -> None:
    await scene.wants_ms()
    scene.room.spend()

    assert await scene.wants_ms() is None
    assert scene.room.reserve.whole()


async def test_a_reserve_that_does_not_fit_is_a_warning_and_is_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(scene.room.reserve, "make", refuse)
        wanted = await scene.wants_ms()
        assert wanted is not None
        assert wanted >= 60_000
        assert "reserve" in scene.health.warnings
    assert await scene.wants_ms() is None
    assert not scene.health.warnings


async def test_a_log_that_stays_blocked_is_a_warning_with_size_age_and_name_until_it_is_empty(scene: Scene) -> None:
    scene.log = Length(34_000_000, blocked=True, readers=("sqlite3 (pid 77)",))
    assert await scene.wants_ms() == LOG_MS
    assert not scene.health.warnings
    scene.clock.tick(LOG_MS)
    assert await scene.wants_ms() == LOG_MS
    said = scene.health.warnings["log"]
    scene.log = Length(0)

    assert await scene.wants_ms() is None
    assert not scene.health.warnings
    assert "34 MB" in said
    assert "sqlite3 (pid 77)" in said
    assert "10 s" in said
