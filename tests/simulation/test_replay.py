"""The same seed is the same history, and a failing one is made small."""

import os
import subprocess
import sys
from collections.abc import Iterator
from unittest import mock

import pytest

from jobctl_daemon.decide.adoption import Plan
from jobctl_daemon.services import rescue
from simulation.__main__ import show
from simulation.acts import FAULTS
from simulation.history import FAULTS_LEAST, Told, given_of, play, steps_of
from simulation.shrink import kind, shrunk

STEPS = 80


def told(seed: int) -> Told:
    return play(given_of(seed), steps_of(seed, STEPS))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_played_twice_tells_the_same_and_leaves_the_same_database(seed: int) -> None:
    first, second = told(seed), told(seed)

    assert first == second


def test_a_history_follows_no_order_of_a_set(tmp_path: object) -> None:
    command = [sys.executable, "-m", "simulation", "--seed", "4", "--steps", str(STEPS), "--tries", "0"]
    paths = os.pathsep.join(path for path in sys.path if path)
    said = [
        subprocess.run(
            command, env={"PATH": os.defpath, "PYTHONPATH": paths, "PYTHONHASHSEED": number}, capture_output=True
        ).stdout
        for number in ("1", "2")
    ]

    assert said[0]
    assert said[0] == said[1]


@pytest.mark.parametrize("seed", range(20))
def test_every_history_has_faults(seed: int) -> None:
    assert sum(step.act in FAULTS for step in steps_of(seed, STEPS)) >= FAULTS_LEAST


# ── a fault in the daemon ──────────────────────────────────────────────


def _adopts_nothing(claimed: object, *_: object, **__: object) -> Plan:
    """Whatever was claimed counts as never started."""
    return Plan(tuple(claimed), (), ())  # type: ignore[arg-type]


@pytest.fixture
def forgetful() -> Iterator[None]:
    """A daemon that forgets what its runners hold."""
    with mock.patch.object(rescue.adoption, "plan", _adopts_nothing):
        yield


@pytest.mark.usefixtures("forgetful")
def test_a_fault_is_found_soon_and_shown_in_a_few_steps() -> None:
    failing = next(seed for seed in range(10) if told(seed).failure is not None)
    given, steps, before = given_of(failing), steps_of(failing, STEPS), told(failing)
    kept, small = shrunk(given, steps, before, tries=100)

    assert before.failure is not None
    assert small.failure is not None
    assert kind(small.failure.sentence) == kind(before.failure.sentence)
    assert len(kept) < 15
    assert play(given, steps, only=kept) == small


@pytest.mark.usefixtures("forgetful")
def test_what_is_shown_of_a_failing_history_says_how_to_repeat_it() -> None:
    failing = next(seed for seed in range(10) if told(seed).failure is not None)
    lines = list(show(failing, STEPS, tries=20))

    assert any("VIOLATION: " in line for line in lines)
    assert any(line.startswith(f"again: tests/simulate --seed {failing} --steps {STEPS} --only ") for line in lines)
