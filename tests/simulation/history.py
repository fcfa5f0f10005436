"""One seed, one history: the steps it is made of, how they are played, and what is said when a law is broken."""

import hashlib
import random
import sqlite3
import traceback
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from jobctl_daemon.store.sqlite import dead
from simulation.acts import FAULTS, HOUR, MINUTE, SECOND, WEIGHTS, Acts
from simulation.laws import Laws
from simulation.process import in_place
from simulation.world import Given, Violation, World

#: Faults that every history has at the least.
FAULTS_LEAST: Final = 5
#: When an act comes: at once, into the middle of what the next instant brings, or after a while.
_PACES: Final = (*["at once"] * 3, *["soon"] * 3, *["next"] * 5, *["later"] * 3, "long")
_SOON: Final = (1, 20, 300, 3 * SECOND)
_LATER: Final = (10 * SECOND, MINUTE, 3 * MINUTE)
_LONG: Final = (12 * MINUTE, 12 * MINUTE, HOUR)
#: What is shown of the beginning of a step and of its end.
_SAID: Final = 12
#: The end: rounds of the drain, and how long nothing is written by an idle daemon, in ms.
_ROUNDS: Final = 2_000
_IDLE_MS: Final = 3 * HOUR
_LOOKS: Final = 40


@dataclass(frozen=True, slots=True)
class Step:
    """What is done, and the number from which everything that is drawn in it comes."""

    act: str
    salt: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A sentence that did not hold, in which step; `where` is for an error of ours."""

    sentence: str
    step: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A history that has been played."""

    lines: tuple[str, ...]
    failure: Failure | None
    dump: str
    """A digest of the whole database at the end."""
    counts: dict[str, int]


def given_of(seed: int) -> Given:
    """What else is different from seed to seed."""
    rng = random.Random(f"given {seed}")
    return Given(
        seed=str(seed),
        slots=rng.choice((1, 2, 4, 8)),
        retention_runs=rng.choice((1_000, 1_000, 3)),
        kept=rng.choice((100, 3)),
    )


def steps_of(seed: int, count: int) -> list[Step]:
    """The same for the same numbers. Some histories know no faults of a kind, so that others are alone at work."""
    rng = random.Random(f"steps {seed}")
    weights = {act: weight * (act not in FAULTS or rng.choice((0, 1, 1, 2))) for act, weight in WEIGHTS.items()}
    if rng.random() < 0.6:  # a clock that is set makes other laws weaker
        weights["clock_is_set"] = 0
    acts = rng.choices(list(weights), list(weights.values()), k=count)
    beginning = ["daemon_starts", *["add"] * 5]
    acts[: min(len(beginning), count)] = beginning[:count]
    for place in range(FAULTS_LEAST - sum(act in FAULTS for act in acts)):
        acts[-1 - place] = FAULTS[place * 5 % len(FAULTS)]
    return [Step(act, rng.getrandbits(48)) for act in acts]


def play(given: Given, steps: Sequence[Step], *, only: Iterable[int] | None = None) -> Told:
    """Plays the steps, or those of the given numbers, and what comes after them: faults stop, all comes to rest."""
    kept = set(range(len(steps))) if only is None else set(only)
    world = World(given)
    kept_before, dead.KEPT_MAX = dead.KEPT_MAX, given.kept  # type: ignore[misc]
    try:
        with in_place(world), closing(world):
            history = History(world)
            failure = history.play([(number, step) for number, step in enumerate(steps) if number in kept])
            return Told(tuple(history.lines), failure, _digest(world.look), history.counts())
    finally:
        dead.KEPT_MAX = kept_before  # type: ignore[misc]


