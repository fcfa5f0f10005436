"""A host goes to jobd and back: nothing runs twice, and wherever it was cut off it is finished or undone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs.crond import Cron, CronProcess, CronService
from jobctl.crontabs.handover import Handover
from jobctl.crontabs.record import Record, Records
from jobctl.errors import Conflict, Unreachable
from kit.clock import ManualClock

Json = dict[str, Any]
#: 2026-03-02 12:00:00 UTC.
NOON_MS = 1_772_452_800_000
SERVICE = CronService("systemd", "cron.service", enabled=True, active=True)
PROCESS = CronProcess(77, "cron", ("/usr/sbin/cron", "-f"))


class Crash(BaseException):
    """The process dies here."""


class World:
    """A cron and a daemon in memory. Dies before or after its step number `crash_at`."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(NOON_MS + 20_000)
        self.cron = Cron((PROCESS,), (SERVICE,))
        self.live = False
        self.since: str | None = None
        self.stop_takes_ms = 300
        self.said: list[str] = []
        self.steps = 0
        self.crash_at: int | None = None
        self.error: Exception | None = None
        self.always = False
        self.records = Records(str(folder))

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash
        assert not (self.live and self.cron.processes), "lines run twice"

    # the daemon
    def crontabs(self) -> Json:
        return {"live": self.live, "items": []}

    def set_crontabs_live(self, *, on: bool, since: str | None = None) -> Json:
        self.step()
        if self.error is not None and on:
            raise self.error
        self.live, self.since = on or self.always, since if on else self.since
        self.step()
        return self.crontabs()

    # cron
    def find(self) -> Cron:
        return self.cron

    def stop(self, cron: Cron) -> list[str]:
        self.step()
        self.clock.tick(self.stop_takes_ms)
        self.cron = Cron((), tuple(replace(one, enabled=False, active=False) for one in self.cron.services))
        self.step()
        return ["cron is stopped"] if cron.found else []

    def start(self, cron: Cron) -> list[str]:
        self.step()
        self.cron = cron
        self.step()
        return ["cron runs"] if cron.found else []

    def handover(self) -> Handover:
        def wait(seconds: float) -> None:
            self.clock.tick(round(seconds * 1000))

        return Handover(self, self.records, self, self.clock, self.said.append, wait)

    def begin(self) -> None:
        self.handover().begin(Record(f"id-{len(self.records.all())}", "now"))

    def go_on(self) -> None:
        """What the next `--apply` does first."""
        handover = self.handover()
        for record in handover.unfinished():
            handover.finish(record)

    @property
    def runners(self) -> int:
        """Who starts the lines: one, or for a moment nobody."""
        return bool(self.cron.processes) + self.live

    @property
    def state(self) -> str:
        return self.records.all()[-1].state


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "state")


def test_a_host_is_handed_over_and_back(world: World) -> None:
    with world.records.locked():
        world.begin()
    assert (world.live, world.cron.found, world.state) == (True, False, "done")
    assert world.since == "2026-03-02T12:00:20.000Z"
    assert world.said == ["cron is stopped", "the crontabs of this host are run by jobd"]
    world.handover().undo()
    assert (world.live, world.cron, world.state) == (False, Cron((PROCESS,), (SERVICE,)), "rolled back")


@pytest.mark.parametrize(("at_s", "waits"), [(59, "6"), (2, "3"), (5, None), (49, None), (50, "15")])
def test_it_is_done_in_the_middle_of_a_minute(world: World, at_s: int, waits: str | None) -> None:
    world.clock.set(NOON_MS + at_s * 1000)
    with world.records.locked():
        world.begin()
    said = [word for word in world.said if word.startswith("waiting")]
    assert said == ([f"waiting {waits} s for the middle of a minute, in which nothing is due"] if waits else [])
    assert world.since is not None
    assert 5 <= float(world.since[17:-1]) < 50


def test_a_cron_that_takes_into_the_next_minute_may_have_started_its_lines(world: World) -> None:
    world.stop_takes_ms = 55_000
    with world.records.locked():
        world.begin()
    assert world.since == "2026-03-02T12:01:15.000Z"
    assert "jobd does not start it again" in world.said[1]


