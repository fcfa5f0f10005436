"""What simulated histories have found, each as the few steps that show it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from simulation.laws import Laws
from simulation.process import in_place
from simulation.world import Given, World

SECOND = 1_000
LONG_MS = 600_000


@pytest.fixture
def world() -> Iterator[World]:
    """A machine with one slot, and a daemon that is ready."""
    made = World(Given(slots=1))
    with in_place(made), closing(made):
        Laws(made)
        made.start_daemon()
        made.pass_time(5 * SECOND)
        yield made


def run(world: World) -> None:
    """Somebody runs a command, which takes its time."""
    world.ask("run", "POST", "/v1/runs", {"target": {"shell": "any"}})
    world.rest()
    for command in world.living.values():
        command.ends_boot_ms = world.clock.boot_ms() + LONG_MS


def states(world: World) -> list[str]:
    return [state for (state,) in world.look.execute("SELECT state FROM runs ORDER BY id")]


def test_a_slot_stays_taken_while_its_runner_cannot_be_asked(world: World) -> None:
    run(world)
    (held,) = [runner for runner in world.runners.values() if runner.attempts]
    held.stopped = True
    assert world.daemon is not None
    world.kill_daemon(world.daemon)
    world.start_daemon()
    world.pass_time(30 * SECOND)
    run(world)
    world.pass_time(30 * SECOND)

    assert states(world) == ["running", "ready"]


def test_a_slot_stays_taken_from_the_loss_of_a_connection_on(world: World) -> None:
    run(world)
    (held,) = [runner for runner in world.runners.values() if runner.attempts]
    world.ask("run", "POST", "/v1/runs", {"target": {"shell": "any"}})
    world.cut(held)
    held.stopped = True
    world.pass_time(30 * SECOND)

    assert states(world) == ["running", "ready"]