class History:
    """Steps and what they did, line by line."""

    def __init__(self, world: World) -> None:
        self.lines: list[str] = []
        self._world = world
        self._acts = Acts(world)
        self._laws = Laws(world)

    def counts(self) -> dict[str, int]:
        world = self._world
        return {**world.tally, **{f"write failed: {k}": n for k, n in world.disk.sprung.items()}} | {
            "commits of several": world.disk.groups
        }

    def play(self, steps: Sequence[tuple[int, Step]]) -> Failure | None:
        for number, step in steps:
            if failure := self._guarded(number, lambda step=step: self._step(step), f"{number:4}"):  # type: ignore[misc]
                return failure
        last = steps[-1][0] + 1 if steps else 0
        return self._guarded(last, self._drain, " end")

    def _guarded(self, number: int, does: object, name: str) -> Failure | None:
        failure = None
        began = self._now()
        try:
            words = does()  # type: ignore[operator]
        except Violation as error:
            words, failure = "", Failure(str(error), number)
        except Exception as error:
            where = "".join(traceback.format_exception(error))
            words, failure = "", Failure(f"{type(error).__name__}: {error}", number, where)
        if words != "nothing there" or self._world.said:
            self.lines.append(f"{name}  {began}  {words}")
            self.lines += [f"{'':20}{line}" for line in _short(self._world.said)]
        self._world.said.clear()
        if failure is not None:
            self.lines.append(f"{name}  {self._now()}  VIOLATION: {failure.sentence}")
        return failure

    def _now(self) -> str:
        return datetime.fromtimestamp(self._world.clock.now_ms() / 1000, UTC).strftime("%d %H:%M:%S.%f")[:-3]

    def _step(self, step: Step) -> str:
        world, rng = self._world, random.Random(step.salt)
        world.rng = random.Random(step.salt + 1)
        self._pass_time(rng)
        if world.daemon is None and rng.random() < 0.5:
            world.say(f"daemon {world.start_daemon().number} starts")
            world.pass_time(rng.choice((0, 200)))
        words: str = getattr(self._acts, step.act)(random.Random(step.salt + 2))
        if step.act == "daemon_starts" and rng.random() < 0.7:
            world.pass_time(200)
        world.rest(rng.choice((0, 3, 10, 30, 60, None, None, None)))
        self._laws.check()
        return words

    def _pass_time(self, rng: random.Random) -> None:
        world, pace = self._world, rng.choice(_PACES)
        if pace == "next":
            wait_ms = world.wait_ms()
            if wait_ms is not None and wait_ms <= HOUR:
                world.tick(wait_ms)
            world.rest(rng.randrange(80))
        elif pace != "at once":
            world.pass_time(rng.choice({"soon": _SOON, "later": _LATER, "long": _LONG}[pace]))

    # ── the end ──────────────────────────────────────────────
    def _drain(self) -> str:
        """Faults stop, nothing is paused any more, commands end soon: every run ends, and then nobody does anything."""
        world = self._world
        world.rng = random.Random(0)
        world.calm()
        for process in [process for process in world.processes if process is not world.daemon]:
            world.kill_daemon(process)
        while world.daemon is None or not world.daemon.ready or world.daemon.ending:
            if world.daemon is None:
                world.say(f"daemon {world.start_daemon().number} starts")
            world.pass_time(10 * SECOND)
        world.pass_time(30 * SECOND)  # those who have failed try again, at the latest
        for name in [row[0] for row in world.look.execute("SELECT name FROM queues WHERE paused = 1").fetchall()]:
            path = f"/v1/queues/{name}/resume" if name else "/v1/daemon/resume"
            world.ask(f"resume {name or 'the daemon'}", "POST", path)
            world.rest()
        paused = "SELECT id FROM jobs WHERE paused = 1 AND deleted_ms IS NULL"
        for (job_id,) in world.look.execute(paused).fetchall():
            world.ask(f"resume {job_id}", "POST", f"/v1/jobs/{job_id}/resume")
            world.rest()
        for _ in range(_ROUNDS):
            world.hurry()
            world.rest()
            self._laws.check()
            active = "SELECT 1 FROM runs WHERE state <> 'dead' LIMIT 1"
            if not world.living and not world.records and world.look.execute(active).fetchone() is None:
                break
            wait_ms = world.wait_ms()
            if wait_ms is None:
                break
            world.pass_time(max(1, min(wait_ms, HOUR)))
        self._laws.at_rest()
        self._idles()
        return "faults stop, everything comes to rest"

    def _idles(self) -> None:
        """A daemon that has nothing to do writes nothing, and does next to nothing (I12)."""
        world = self._world
        for _ in range(_LOOKS):
            due_ms = world.look.execute("SELECT min(next_nominal) FROM cursors").fetchone()[0]
            looks_ms = world.daemon.loop.alarm_ms() if world.daemon is not None else None
            if looks_ms is None or (due_ms is not None and looks_ms >= due_ms):
                break
            world.pass_time(max(0, looks_ms - world.clock.now_ms()))  # such as a message that was kept back
            world.hurry()
            world.pass_time(5 * SECOND)
        else:
            raise Violation("a daemon that has nothing to do looks again and again (I12)")
        idle_ms = min(_IDLE_MS, _IDLE_MS if due_ms is None else due_ms - world.clock.now_ms() - 1)
        world.pass_time(min(5 * SECOND, max(idle_ms, 0)))
        before = set(world.look.iterdump())
        version = world.look.execute("PRAGMA data_version").fetchone()[0]
        world.pass_time(max(0, idle_ms - 5 * SECOND))
        if world.look.execute("PRAGMA data_version").fetchone()[0] != version:
            changed = sorted(set(world.look.iterdump()) ^ before)
            raise Violation(f"an idle daemon has written (I12): {changed[:4]}")


def _short(said: list[str]) -> list[str]:
    """In a long while much the same happens again and again."""
    left_out = len(said) - 2 * _SAID
    return said if left_out <= 1 else [*said[:_SAID], f"({left_out} more)", *said[-_SAID:]]


def _digest(connection: sqlite3.Connection) -> str:
    text = "\n".join(connection.iterdump())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