def test_without_a_cron_that_runs_nothing_is_waited_for(world: World) -> None:
    world.clock.set(NOON_MS)
    world.cron = Cron((), ())
    with world.records.locked():
        world.begin()
    assert world.said == ["the crontabs of this host are run by jobd"]
    world.handover().undo()
    assert world.said[-1] == "no cron ran before, so none was started"


@pytest.mark.parametrize("at", range(1, 5))
def test_a_crash_is_finished_by_the_next(world: World, at: int) -> None:
    with world.records.locked():
        world.crash_at = at
        with pytest.raises(Crash):
            world.begin()
        assert world.runners <= 1
        since = world.records.all()[0].host
        world.clock.tick(90_000)
        world.go_on()
    assert (world.live, world.cron.found, world.state) == (True, False, "done")
    if at > 1:  # cron was gone already: what was due meanwhile is jobd's to judge
        assert since is not None
        assert world.since == since.since == "2026-03-02T12:00:20.000Z"


@pytest.mark.parametrize("at", range(1, 5))
def test_or_undone(world: World, at: int) -> None:
    with world.records.locked():
        world.crash_at = at
        with pytest.raises(Crash):
            world.begin()
        world.handover().undo()
    assert (world.live, world.cron, world.state) == (False, Cron((PROCESS,), (SERVICE,)), "rolled back")


@pytest.mark.parametrize("at", range(5, 9))
def test_a_crash_while_undoing_is_undone_by_the_next(world: World, at: int) -> None:
    with world.records.locked():
        world.begin()
        world.crash_at = at
        with pytest.raises(Crash):
            world.handover().undo()
        assert world.runners <= 1
        world.go_on()
    assert (world.live, world.cron, world.state) == (False, Cron((PROCESS,), (SERVICE,)), "rolled back")


def test_a_step_that_fails_puts_everything_back(world: World) -> None:
    world.error = Conflict("crontabs are off in jobd.toml")
    with world.records.locked(), pytest.raises(Conflict):
        world.begin()
    assert (world.live, world.cron, world.state) == (False, Cron((PROCESS,), (SERVICE,)), "rolled back")
    assert world.said[1] == "this failed, everything is put back: crontabs are off in jobd.toml"


def test_cron_is_not_started_beside_a_jobd_that_does_not_let_go(world: World) -> None:
    with world.records.locked():
        world.begin()
        world.always = True
        with pytest.raises(Conflict, match="jobd goes on running the crontabs"):
            world.handover().undo()
        assert (world.cron.found, world.state) == (False, "undoing")
        world.always = False
        world.handover().undo()
    assert world.state == "rolled back"


def test_what_fails_is_not_put_back_to_a_cron_beside_such_a_jobd(world: World) -> None:
    world.always = True
    world.error = Conflict("no")
    with world.records.locked(), pytest.raises(Conflict) as caught:
        world.begin()
    assert "goes on running" in str(caught.value.details["also"])
    assert not world.cron.found


def test_without_a_daemon_cron_runs_again_and_the_rest_is_left_for_later(world: World) -> None:
    with world.records.locked():
        world.begin()
        world.live = False  # it is gone
        world.handover().cron_again()
        assert (world.cron, world.state) == (Cron((PROCESS,), (SERVICE,)), "undoing")
        world.go_on()
    assert world.state == "rolled back"


def test_a_daemon_that_goes_away_in_between(world: World) -> None:
    world.error = Unreachable("nobody answers")
    with world.records.locked(), pytest.raises(Unreachable):
        world.begin()
    assert world.cron.processes == (PROCESS,)


def test_a_cron_that_somebody_started_meanwhile_is_stopped_again_and_the_first_state_comes_back(world: World) -> None:
    with world.records.locked():
        world.begin()
        world.live = False
        world.cron = Cron((CronProcess(99, "cron", ("/usr/sbin/cron",)),), world.cron.services)
        world.begin()
        assert [record.state for record in world.records.all()] == ["done", "done"]
        world.handover().undo()
    assert world.cron == Cron((PROCESS,), (SERVICE,))
    assert [record.state for record in world.records.all()] == ["rolled back", "rolled back"]
